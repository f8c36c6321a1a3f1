//! Which tables and rows statements are about: functions of (seed, client, turn).

use super::Distribution;
use super::data::Tables;
use crate::workload::keys::{Bins, MAX_BINS, Ranks};
use crate::workload::statistic::chi_square;
use crate::workload::{AuditLine, Draws, Streams, below};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

const TABLES: &str = "tables";
const RANKS: &str = "row_ranks";

/// What all executors share.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) size: Tables,
    purpose: u64,
    streams: Streams,
    ranks: Ranks,
    bins: Bins,
}

impl Plan {
    pub(super) fn new(size: Tables, distribution: Distribution, purpose: u64, seed: u64) -> Self {
        let ranks = Ranks::new(distribution.shape(), u64::from(size.rows));
        let bins = Bins::of(&ranks);
        Self { size, purpose, streams: Streams::new(seed), ranks, bins }
    }

    /// What a client draws from at a turn.
    pub(super) fn stream(&self, client: u32, turn: u64) -> Xoshiro256PlusPlus {
        // Streams repeat after 2^32 turns of a client.
        self.streams.stream(self.purpose, u64::from(client) << 32 | u64::from(turn as u32))
    }

    /// Tables are uniform, rows by the distribution.
    pub(super) fn audit(&self, draws: &Draws) -> Vec<AuditLine> {
        let mut lines = Vec::new();
        if let Some(tables) = draws.bins.get(TABLES).filter(|_| self.size.count > 1) {
            let count = |table: u32| tables.get(&(table as i32)).copied().unwrap_or(0);
            let share = 1.0 / f64::from(self.size.count);
            lines.push(chi_square(TABLES, (0..self.size.count).map(|table| (count(table), share))));
        }
        if let Some(ranks) = draws.bins.get(RANKS) {
            lines.push(self.bins.audit(RANKS, Some(ranks)));
        }
        lines
    }
}

/// Counts of what was drawn.
#[derive(Debug)]
pub(super) struct Counts {
    tables: Vec<u64>,
    ranks: [u64; MAX_BINS],
}

impl Counts {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { tables: vec![0; plan.size.count as usize], ranks: [0; MAX_BINS] }
    }

    /// A table, counted from 0.
    pub(super) fn table(&mut self, plan: &Plan, random: &mut Xoshiro256PlusPlus) -> u32 {
        let table = below(random, plan.size.count);
        self.tables[table as usize] += 1;
        table
    }

    /// A number from 1 to that of the rows.
    pub(super) fn row(&mut self, plan: &Plan, random: &mut Xoshiro256PlusPlus) -> i32 {
        let rank = plan.ranks.draw(random);
        self.ranks[plan.bins.bin(rank)] += 1;
        rank as i32 + 1
    }

    pub(super) fn draws(&self) -> Draws {
        let counted = |counts: &[u64]| -> BTreeMap<i32, u64> {
            counts.iter().zip(0..).filter(|(count, _)| **count > 0).map(|(&count, bin)| (bin, count)).collect()
        };
        let bins = [(TABLES, counted(&self.tables)), (RANKS, counted(&self.ranks))];
        Draws { bins: bins.into_iter().filter(|(_, bins)| !bins.is_empty()).collect(), ..Draws::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Distribution; 5] = [
        Distribution::Uniform,
        Distribution::Gaussian,
        Distribution::Special,
        Distribution::Pareto,
        Distribution::Zipfian,
    ];

    #[test]
    fn the_audit_fails_a_generator_that_draws_by_another_distribution_than_it_says() {
        let size = Tables { count: 3, rows: 1_000 };
        for (says, does) in ALL.into_iter().flat_map(|says| ALL.map(|does| (says, does))) {
            let mut plan = Plan::new(size, says, 1, 7);
            plan.ranks = Ranks::new(does.shape(), 1_000);
            let mut counts = Counts::new(&plan);
            for turn in 0..5_000 {
                let random = &mut plan.stream(0, turn);
                counts.table(&plan, random);
                assert!((1..=1_000).contains(&counts.row(&plan, random)));
            }
            let passed: Vec<_> = plan.audit(&counts.draws()).into_iter().map(|line| line.passed).collect();
            assert_eq!(passed, [Some(true), Some(says == does)], "{does:?} where {says:?} was said");
        }
    }

    #[test]
    fn the_audit_fails_a_generator_that_never_uses_the_last_table() {
        let of = |count| Plan::new(Tables { count, rows: 1_000 }, Distribution::Uniform, 1, 7);
        let damaged = of(2);
        let mut counts = Counts::new(&damaged);
        (0..5_000).for_each(|turn| {
            counts.table(&damaged, &mut damaged.stream(0, turn));
        });
        let lines = of(3).audit(&counts.draws());
        assert!(lines.len() == 1 && lines[0].name == TABLES && lines[0].passed == Some(false), "{lines:?}");
    }
}
