//! Library of `nephoscope-load`.
pub mod target;
pub mod workload;
