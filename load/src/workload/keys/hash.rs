//! How the numbers of items map to keys.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the number of an item becomes its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Scattered over all 64-bit keys, so that rows written in succession are far apart in the index.
    #[default]
    Hashed,
    /// The number is the key, so that new rows go to the end of the index.
    Sequential,
}

impl Order {
    /// The key of item `number`: no two items have the same.
    #[must_use]
    pub fn key(self, number: u64) -> i64 {
        match self {
            Self::Hashed => permute(number) as i64,
            Self::Sequential => number as i64,
        }
    }
}

/// A permutation of all 64-bit numbers: the finaliser of SplitMix64, whose every step can be undone.
fn permute(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// The hash of YCSB's keys: FNV-1a of the number's eight bytes, the least significant first, without its sign.
#[must_use]
pub fn fnv_of(number: u64) -> u64 {
    (fnv1a(&number.to_le_bytes()) as i64).unsigned_abs()
}

/// FNV-1a with 64 bits: `fnv64a` of CockroachDB.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

/// Where YCSB's scrambled distribution puts this rank, of this many items.
#[must_use]
pub fn scramble(rank: u64, items: u64) -> u64 {
    fnv_of(rank) % items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_items_have_one_key() {
        let keys: std::collections::BTreeSet<i64> = (0..100_000).map(|number| Order::Hashed.key(number)).collect();
        assert_eq!(keys.len(), 100_000);
        assert_eq!(Order::Sequential.key(7), 7);
        // Half of the keys are negative: they are scattered over the whole range.
        let negative = keys.iter().filter(|key| **key < 0).count();
        assert!((48_000..52_000).contains(&negative), "{negative}");
    }

    #[test]
    fn ycsb_names_its_first_records_so() {
        // As its default data set has them: user6284781860667377211 is record 0.
        assert_eq!(fnv_of(0), 6_284_781_860_667_377_211);
        assert_eq!(fnv_of(1), 8_517_097_267_634_966_620);
    }
}
