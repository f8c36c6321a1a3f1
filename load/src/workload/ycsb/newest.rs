//! Which records there are while operations add some: YCSB's acknowledged counter.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Inserts that may end before an older one does, without another allocation.
const EARLY: usize = 4_096;

/// Places of records in the order in which they were started: those loaded first, then those inserted by this process.
/// The newest is the last one up to which every insert has ended.
#[derive(Debug)]
pub(super) struct Newest {
    next: AtomicU64,
    newest: AtomicU64,
    /// Whether any insert failed.
    failed: AtomicBool,
    ended: Mutex<Ended>,
}

#[derive(Debug)]
struct Ended {
    /// Behind an insert that has not ended.
    early: BinaryHeap<Reverse<u64>>,
    /// Of inserts that failed, or whose outcome is unknown.
    gaps: BTreeSet<u64>,
}

impl Newest {
    /// After this many records (at least one) were loaded.
    pub(super) fn new(loaded: u64) -> Self {
        let ended = Ended { early: BinaryHeap::with_capacity(EARLY), gaps: BTreeSet::new() };
        Self {
            next: AtomicU64::new(loaded),
            newest: AtomicU64::new(loaded - 1),
            failed: AtomicBool::new(false),
            ended: Mutex::new(ended),
        }
    }

    /// The place of a record that is about to be inserted.
    pub(super) fn begin(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Its insert has ended: the record is there, or may not be.
    pub(super) fn end(&self, place: u64, there: bool) {
        let mut ended = self.ended();
        if !there {
            ended.gaps.insert(place);
            self.failed.store(true, Ordering::Release);
        }
        ended.early.push(Reverse(place));
        let mut newest = self.newest.load(Ordering::Relaxed);
        while ended.early.peek() == Some(&Reverse(newest + 1)) {
            ended.early.pop();
            newest += 1;
        }
        self.newest.store(newest, Ordering::Release);
    }

    /// The place of the record this many before the newest, or of an older one, if that was never inserted.
    pub(super) fn back(&self, rank: u64) -> u64 {
        let mut place = self.newest.load(Ordering::Acquire) - rank;
        if self.failed.load(Ordering::Acquire) {
            let ended = self.ended();
            while ended.gaps.contains(&place) {
                place -= 1; // the loaded ones have no gaps
            }
        }
        place
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_the_last_one_before_any_that_is_under_way() {
        let newest = Newest::new(10);
        assert_eq!((newest.back(0), newest.back(9)), (9, 0));
        let [first, second, third] = [newest.begin(), newest.begin(), newest.begin()];
        assert_eq!([first, second, third], [10, 11, 12]);
        newest.end(third, true);
        newest.end(second, true);
        assert_eq!(newest.back(0), 9, "the first one may not be there yet");
        newest.end(first, true);
        assert_eq!((newest.back(0), newest.back(12)), (12, 0));
    }

    #[test]
    fn a_record_that_was_not_inserted_is_never_the_one() {
        let newest = Newest::new(1);
        for place in 1..6 {
            assert_eq!(newest.begin(), place);
            newest.end(place, place != 1 && place != 5);
        }
        let found: Vec<u64> = (0..6).map(|rank| newest.back(rank)).collect();
        assert_eq!(found, [4, 4, 3, 2, 0, 0]);
    }
}
