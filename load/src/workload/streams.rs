//! Independent random streams out of one seed: what is drawn depends on (seed, purpose, index) and on nothing else,
//! neither on the number of threads nor on their order.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// All streams of one seed.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream of one purpose (a constant of the workload) and one index (a row, a worker).
    #[must_use]
    pub fn stream(self, purpose: u64, index: u64) -> Xoshiro256PlusPlus {
        let mixed = mix(mix(mix(self.seed) ^ purpose) ^ index);
        Xoshiro256PlusPlus::seed_from_u64(mixed)
    }
}

/// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A number from 0 to `bound - 1`, without bias (Lemire's multiplication method).
///
/// # Panics
/// When `bound` is 0.
pub fn below(random: &mut impl RngCore, bound: u32) -> u32 {
    assert!(bound > 0, "there is no number below 0");
    loop {
        let product = u64::from(random.next_u32()) * u64::from(bound);
        let low = product as u32;
        // Of the 2^32 possible numbers, the 2^32 mod bound first ones would be one too many. The remainder is less than
        // the bound: it takes a division, and is seldom needed.
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 32) as u32;
        }
    }
}

/// Exponential with mean 1.
#[must_use]
pub fn exponential(random: &mut impl RngCore) -> f64 {
    // 53 bits, above 0 and at most 1: its logarithm is finite.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let first = |seed, purpose, index| Streams::new(seed).stream(purpose, index).next_u64();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        let all = [first(1, 2, 3), first(2, 2, 3), first(1, 3, 3), first(1, 2, 4), first(1, 3, 2)];
        let distinct: std::collections::BTreeSet<_> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn below_is_uniform_and_inside() {
        let mut random = Streams::new(5).stream(0, 0);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut random, 7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert!((0..100).all(|_| below(&mut random, 1) == 0));
    }
}
