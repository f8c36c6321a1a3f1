//! What runs on a measured machine beside the load: its counters, its CPUs' speed, an emulated network between hosts.

pub mod kernel;
pub mod telemetry;
pub mod wire;
