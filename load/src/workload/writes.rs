//! What a run wrote, and what of it was acknowledged.
//!
//! Every write of a row carries a number of its own, which is also a time: numbers come from one counter, which counts
//! on when a write is acknowledged. So a write that was acknowledged before another was sent has the smaller number.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many bytes at the beginning of a value hold its number.
pub const NUMBER_BYTES: usize = 8;
/// Numbers of one run share what is above these bits.
const NUMBERS_OF_A_RUN: u32 = 40;

/// A row that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Where.
    pub key: i64,
    /// What its value begins with; no other write of the run has it.
    pub number: u64,
    /// The counter when the server had acknowledged it; `None`: nobody knows whether it was carried out.
    pub acknowledged: Option<NonZeroU64>,
}

/// Whether two numbers were given in one run.
#[must_use]
pub fn of_one_run(one: u64, other: u64) -> bool {
    one >> NUMBERS_OF_A_RUN == other >> NUMBERS_OF_A_RUN
}

/// All writes of a run.
#[derive(Debug, Default)]
pub struct WriteLog {
    counter: AtomicU64,
    writes: Mutex<Vec<Write>>,
}

impl WriteLog {
    /// Begins a run, whose numbers are none of another run's: that one began with another `nonce`.
    pub fn begin(&self, nonce: u64) {
        self.counter.store(nonce << NUMBERS_OF_A_RUN, Ordering::SeqCst);
    }

    fn next(&self) -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(self.counter.fetch_add(1, Ordering::SeqCst))
    }

    /// Takes everything that pens have written which are gone.
    #[must_use]
    pub fn take(&self) -> Vec<Write> {
        std::mem::take(&mut self.writes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where one executor notes its writes. It shares nothing while it writes, and hands in what it has when it is dropped.
#[derive(Debug)]
pub struct Pen {
    log: Arc<WriteLog>,
    writes: Vec<Write>,
    /// Where those of the operation in progress begin.
    open: usize,
}

impl Pen {
    /// For this log.
    pub fn new(log: Arc<WriteLog>) -> Self {
        Self { log, writes: Vec::new(), open: 0 }
    }

    /// Notes that an attempt is sent to write these rows; the number of its values. What was sent before is in doubt
    /// for good, unless it is acknowledged or withdrawn by now.
    pub fn send(&mut self, keys: &[i64]) -> [u8; NUMBER_BYTES] {
        let number = self.log.next().get();
        self.open = self.writes.len();
        self.writes.extend(keys.iter().map(|&key| Write { key, number, acknowledged: None }));
        number.to_be_bytes()
    }

    /// Notes that the server has acknowledged what was sent last.
    pub fn acknowledge(&mut self) {
        let now = Some(self.log.next());
        self.writes[self.open..].iter_mut().for_each(|write| write.acknowledged = now);
    }

    /// Notes that what was sent last will not be carried out: it never left, or the server has refused it.
    pub fn withdraw(&mut self) {
        if self.writes.get(self.open).is_some_and(|write| write.acknowledged.is_none()) {
            self.writes.truncate(self.open);
        }
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        let mut all = self.log.writes.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(&mut self.writes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_not_in_doubt_and_what_was_acknowledged_stays() {
        let log = Arc::new(WriteLog::default());
        let mut pen = Pen::new(log.clone());
        pen.withdraw();
        pen.send(&[1]);
        pen.acknowledge();
        pen.withdraw();
        pen.send(&[2, 3]);
        pen.withdraw();
        pen.withdraw();
        pen.send(&[4]);
        drop(pen);
        let found: Vec<_> = log.take().iter().map(|write| (write.key, write.acknowledged.is_some())).collect();
        assert_eq!(found, [(1, true), (4, false)]);
    }

    #[test]
    fn a_number_is_a_time_and_what_is_sent_again_is_another_write() {
        let log = Arc::new(WriteLog::default());
        log.begin(7);
        let (mut one, mut other) = (Pen::new(log.clone()), Pen::new(log.clone()));
        one.send(&[1, 2]);
        other.send(&[1]);
        other.send(&[1]);
        other.acknowledge();
        one.acknowledge();
        drop((other, one));
        let first = 7 << 40;
        let write = |key, number, acknowledged: Option<u64>| {
            let acknowledged = acknowledged.map(|time| NonZeroU64::new(first + time).unwrap());
            Write { key, number: first + number, acknowledged }
        };
        let all = [write(1, 2, None), write(1, 3, Some(4)), write(1, 1, Some(5)), write(2, 1, Some(5))];
        assert_eq!(log.take(), all);
        assert!(log.take().is_empty());
        assert!(of_one_run(all[0].number, all[3].number) && !of_one_run(first, 8 << 40));
    }
}
