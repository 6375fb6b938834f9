//! LIME

mod cholesky;
mod choose;
mod lasso;
mod rows;
