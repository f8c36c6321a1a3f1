//! How long a line takes from one core's cache to another's: two threads answer each other through two words.

use super::pinned::pin;
use super::sampling::until_they_agree;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Round trips between two looks at the clock.
const BETWEEN_LOOKS: u64 = 256;

/// A word that shares no line with anything, and no pair of lines that are fetched together.
#[repr(align(128))]
struct Alone(AtomicU64);

/// Seconds of one way between two CPUs, half of a round trip, once for each sample.
pub fn measure(here: usize, there: usize, sample: Duration) -> io::Result<Vec<f64>> {
    let (ask, answer) = (Alone(AtomicU64::new(0)), Alone(AtomicU64::new(0)));
    let (both, over) = (Barrier::new(2), AtomicBool::new(false));
    // Each waits for the other before it goes on or gives up, so that nobody waits for an answer that never comes.
    let pinned = |cpu: usize| {
        let pinned = pin(cpu);
        over.fetch_or(pinned.is_err(), Ordering::AcqRel);
        both.wait();
        pinned
    };
    thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = pinned(there);
            let mut seen = 0;
            while !over.load(Ordering::Relaxed) {
                let asked = ask.0.load(Ordering::Acquire);
                if asked != seen {
                    seen = asked;
                    answer.0.store(seen, Ordering::Release);
                }
            }
            pinned
        });
        let asking = scope.spawn(|| {
            let pinned = pinned(here);
            if over.load(Ordering::Acquire) {
                return pinned.map(|()| Vec::new());
            }
            let mut trips = 0;
            let samples = until_they_agree(|| {
                let (began, first) = (Instant::now(), trips);
                while began.elapsed() < sample {
                    for _ in 0..BETWEEN_LOOKS {
                        trips += 1;
                        ask.0.store(trips, Ordering::Release);
                        while answer.0.load(Ordering::Acquire) != trips {}
                    }
                }
                began.elapsed().as_secs_f64() / (trips - first) as f64 / 2.0
            });
            over.store(true, Ordering::Relaxed);
            Ok(samples)
        });
        let panicked = |_| io::Error::other("a thread panicked");
        let samples = asking.join().map_err(panicked)??;
        answering.join().map_err(panicked)?.map(|()| samples)
    })
}

#[cfg(test)]
mod tests {
    use super::super::pinned::cpus;
    use super::*;

    #[test]
    fn two_cpus_answer_each_other() {
        let cpus = cpus().expect("a mask");
        let [here, there] = [cpus[0], *cpus.last().expect("one")];
        if here == there {
            return; // they would wait for the scheduler
        }
        let samples = measure(here, there, Duration::from_millis(1)).expect("measured");
        assert!(samples.iter().all(|one| *one > 0.0), "{samples:?}");
    }

    #[test]
    fn a_cpu_that_it_may_not_use_is_an_error_and_nothing_hangs() {
        let here = cpus().expect("a mask")[0];
        assert!(measure(here, 1_000, Duration::from_millis(1)).is_err());
        assert!(measure(1_000, here, Duration::from_millis(1)).is_err());
    }
}
