//! One flag that all threads watch: whether the program should stop, and why.

use crate::exit::{ExitCode, Failure};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Set once, read by every thread; remembers the reason that matters most.
#[derive(Debug, Default)]
pub struct Stop {
    requested: AtomicBool,
    interrupted: AtomicBool,
    reason: Mutex<Option<Failure>>,
    changed: Condvar,
}

impl Stop {
    /// Asks everybody to stop.
    pub fn request(&self, failure: Failure) {
        if failure.code == ExitCode::Interrupted {
            self.interrupted.store(true, Ordering::Release);
        }
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        *reason = Some(match reason.take() {
            Some(earlier) => earlier.or_worse(failure),
            None => failure,
        });
        self.requested.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// True once anybody has asked; cheap enough for every operation.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }

    /// True once somebody does not want to wait any more, whatever else happened before.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// Why, if anybody has asked.
    #[must_use]
    pub fn reason(&self) -> Option<Failure> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sleeps until `deadline`, or until a stop is requested: then true.
    #[must_use]
    pub fn wait_until(&self, deadline: Instant) -> bool {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        while reason.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            reason = self.changed.wait_timeout(reason, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_worst_reason_stays_and_waiting_ends_at_once() {
        let stop = Stop::default();
        assert!(!stop.wait_until(Instant::now() + Duration::from_millis(1)));
        stop.request(Failure::new(ExitCode::TargetLost, "gone"));
        stop.request(Failure::new(ExitCode::ConsistencyBroken, "broken"));
        assert!(stop.requested() && !stop.interrupted());
        stop.request(Failure::interrupted());
        assert!(stop.interrupted());
        assert!(stop.requested() && stop.wait_until(Instant::now() + Duration::from_secs(60)));
        assert_eq!(stop.reason().unwrap().code, ExitCode::ConsistencyBroken);
    }
}
