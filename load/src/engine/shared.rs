//! What all threads of a load share.

use super::pace::Pace;
use crate::clock::Clock;
use crate::output::outcome::{self, ErrorClass};
use crate::stop::Stop;
use crate::target::TargetError;
use std::sync::Arc;

/// How a server says that it does not take the operation, and another one does: RESP's codes for a slot of another
/// master and for a replica, and PostgreSQL's for a transaction that cannot write.
const MOVED: [&str; 3] = ["MOVED", "READONLY", "25006"];

/// What all threads of a load share.
pub(super) struct Shared {
    /// Tells the time since the start of the load.
    pub(super) clock: Clock,
    /// No operation starts at or after this time.
    pub(super) end_ns: u64,
    pub(super) pace: Pace,
    pub(super) max_retries: u32,
    /// SQLSTATEs that ask for another attempt, by the workload.
    pub(super) retried: &'static [&'static str],
    /// SQLSTATEs that say that a row is missing, by the workload.
    pub(super) missing_rows: &'static [&'static str],
    /// Whether another server of the target may take over.
    pub(super) failover: bool,
    pub(super) stop: Arc<Stop>,
}

impl Shared {
    /// What to do about an error.
    pub(super) fn classify(&self, error: &TargetError) -> ErrorClass {
        match error {
            TargetError::Database { sqlstate, .. } if self.retried.contains(&sqlstate.as_str()) => ErrorClass::Retry,
            TargetError::Database { sqlstate, .. } if self.missing_rows.contains(&sqlstate.as_str()) => {
                ErrorClass::Data
            }
            TargetError::Database { sqlstate, .. } if self.failover && MOVED.contains(&sqlstate.as_str()) => {
                ErrorClass::Moved
            }
            _ => outcome::classify(error),
        }
    }

    /// Whether nothing may start at `ns` any more.
    pub(super) fn is_over(&self, ns: u64) -> bool {
        ns >= self.end_ns || self.stop.requested()
    }
}
