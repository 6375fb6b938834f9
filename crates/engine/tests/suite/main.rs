//! The engine's tests in one program, because every part instantiates the same generic kernels.

mod cases;
mod fused;
mod gradients;
mod memory;
mod products;
mod pruning;
mod second_order;
