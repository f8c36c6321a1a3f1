//! Where the hash puts what was drawn: YCSB's scrambled distribution is one over ranks, and only its hash makes records
//! of them. Counted are the records that operations are about, so that a hash that meets few of them cannot hide behind
//! ranks that are right.

use crate::workload::AuditLine;
use crate::workload::keys::{Bins, Ranks, Shape, scramble};
use crate::workload::statistic::chi_square;
use std::collections::BTreeMap;

/// Of the ranks below, each has a record that is looked up: they take a third of the draws.
const HOT: u64 = 4_096;
/// Of the ranks from here on there are this many, each so rare, that a hash spreads them evenly: they take a fifth.
/// Ranks between are not counted: too many to look up, too few to be even in a run of 10^9 operations.
const RARE: u64 = 100_000_000;

/// Which share of the counted ranks each range of records has.
#[derive(Debug)]
pub(super) struct Scatter {
    bins: Bins,
    shares: Vec<f64>,
}

impl Scatter {
    /// Of ranks from this law, over this many records; `None` when these are one, which every rank means.
    pub(super) fn new(ranks: &Ranks, records: u64) -> Option<Self> {
        if records == 1 {
            return None;
        }
        let even = Ranks::new(Shape::Uniform, records);
        let bins = Bins::of(&even);
        let (hot, rare) = (ranks.below(HOT), 1.0 - ranks.below(RARE));
        let mut shares: Vec<f64> = bins.shares().iter().map(|share| share * rare / (hot + rare)).collect();
        for rank in 0..HOT {
            let share = ranks.below(rank + 1) - ranks.below(rank);
            shares[bins.bin(scramble(rank, records))] += share / (hot + rare);
        }
        Some(Self { bins, shares })
    }

    /// Where the record of a rank counts; nowhere, if the rank is neither hot nor rare.
    pub(super) fn bin(&self, rank: u64, record: u64) -> Option<usize> {
        (!(HOT..RARE).contains(&rank)).then(|| self.bins.bin(record))
    }

    /// Pearson's chi-square of the records counted.
    pub(super) fn audit(&self, name: &str, counts: &BTreeMap<i32, u64>) -> AuditLine {
        let count = |bin: usize| counts.get(&(bin as i32)).copied().unwrap_or(0);
        chi_square(name, self.shares.iter().enumerate().map(|(bin, &share)| (count(bin), share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Streams;
    use crate::workload::keys::{SCRAMBLED_ITEMS, YCSB_EXPONENT, fnv_of};

    /// Whether the audit passes a hash, over this many records.
    fn passed(records: u64, hash: impl Fn(u64) -> u64) -> Option<bool> {
        let ranks = Ranks::new(Shape::Gray { exponent: YCSB_EXPONENT }, SCRAMBLED_ITEMS);
        let scatter = Scatter::new(&ranks, records).unwrap();
        let mut random = Streams::new(9).stream(1, records);
        let mut counts = BTreeMap::new();
        for _ in 0..10_000 {
            let rank = ranks.draw(&mut random);
            if let Some(bin) = scatter.bin(rank, hash(rank)) {
                *counts.entry(bin as i32).or_default() += 1;
            }
        }
        let line = scatter.audit("records", &counts);
        assert!((5_000..6_200).contains(&line.draws), "{line:?}");
        line.passed
    }

    #[test]
    fn the_audit_passes_ycsbs_hash_and_fails_one_that_is_damaged_on_purpose() {
        for records in [2, 7, 100, 1_000, 1 << 20, 1_000_000_007] {
            assert_eq!(passed(records, |rank| scramble(rank, records)), Some(true), "{records} records");
        }
        let records = 1_000_000;
        type Hash = fn(u64) -> u64;
        let damaged: [(&str, Hash); 6] = [
            ("all ranks are one record", |_| 7),
            ("there are 100 hot records and no others", |rank| fnv_of(rank) % 100),
            ("one byte of the rank is hashed", |rank| fnv_of(rank & 0xFF) % 1_000_000),
            ("nothing is hashed", |rank| rank % 1_000_000),
            ("a tenth of the records is never met", |rank| fnv_of(rank) % 900_000),
            ("the hash is not YCSB's", |rank| fnv_of(rank + 1) % 1_000_000),
        ];
        for (damage, hash) in damaged {
            assert_eq!(passed(records, hash), Some(false), "{damage}");
        }
    }
}
