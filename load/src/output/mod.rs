//! What the program says: JSON lines on stdout, and the words of their fields.

pub mod headline;
mod lines;
pub mod outcome;

pub use lines::*;
