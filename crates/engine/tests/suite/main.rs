//! The engine's tests in one program, because every part instantiates the same generic kernels.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests may unwrap, like the tests")]

mod cases;
mod deep_lift;
mod fused;
mod gradients;
mod guided;
mod lrp;
mod memory;
mod panels;
mod products;
mod pruning;
mod recurrent;
mod second_order;
mod small;
mod softplus;
