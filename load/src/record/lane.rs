//! One worker's record, swapped out by the coordinator without stopping the worker.

use crate::outcome::Outcome;
use crate::output::ErrorKind;
use crate::workload::OperationId;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// What it was.
    pub operation: OperationId,
    /// How it ended.
    pub outcome: Outcome,
}

/// One error that an operation met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorEvent {
    /// When, in nanoseconds from the start of the load.
    pub at_ns: u64,
    /// What was under way.
    pub operation: OperationId,
    /// SQLSTATE, or a word in its place: `lost`, `data`, `protocol`.
    pub sqlstate: String,
    /// Whether the operation went on.
    pub kind: ErrorKind,
    /// Whether the operation may have committed all the same.
    pub in_doubt: bool,
}

/// What a lane held.
#[derive(Debug, Default)]
pub struct Log {
    /// In the order in which they ended.
    pub samples: Vec<Sample>,
    /// In the order in which they came.
    pub errors: Vec<ErrorEvent>,
    /// Exchanges with the server.
    pub round_trips: u64,
}

/// One worker's record.
#[derive(Debug, Default)]
pub struct Lane {
    log: Mutex<Log>,
    in_flight: AtomicU64,
}

impl Lane {
    /// Records what `sample` makes of the time that `clock` tells. The clock is read while the lane is held: so
    /// whatever ended before the coordinator empties the lane is in it.
    pub fn record(&self, clock: impl FnOnce() -> u64, round_trips: u64, sample: impl FnOnce(u64) -> Sample) -> u64 {
        let mut log = self.lock();
        let ended_ns = clock();
        log.samples.push(sample(ended_ns));
        log.round_trips += round_trips;
        ended_ns
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

    /// Says whether an operation is under way.
    pub fn set_in_flight(&self, operations: u64) {
        self.in_flight.store(operations, Ordering::Relaxed);
    }

    /// Takes everything out, and leaves `empty` (whose memory is used again).
    fn swap(&self, empty: &mut Log) {
        mem::swap(&mut *self.lock(), empty);
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lanes of all workers, seen by the coordinator.
#[derive(Debug)]
pub struct Lanes {
    lanes: Vec<Arc<Lane>>,
    spare: Log,
}

impl Lanes {
    /// So many empty lanes.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { lanes: (0..count).map(|_| Arc::default()).collect(), spare: Log::default() }
    }

    /// One worker's.
    #[must_use]
    pub fn lane(&self, index: usize) -> Arc<Lane> {
        Arc::clone(&self.lanes[index])
    }

    /// Operations under way now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.in_flight.load(Ordering::Relaxed)).sum()
    }

    /// Empties every lane into `take`.
    pub fn drain(&mut self, mut take: impl FnMut(&mut Log)) {
        for lane in &self.lanes {
            lane.swap(&mut self.spare);
            take(&mut self.spare);
            self.spare.samples.clear();
            self.spare.errors.clear();
            self.spare.round_trips = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn nothing_is_lost_while_lanes_are_drained() {
        const WORKERS: usize = 4;
        const EACH: u64 = 50_000;
        let mut lanes = Lanes::new(WORKERS);
        let sample = |ended_ns| Sample {
            ended_ns,
            queue_ns: 1,
            service_ns: 1,
            operation: OperationId(0),
            outcome: Outcome::Committed,
        };
        let workers: Vec<_> = (0..WORKERS)
            .map(|index| {
                let lane = lanes.lane(index);
                thread::spawn(move || (0..EACH).for_each(|tick| assert_eq!(lane.record(|| tick, 2, sample), tick)))
            })
            .collect();
        let (mut samples, mut round_trips) = (0, 0);
        let mut count = |log: &mut Log| {
            samples += log.samples.len() as u64;
            round_trips += log.round_trips;
        };
        while workers.iter().any(|worker| !worker.is_finished()) {
            lanes.drain(&mut count);
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        lanes.drain(&mut count);
        assert_eq!((samples, round_trips), (WORKERS as u64 * EACH, WORKERS as u64 * EACH * 2));
    }
}
