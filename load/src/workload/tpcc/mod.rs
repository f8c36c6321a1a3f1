//! TPC-C 5.11.
pub mod constants;
pub mod population;
pub mod random;
pub mod schema;
