//! Random strings of the initial population, cut from long pregenerated ones at random offsets. Clause 4.3.2.1 allows
//! random data to be pregenerated for the population (not for `O_OL_CNT`, which is drawn again for each order).

use crate::workload::tpcc::random::{Purpose, Stream};

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ALPHANUMERIC: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";

/// Long enough that a compressing file system or database finds few repeats within its window, short enough to stay in
/// a processor's cache. The clause asks for 10,000 pregenerated values at least.
const POOL_LENGTH: usize = 1 << 20;
const ORIGINAL: &str = "ORIGINAL";

/// Where strings come from.
#[derive(Debug)]
pub struct Pools {
    alphanumeric: String,
    letters: String,
    digits: String,
}

impl Pools {
    /// The pools of a data seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let fill = |alphabet, index| {
            let mut pool = String::with_capacity(POOL_LENGTH);
            Stream::new(seed, Purpose::Pool, 0, index).fill(alphabet, POOL_LENGTH, &mut pool);
            pool
        };
        Self { alphanumeric: fill(ALPHANUMERIC, 0), letters: fill(LETTERS, 1), digits: fill(DIGITS, 2) }
    }

    /// `random a-string [low .. high]` (4.3.2.2).
    pub fn text(&self, stream: &mut Stream, low: i32, high: i32) -> &str {
        let length = usize::try_from(stream.uniform(low, high)).expect("lengths are positive");
        cut(&self.alphanumeric, stream, length)
    }

    /// `random a-string of n letters`.
    pub fn letters(&self, stream: &mut Stream, length: usize) -> &str {
        cut(&self.letters, stream, length)
    }

    /// `random n-string` of `length` digits.
    pub fn digits(&self, stream: &mut Stream, length: usize) -> &str {
        cut(&self.digits, stream, length)
    }

    /// A zip code: four random digits and "11111" (4.3.2.7).
    pub fn zip(&self, stream: &mut Stream, into: &mut String) {
        into.clear();
        into.push_str(self.digits(stream, 4));
        into.push_str("11111");
    }

    /// `I_DATA` or `S_DATA`: an a-string of 26..=50, in which "ORIGINAL" starts at a random position if `original`.
    pub fn data(&self, stream: &mut Stream, original: bool, into: &mut String) {
        let text = self.text(stream, 26, 50);
        into.clear();
        if original {
            let start = stream.below(u32::try_from(text.len() - ORIGINAL.len() + 1).expect("a short text")) as usize;
            into.push_str(&text[..start]);
            into.push_str(ORIGINAL);
            into.push_str(&text[start + ORIGINAL.len()..]);
        } else {
            into.push_str(text);
        }
    }
}

fn cut<'a>(pool: &'a str, stream: &mut Stream, length: usize) -> &'a str {
    let starts = u32::try_from(pool.len() - length + 1).expect("a pool has fewer than 2^32 characters");
    let start = stream.below(starts) as usize;
    &pool[start..start + length]
}
