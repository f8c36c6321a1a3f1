//! Tests that measure time, apart from the others: beside tests that load whole databases they would measure these.

#[path = "../support/mod.rs"]
mod support;

mod failures;
#[cfg(feature = "testkit")]
mod fake_target;
mod generators;
#[cfg(feature = "testkit")]
mod stall;
#[cfg(feature = "testkit")]
mod stopped;
