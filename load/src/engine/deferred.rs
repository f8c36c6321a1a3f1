//! Work that clients queued for later, and how much of it was done.

use crate::engine::pace::Arrival;
use crate::output::outcome::Outcome;
use crate::workload::{DEFERRED_DONE, DEFERRED_S, DEFERRED_WITHIN_80_S, Draws, Tally};
use std::collections::VecDeque;

/// The queues of one thread, and its counts.
pub(super) struct Deferred {
    /// By the group of connections that serves it; due since it was queued.
    queues: Vec<VecDeque<Arrival>>,
    queued: u64,
    done: u64,
    in_time: u64,
}

impl Deferred {
    pub(super) fn new(groups: usize) -> Self {
        Self { queues: vec![VecDeque::new(); groups], queued: 0, done: 0, in_time: 0 }
    }

    pub(super) fn queue(&mut self, group: usize, arrival: Arrival) {
        self.queued += 1;
        self.queues[group].push_back(arrival);
    }

    /// Takes what has been queued longest.
    pub(super) fn next(&mut self, group: usize) -> Option<Arrival> {
        self.queues[group].pop_front()
    }

    pub(super) fn is_empty(&self, group: usize) -> bool {
        self.queues[group].is_empty()
    }

    /// Counts work that ended.
    pub(super) fn done(&mut self, arrival: Arrival, at_ns: u64, outcome: Outcome) {
        if outcome != Outcome::Failed {
            self.done += 1;
            self.in_time += u64::from(at_ns.saturating_sub(arrival.due_ns) <= DEFERRED_S * 1_000_000_000);
        }
    }

    /// Of all that was queued, how much was done; nothing when nothing was.
    pub(super) fn draws(&self) -> Draws {
        let mut draws = Draws::default();
        if self.queued > 0 {
            let tally = |count: u64| Tally { sum: count as f64, draws: self.queued };
            draws.tallies.insert(DEFERRED_WITHIN_80_S, tally(self.in_time));
            draws.tallies.insert(DEFERRED_DONE, tally(self.done));
        }
        draws
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_queued_is_done_in_time_done_late_or_not_done() {
        let mut deferred = Deferred::new(2);
        assert!(deferred.draws().tallies.is_empty());
        (0..4).for_each(|turn| deferred.queue(1, Arrival { client: 3, turn, due_ns: 5 }));
        assert!(deferred.is_empty(0) && deferred.next(0).is_none());
        let first = deferred.next(1).unwrap();
        assert_eq!(first.turn, 0);
        deferred.done(first, 5 + 80_000_000_000, Outcome::Committed);
        deferred.done(deferred.queues[1][0], 6 + 80_000_000_000, Outcome::Committed);
        deferred.done(deferred.queues[1][1], 6, Outcome::Failed);
        let draws = deferred.draws();
        assert_eq!(draws.tallies[DEFERRED_WITHIN_80_S], Tally { sum: 1.0, draws: 4 });
        assert_eq!(draws.tallies[DEFERRED_DONE], Tally { sum: 2.0, draws: 4 });
    }
}
