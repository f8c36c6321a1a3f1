//! What all threads of a load share.

use super::pace::Pace;
use crate::clock::Clock;
use crate::output::outcome::{self, ErrorClass};
use crate::stop::Stop;
use crate::target::TargetError;
use std::sync::Arc;

/// How a server says that it does not take the operation, and another one may.
const MOVED: [&str; 7] = [
    // RESP: a slot of another master; a replica, and one without its master; a master that the others have given up, or
    // that still reads its data while they do.
    "MOVED",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "LOADING",
    // PostgreSQL: a transaction that cannot write.
    "25006",
    // MariaDB: a node of Galera without most of the others.
    "1047",
];

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

#[cfg(test)]
mod tests {
    use super::*;

    fn class(failover: bool, code: &str) -> ErrorClass {
        let shared = Shared {
            clock: Clock::start(),
            end_ns: 0,
            pace: Pace::Closed,
            max_retries: 0,
            retried: &[],
            missing_rows: &[],
            failover,
            stop: Arc::default(),
        };
        shared.classify(&TargetError::Database { sqlstate: code.to_owned(), message: String::new() })
    }

    #[test]
    fn what_another_server_may_take_leads_there_and_what_none_would_is_the_operations_error() {
        for code in ["MOVED", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "LOADING", "25006", "1047"] {
            assert_eq!(class(true, code), ErrorClass::Moved, "{code}");
            assert_eq!(class(false, code), ErrorClass::Fail, "{code}");
        }
        for code in ["NOREPLICAS", "OOM", "MISCONF", "TRYAGAIN", "WRONGTYPE", "23505"] {
            assert_eq!(class(true, code), ErrorClass::Fail, "{code}");
        }
    }
}
