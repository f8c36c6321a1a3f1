//! One thread's record, swapped out by the coordinator without stopping the thread.

use crate::output::ErrorKind;
use crate::output::outcome::Outcome;
use crate::workload::OperationId;
use std::mem;
use std::sync::atomic::{AtomicI32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One operation that ended. Times are nanoseconds; `ended_ns` counts from the start of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it ended.
    pub ended_ns: u64,
    /// From its intended start to its first byte on the way.
    pub queue_ns: u64,
    /// From its first byte to its end, retries included.
    pub service_ns: u64,
    /// Exchanges with the server that it took, those of its retries included.
    pub round_trips: u32,
    /// Whose it was.
    pub client: u32,
    /// What it was.
    pub operation: OperationId,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it was tried more than once: then its attempts are recorded one by one.
    pub retried: bool,
    /// Whether a connection was free when it was due: then its queue time is the generator's own lateness.
    pub unhindered: bool,
}

#[cfg(test)]
impl Sample {
    /// A short operation with one round trip.
    pub(crate) fn short(operation: u8, outcome: Outcome, ended_ns: u64) -> Self {
        Self {
            ended_ns,
            queue_ns: 10,
            service_ns: 20,
            round_trips: 1,
            client: 0,
            operation: OperationId(operation),
            outcome,
            retried: false,
            unhindered: false,
        }
    }
}

/// One attempt of an operation that was tried more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// When it ended.
    pub ended_ns: u64,
    /// From its first byte to its end.
    pub service_ns: u64,
    /// Of what.
    pub operation: OperationId,
}

/// One error that an operation met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorEvent {
    /// When, in nanoseconds from the start of the load.
    pub at_ns: u64,
    /// What was in flight.
    pub operation: OperationId,
    /// SQLSTATE, or a word in its place: `lost`, `data`, `protocol`.
    pub sqlstate: String,
    /// Whether the operation continued.
    pub kind: ErrorKind,
    /// Whether the operation may have committed anyway.
    pub in_doubt: bool,
}

/// Work of a client that was due before the end of the load and that nobody began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owed {
    /// Whose.
    pub client: u32,
    /// When the first of it was due, in nanoseconds from the start of the load.
    pub due_ns: u64,
    /// How many operations.
    pub operations: u64,
}

/// What a lane held.
#[derive(Debug, Default)]
pub struct Log {
    /// In the order in which they ended.
    pub samples: Vec<Sample>,
    /// In the order in which they came.
    pub errors: Vec<ErrorEvent>,
    /// In the order in which they ended.
    pub attempts: Vec<Attempt>,
    /// Once the thread has come to its end.
    pub owed: Vec<Owed>,
}

/// One thread's record.
#[derive(Debug, Default)]
pub struct Lane {
    log: Mutex<Log>,
    gauges: Gauges,
}

/// What a thread reports about itself, readable at any time.
#[derive(Debug, Default)]
pub struct Gauges {
    /// The thread's number in the kernel; 0 before it runs.
    pub thread: AtomicI32,
    /// Operations in flight.
    pub in_flight: AtomicU64,
    /// Clients that are due and wait for a connection; of an open pace, those alone that were taken out of the
    /// schedule.
    pub queued: AtomicU64,
    /// Operations started.
    pub begun: AtomicU64,
    /// The longest time between two of its looks at the clock since somebody took it from here.
    pub silent_ns: AtomicU64,
    /// When it ended; 0 while it drives.
    pub ended_ns: AtomicU64,
    /// Connections that ended while the load ran.
    pub connections_lost: AtomicU64,
}

impl Lane {
    /// Records what `sample` makes of the time at which it ended: the one in `known`, which the last one here had, or
    /// what `clock` tells. The clock is read while the lane is held, and again once the lane was emptied: so whatever
    /// ended before the coordinator empties the lane is in it.
    pub fn record(
        &self,
        known: &mut Option<u64>,
        clock: impl FnOnce() -> u64,
        sample: impl FnOnce(u64) -> Sample,
    ) -> Sample {
        let mut log = self.lock();
        let was_emptied = log.samples.is_empty();
        let ended_ns = known.filter(|_| !was_emptied).unwrap_or_else(clock);
        *known = Some(ended_ns);
        let sample = sample(ended_ns);
        log.samples.push(sample);
        sample
    }

