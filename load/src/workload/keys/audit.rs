//! Compares draws with the distribution that they should have come from.

use super::Ranks;
use crate::workload::AuditLine;
use crate::workload::statistic::chi_square;
use std::collections::BTreeMap;

/// As many parts as ranks are counted in.
pub const MAX_BINS: usize = 32;

/// Ranks in up to [`MAX_BINS`] groups of neighbours that are about equally likely, together all of them.
#[derive(Debug, Clone)]
pub struct Bins {
    /// The first rank behind each bin but the last.
    ends: Vec<u64>,
    shares: Vec<f64>,
}

impl Bins {
    /// For draws from this distribution.
    #[must_use]
    pub fn of(ranks: &Ranks) -> Self {
        let quantile = |part: usize| first_above(ranks, part as f64 / MAX_BINS as f64);
        let mut ends: Vec<u64> = (1..MAX_BINS).map(quantile).filter(|&end| end < ranks.items()).collect();
        ends.dedup();
        let below: Vec<f64> = ends.iter().map(|&end| ranks.below(end)).chain([1.0]).collect();
        let shares = below.iter().scan(0.0, |last, &below| Some(below - std::mem::replace(last, below))).collect();
        Self { ends, shares }
    }

    /// The share of each.
    #[must_use]
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Which one a rank is in.
    #[must_use]
    pub fn bin(&self, rank: u64) -> usize {
        self.ends.partition_point(|&end| end <= rank)
    }

    /// Pearson's chi-square of draws counted by bin, against the distribution's exact shares.
    #[must_use]
    pub fn audit(&self, name: &str, counts: Option<&BTreeMap<i32, u64>>) -> AuditLine {
        let count = |bin: usize| counts.and_then(|counts| counts.get(&(bin as i32))).copied().unwrap_or(0);
        chi_square(name, self.shares.iter().enumerate().map(|(bin, &share)| (count(bin), share)))
    }
}

/// The first rank below which at least this share of draws lies.
fn first_above(ranks: &Ranks, share: f64) -> u64 {
    let (mut low, mut high) = (1, ranks.items());
    while low < high {
        let middle = low + (high - low) / 2;
        if ranks.below(middle) < share { low = middle + 1 } else { high = middle }
    }
    low
}
