//! What runs on a measured machine beside the load: its counters, the speed of its CPUs and memory, an emulated network
//! between hosts.

pub mod kernel;
pub mod memory;
pub mod telemetry;
pub mod wire;
