//! The program's output: JSON lines on stdout.

pub mod headline;
mod lines;
pub mod outcome;

pub use lines::*;
