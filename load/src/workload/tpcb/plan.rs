//! What is drawn for a deposit, and counted.

use crate::workload::keys::{Bins, MAX_BINS, Ranks};
use crate::workload::{Draws, OperationId, Streams, Tally};
use std::collections::BTreeMap;

/// A deposit is from -5000 to 5000.
pub(super) const MAX_DELTA: i32 = 5_000;

pub(super) const DEPOSIT: OperationId = OperationId(0);
/// The purpose of the streams that operations are drawn from.
pub(super) const CLIENT_STREAM: u64 = 0x74_70_63_62_00;
pub(super) const MEAN_DELTA: &str = "mean_delta";
/// What is drawn, each uniformly.
pub(super) const DRAWN: [&str; 3] = ["accounts", "tellers", "branches"];

/// What all executors share.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) streams: Streams,
    /// By [`DRAWN`].
    pub(super) ranks: [Ranks; 3],
    pub(super) bins: [Bins; 3],
}

/// Counts of what was drawn.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) ranks: [[u64; MAX_BINS]; 3],
    pub(super) delta: Tally,
}

impl Counts {
    pub(super) fn draws(&self) -> Draws {
        let counted = |counts: &[u64; MAX_BINS]| -> BTreeMap<i32, u64> {
            counts.iter().zip(0..).filter(|(count, _)| **count > 0).map(|(&count, bin)| (bin, count)).collect()
        };
        let mut draws = Draws::default();
        if self.delta.draws > 0 {
            draws.tallies.insert(MEAN_DELTA, self.delta);
            draws.bins.extend(DRAWN.into_iter().zip(self.ranks.iter().map(counted)));
        }
        draws
    }
}
