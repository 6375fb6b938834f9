//! Attribution by gradients and by other rules that travel backward.

pub mod conductance;
pub mod deconvolution;
pub mod deep_lift;
pub mod deep_lift_shap;
pub mod grad_cam;
pub mod gradient_shap;
pub mod gradient_x_input;
pub mod guided_backprop;
mod integral;
pub mod integrated_gradients;
pub mod internal_influence;
pub mod lrp;
pub(crate) mod path;
pub mod saliency;
mod sequential;
