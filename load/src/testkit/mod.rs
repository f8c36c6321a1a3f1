//! Fake servers for tests and calibration. The shipped program is built without them.

mod aerospike;
pub(crate) mod command;
mod postgres;

pub use aerospike::{Counts as AerospikeCounts, FakeCluster};
pub use postgres::{Answers, Counts, FakeSession, FakeTarget, Listen, Plan};