    /// Records an attempt that ends at the time that `clock` tells.
    pub fn attempt(&self, clock: impl FnOnce() -> u64, attempt: impl FnOnce(u64) -> Attempt) {
        let mut log = self.lock();
        let attempt = attempt(clock());
        log.attempts.push(attempt);
    }

    /// Records an error at the time that `clock` tells.
    pub fn error(
        &self,
        clock: impl FnOnce() -> u64,
        operation: OperationId,
        sqlstate: String,
        kind: ErrorKind,
        in_doubt: bool,
    ) {
        let mut log = self.lock();
        let at_ns = clock();
        log.errors.push(ErrorEvent { at_ns, operation, sqlstate, kind, in_doubt });
    }

    /// Records what the thread leaves undone at its end.
    pub fn owe(&self, owed: Vec<Owed>) {
        self.lock().owed = owed;
    }

    /// What the thread reports about itself.
    #[must_use]
    pub fn gauges(&self) -> &Gauges {
        &self.gauges
    }

    /// Takes everything out, and leaves `empty` (whose memory is used again).
    fn swap(&self, empty: &mut Log) {
        mem::swap(&mut *self.lock(), empty);
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lanes of all threads, seen by the coordinator.
#[derive(Debug)]
pub struct Lanes {
    lanes: Vec<Arc<Lane>>,
    spare: Log,
}

impl Lanes {
    /// This many empty lanes.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { lanes: (0..count).map(|_| Arc::default()).collect(), spare: Log::default() }
    }

    /// One thread's.
    #[must_use]
    pub fn lane(&self, index: usize) -> Arc<Lane> {
        Arc::clone(&self.lanes[index])
    }

    /// Every thread's.
    pub fn gauges(&self) -> impl Iterator<Item = &Gauges> {
        self.lanes.iter().map(|lane| lane.gauges())
    }

    /// Empties every lane into `take`.
    pub fn drain(&mut self, mut take: impl FnMut(&mut Log)) {
        for lane in &self.lanes {
            lane.swap(&mut self.spare);
            take(&mut self.spare);
            self.spare.samples.clear();
            self.spare.errors.clear();
            self.spare.attempts.clear();
            self.spare.owed.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn nothing_is_lost_while_lanes_are_drained() {
        const THREADS: usize = 4;
        const EACH: u64 = 50_000;
        let mut lanes = Lanes::new(THREADS);
        let sample = |ended_ns| Sample { round_trips: 2, ..Sample::short(0, Outcome::Committed, ended_ns) };
        let threads: Vec<_> = (0..THREADS)
            .map(|index| {
                let lane = lanes.lane(index);
                thread::spawn(move || {
                    (0..EACH).for_each(|tick| assert_eq!(lane.record(&mut None, || tick, sample).ended_ns, tick));
                })
            })
            .collect();
        let (mut samples, mut round_trips) = (0, 0);
        let mut count = |log: &mut Log| {
            samples += log.samples.len() as u64;
            round_trips += log.samples.iter().map(|sample| u64::from(sample.round_trips)).sum::<u64>();
        };
        while threads.iter().any(|thread| !thread.is_finished()) {
            lanes.drain(&mut count);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        lanes.drain(&mut count);
        assert_eq!((samples, round_trips), (THREADS as u64 * EACH, THREADS as u64 * EACH * 2));
    }

    #[test]
    fn those_that_ended_together_have_one_time_unless_the_lane_was_emptied_between() {
        let mut lanes = Lanes::new(1);
        let (lane, mut known) = (lanes.lane(0), None);
        let mut end = |clock_ns| {
            let sample = |ended_ns| Sample::short(0, Outcome::Committed, ended_ns);
            lane.record(&mut known, || clock_ns, sample).ended_ns
        };
        assert_eq!((end(10), end(11)), (10, 10));
        lanes.drain(|log| assert_eq!(log.samples.len(), 2));
        assert_eq!((end(12), end(13)), (12, 12));
    }

    #[test]
    fn a_sample_is_small() {
        assert_eq!(size_of::<Sample>(), 40);
    }
}
