//! How many bytes a second threads read, write and copy, each in a working set of its own.

use super::pinned::pin;
use super::sampling::until_they_agree;
use serde::Serialize;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A thread touches at least so much between two looks at the clock.
const BETWEEN_LOOKS_BYTES: usize = 1 << 20;
/// Words that are added up independently of each other, so that no addition waits for the one before.
const LANES: usize = 16;
const WORD_BYTES: usize = size_of::<u64>();

/// What is done with a working set. Bytes count as STREAM counts them: a copied byte is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Adds all words up.
    Read,
    /// Sets all words.
    Write,
    /// Copies the first half over the second.
    Copy,
}

/// Where a thread runs, and where its memory is: on the node of the CPU that touches it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// It runs here.
    pub cpu: usize,
    /// Its memory is touched first from here.
    pub touched_by: usize,
}

/// Bytes per second of all threads together, once for each sample of this length. `working_set_bytes` is each thread's.
pub fn measure(
    operation: Operation,
    places: &[Place],
    working_set_bytes: usize,
    sample: Duration,
) -> io::Result<Vec<f64>> {
    let gate = Barrier::new(places.len() + 1);
    let (over, failed) = (AtomicBool::new(false), Mutex::new(None));
    let sampling = AtomicUsize::new(0);
    let rates: Vec<AtomicU64> = places.iter().map(|_| AtomicU64::new(0)).collect();
    let work = |place: &Place, rate: &AtomicU64| {
        let mut set = prepared(*place, working_set_bytes).unwrap_or_else(|error| {
            failed.lock().expect("nobody panics with it").get_or_insert(error);
            WorkingSet::new(WORD_BYTES)
        });
        loop {
            gate.wait();
            if over.load(Ordering::Acquire) {
                return;
            }
            rate.store(set.bytes_per_s(operation, sample, &sampling).to_bits(), Ordering::Release);
            gate.wait();
        }
    };
    let samples = thread::scope(|scope| {
        for (place, rate) in places.iter().zip(&rates) {
            scope.spawn(move || work(place, rate));
        }
        let samples = until_they_agree(|| {
            sampling.store(places.len(), Ordering::Release);
            gate.wait();
            gate.wait();
            rates.iter().map(|rate| f64::from_bits(rate.load(Ordering::Acquire))).sum()
        });
        over.store(true, Ordering::Release);
        gate.wait();
        samples
    });
    failed.into_inner().expect("nobody panics with it").map_or(Ok(samples), Err)
}

fn prepared(place: Place, bytes: usize) -> io::Result<WorkingSet> {
    pin(place.touched_by)?;
    let set = WorkingSet::new(bytes);
    pin(place.cpu)?;
    Ok(set)
}

struct WorkingSet {
    words: Vec<u64>,
    passes: u64,
}

impl WorkingSet {
    /// All of it is touched.
    fn new(bytes: usize) -> WorkingSet {
        WorkingSet { words: vec![1; bytes / WORD_BYTES], passes: 0 }
    }

    /// Passes over the set for at least this long, and then, uncounted, until all threads that are `sampling` have: who
    /// stopped sooner would leave the others more bandwidth than they have together.
    fn bytes_per_s(&mut self, operation: Operation, sample: Duration, sampling: &AtomicUsize) -> f64 {
        let set_bytes = self.words.len() * WORD_BYTES;
        let between_looks = (BETWEEN_LOOKS_BYTES / set_bytes).max(1);
        let (began, mut bytes) = (Instant::now(), 0);
        loop {
            for _ in 0..between_looks {
                self.pass(operation);
            }
            bytes += between_looks * set_bytes;
            let took = began.elapsed();
            if took >= sample {
                sampling.fetch_sub(1, Ordering::AcqRel);
                while sampling.load(Ordering::Acquire) > 0 {
                    self.pass(operation);
                }
                return bytes as f64 / took.as_secs_f64();
            }
        }
    }

    /// Touches each byte of the set once.
    fn pass(&mut self, operation: Operation) {
        self.passes += 1;
        match operation {
            Operation::Read => {
                black_box(sum(black_box(&self.words)));
            }
            Operation::Write => {
                self.words.fill(black_box(self.passes));
                black_box(&mut self.words);
            }
            Operation::Copy => {
                let half = self.words.len() / 2;
                let (source, destination) = self.words.split_at_mut(half);
                destination[..source.len()].copy_from_slice(black_box(source));
                black_box(destination);
            }
        }
    }
}

/// By index and never inlined, so that the sums stay in registers: in memory, each would wait for the one before.
#[inline(never)]
fn sum(words: &[u64]) -> u64 {
    let mut lanes = [0_u64; LANES];
    let mut chunks = words.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            lanes[lane] = lanes[lane].wrapping_add(chunk[lane]);
        }
    }
    lanes.iter().chain(chunks.remainder()).fold(0, |all, one| all.wrapping_add(*one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_written_and_copied() {
        let mut set = WorkingSet::new(37 * WORD_BYTES);
        assert_eq!(sum(&set.words), 37);
        set.pass(Operation::Write);
        assert_eq!(set.words, [1; 37]);
        set.pass(Operation::Write);
        assert_eq!(set.words, [2; 37]);
        set.words[..18].fill(7);
        set.pass(Operation::Copy);
        assert_eq!((sum(&set.words), set.words[36]), (36 * 7 + 2, 2));
    }

    #[test]
    fn threads_are_added_up() {
        let place = Place { cpu: super::super::pinned::cpus().expect("a mask")[0], touched_by: 0 };
        let place = Place { touched_by: place.cpu, ..place };
        for operation in [Operation::Read, Operation::Write, Operation::Copy] {
            let samples = measure(operation, &[place, place], 1 << 15, Duration::from_millis(1)).expect("measured");
            assert!(samples.len() >= 5 && samples.iter().all(|one| *one > 0.0), "{samples:?}");
        }
    }

    #[test]
    fn a_cpu_that_it_may_not_use_is_an_error_and_nothing_hangs() {
        let place = Place { cpu: 1_000, touched_by: 1_000 };
        assert!(measure(Operation::Read, &[place], 1 << 15, Duration::from_millis(1)).is_err());
    }
}
