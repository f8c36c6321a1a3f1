//! How long a load takes whose address is the result of the one before: a walk through all lines of a working set in
//! random order, which no prefetcher foresees.

use super::pinned::pin;
use super::sampling::until_they_agree;
use crate::agent::telemetry::parse::kib_line;
use memmap2::{Advice, MmapMut};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::fs;
use std::hint::black_box;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Loads between two looks at the clock.
const BETWEEN_LOOKS: u32 = 4096;
const WORD_BYTES: usize = size_of::<u64>();
/// Of one kernel's page tables for large pages on the machines that clouds sell.
pub const LARGE_PAGE_BYTES: usize = 2 << 20;

/// What a working set is mapped with: with small pages, large sets pay for page tables, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// The kernel's base pages.
    Small,
    /// Transparent huge pages.
    Large,
}

/// What was measured.
#[derive(Debug)]
pub struct Chased {
    /// Seconds a load, once for each sample.
    pub samples_s: Vec<f64>,
    /// How much of the working set really was in large pages.
    pub large_page_bytes: u64,
}

/// Chases pointers on a CPU, in memory that another one, or the same, touches first.
pub fn measure(
    (cpu, touched_by): (usize, usize),
    pages: Pages,
    (working_set_bytes, line_bytes): (usize, usize),
    sample: Duration,
) -> io::Result<Chased> {
    let walk = move || {
        pin(touched_by)?;
        let before = large_page_bytes();
        let mut chain = Chain::new(working_set_bytes, line_bytes, pages)?;
        let large_page_bytes = large_page_bytes().saturating_sub(before);
        pin(cpu)?;
        Ok(Chased { samples_s: until_they_agree(|| chain.seconds_per_load(sample)), large_page_bytes })
    };
    // A thread of its own, so that the caller stays where it was.
    thread::spawn(walk).join().unwrap_or_else(|_| Err(io::Error::other("the thread that chased pointers panicked")))
}

struct Chain {
    map: MmapMut,
    at: u64,
}

impl Chain {
    /// One cycle through all lines. Each line's first word is the number of the next line's first word.
    fn new(bytes: usize, line_bytes: usize, pages: Pages) -> io::Result<Chain> {
        let mut map = MmapMut::map_anon(bytes)?;
        // A kernel without large pages refuses both; what it did is read afterwards.
        let _ = map.advise(if pages == Pages::Large { Advice::HugePage } else { Advice::NoHugePage });
        let words: &mut [u64] = bytemuck::cast_slice_mut(&mut map);
        let line_words = line_bytes / WORD_BYTES;
        // Touched in order, so that the kernel can give large pages.
        words.fill(0);
        let mut order: Vec<u32> = (0..(words.len() / line_words) as u32).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(order.len() as u64);
        for last in (1..order.len()).rev() {
            // The bias of a remainder of 64 random bits is far below what a cache could notice.
            order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
        }
        for (line, next) in order.iter().zip(order.iter().cycle().skip(1)) {
            words[*line as usize * line_words] = u64::from(*next) * line_words as u64;
        }
        Ok(Chain { map, at: 0 })
    }

    fn seconds_per_load(&mut self, sample: Duration) -> f64 {
        let words: &[u64] = bytemuck::cast_slice(&self.map);
        let (began, mut loads, mut at) = (Instant::now(), 0_u64, self.at);
        loop {
            for _ in 0..BETWEEN_LOOKS {
                at = words[at as usize];
            }
            loads += u64::from(BETWEEN_LOOKS);
            let took = began.elapsed();
            if took >= sample {
                self.at = black_box(at);
                return took.as_secs_f64() / loads as f64;
            }
        }
    }
}

/// Of this process.
fn large_page_bytes() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    kib_line(&rollup, "AnonHugePages:").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_visits_every_line_once_before_it_is_back() {
        for (bytes, line_bytes) in [(1 << 14, 64), (3 << 13, 128), (64, 64)] {
            let chain = Chain::new(bytes, line_bytes, Pages::Small).expect("memory");
            let words: &[u64] = bytemuck::cast_slice(&chain.map);
            let mut visited = vec![false; bytes / line_bytes];
            let mut at = 0;
            for _ in 0..visited.len() {
                let line = at as usize / (line_bytes / WORD_BYTES);
                assert!(!std::mem::replace(&mut visited[line], true), "line {line} twice");
                at = words[at as usize];
            }
            assert_eq!(at, 0);
        }
    }

    #[test]
    fn loads_take_time_and_small_pages_are_no_large_ones() {
        let cpu = super::super::pinned::cpus().expect("a mask")[0];
        let chased = measure((cpu, cpu), Pages::Small, (1 << 15, 64), Duration::from_millis(1)).expect("measured");
        assert!(chased.samples_s.iter().all(|one| *one > 0.0));
        assert_eq!(chased.large_page_bytes, 0);
    }
}
