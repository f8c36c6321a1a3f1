//! What operations there are, and on which rows: functions of (seed, client, turn).

use super::blocks::Blocks;
use super::operations::{READ, WRITE};
use super::options::{Distribution, KvOptions, Writes};
use crate::workload::keys::{Bins, MAX_BINS, Ranks, Shape, below};
use crate::workload::writes::NUMBER_BYTES;
use crate::workload::{AuditLine, Draws, OperationId, Streams, Tally, WriteLog, statistic};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The purpose of the streams that operations are drawn from.
const CLIENT_STREAM: u64 = 0x6B_76_00;
const READ_SHARE: &str = "read_share";
const RANKS: &str = "key_ranks";
const BLOCK_BYTES: &str = "mean_block_bytes";
/// This many numbers are kept for each seed's new rows …
const NUMBERS_OF_A_SEED: u32 = 40;
/// … of this many seeds, so that no number has a sign.
const SEEDS: u64 = (1 << 23) - 1;
/// After this many draws of rows that the batch already has, the next row is taken.
const MAX_REPEATS: u32 = 8;

/// What all executors share.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) options: KvOptions,
    seed: u64,
    streams: Streams,
    ranks: Ranks,
    bins: Bins,
    pub(super) blocks: Blocks,
    /// Where writes are noted, if the options say so.
    pub(super) log: Option<Arc<WriteLog>>,
}

impl Plan {
    pub(super) fn new(options: KvOptions, seed: u64) -> Self {
        let shape = match options.distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Zipf => Shape::Zipf { exponent: options.zipf_exponent },
        };
        let ranks = Ranks::new(shape, options.rows);
        let bins = Bins::of(&ranks);
        let blocks = Blocks::new(seed, options.min_block_bytes, options.max_block_bytes());
        let log = options.ledger.then(Arc::default);
        Self { log, options, seed, streams: Streams::new(seed), ranks, bins, blocks }
    }

    fn stream(&self, client: u32, turn: u64) -> Xoshiro256PlusPlus {
        // Streams repeat after 2^32 turns of a client.
        self.streams.stream(CLIENT_STREAM, u64::from(client) << 32 | u64::from(turn as u32))
    }

    /// What a client does at a turn.
    fn operation(&self, random: &mut Xoshiro256PlusPlus) -> OperationId {
        if below(random, 100) < u64::from(self.options.read_percent) { READ } else { WRITE }
    }

    /// The first new row of a client's turn.
    fn first_new(&self, clients: u32, client: u32, turn: u64) -> u64 {
        let index = (turn * u64::from(clients) + u64::from(client)) * u64::from(self.options.batch);
        (1 + self.seed % SEEDS) << NUMBERS_OF_A_SEED | index & ((1 << NUMBERS_OF_A_SEED) - 1)
    }

    /// The first key of a client's turn, as it will be drawn.
    pub(super) fn first_key(&self, clients: u32, client: u32, turn: u64) -> i64 {
        let mut random = self.stream(client, turn);
        let adds = self.operation(&mut random) == WRITE && self.options.writes == Writes::New;
        let number = if adds { self.first_new(clients, client, turn) } else { self.ranks.draw(&mut random) };
        self.options.order.key(number)
    }

    pub(super) fn audit(&self, draws: &Draws) -> Vec<AuditLine> {
        let tally = |name: &str| draws.tallies.get(name).copied().unwrap_or_default();
        let share = f64::from(self.options.read_percent) / 100.0;
        let mut lines = vec![statistic::mean(READ_SHARE, tally(READ_SHARE), share, (share * (1.0 - share)).sqrt())];
        if draws.bins.contains_key(RANKS) {
            lines.push(self.bins.audit(RANKS, draws.bins.get(RANKS)));
        }
        if draws.tallies.contains_key(BLOCK_BYTES) {
            let (mean, deviation) = self.blocks.moments();
            lines.push(statistic::mean(BLOCK_BYTES, tally(BLOCK_BYTES), mean, deviation));
        }
        lines
    }
}

/// Draws operations, one at a time.
#[derive(Debug)]
pub(super) struct Drawer {
    pub(super) plan: Arc<Plan>,
    hand: Hand,
}

/// The operation that was drawn, and counts of all.
#[derive(Debug)]
struct Hand {
    clients: u32,
    operation: OperationId,
    /// The rows of the operation, in the order of their keys, so that no two operations wait for each other in a
    /// circle.
    keys: Vec<i64>,
    /// What is written into them, one after the other.
    written: Vec<u8>,
    /// Where in it each begins.
    begins: Vec<usize>,
    operations: u64,
    reads: u64,
    ranks: [u64; MAX_BINS],
    blocks: Tally,
}

impl Drawer {
    pub(super) fn new(plan: Arc<Plan>, clients: u32) -> Self {
        let batch = plan.options.batch as usize;
        let hand = Hand {
            clients,
            operation: READ,
            keys: Vec::with_capacity(batch),
            written: Vec::new(),
            begins: Vec::with_capacity(batch),
            operations: 0,
            reads: 0,
            ranks: [0; MAX_BINS],
            blocks: Tally::default(),
        };
        Self { plan, hand }
    }

    pub(super) fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.hand.draw(&self.plan, client, turn);
        self.hand.operation
    }

    /// Whether the operation reads.
    pub(super) fn reads(&self) -> bool {
        self.hand.operation == READ
    }

    /// The keys of the operation, in their order.
    pub(super) fn keys(&self) -> &[i64] {
        &self.hand.keys
    }

    /// What is to be written.
    pub(super) fn rows(&self) -> impl Iterator<Item = (i64, &[u8])> {
        let Hand { keys, written, begins, .. } = &self.hand;
        let ends = begins.iter().skip(1).copied().chain([written.len()]);
        keys.iter().zip(begins.iter().zip(ends)).map(|(&key, (&from, to))| (key, &written[from..to]))
    }

    /// Overwrites the beginning of everything that is to be written.
    pub(super) fn mark(&mut self, number: [u8; NUMBER_BYTES]) {
        let Hand { written, begins, .. } = &mut self.hand;
        begins.iter().for_each(|&from| written[from..from + NUMBER_BYTES].copy_from_slice(&number));
    }

    pub(super) fn draws(&self) -> Draws {
        let Hand { reads, operations, ranks, blocks, .. } = &self.hand;
        let mut draws = Draws::default();
        draws.tallies.insert(READ_SHARE, Tally { sum: *reads as f64, draws: *operations });
        if blocks.draws > 0 {
            draws.tallies.insert(BLOCK_BYTES, *blocks);
        }
        let counted = ranks.iter().zip(0..).filter(|(count, _)| **count > 0);
        let bins: BTreeMap<i32, u64> = counted.map(|(&count, bin)| (bin, count)).collect();
        if !bins.is_empty() {
            draws.bins.insert(RANKS, bins);
        }
        draws
    }
}

impl Hand {
    fn draw(&mut self, plan: &Plan, client: u32, turn: u64) {
        let mut random = plan.stream(client, turn);
        self.operation = plan.operation(&mut random);
        self.operations += 1;
        self.reads += u64::from(self.operation == READ);
        self.keys.clear();
        if self.operation == WRITE && plan.options.writes == Writes::New {
            let first = plan.first_new(self.clients, client, turn);
            let new = first..first + u64::from(plan.options.batch);
            self.keys.extend(new.map(|number| plan.options.order.key(number)));
        } else {
            self.draw_rows(plan, &mut random);
        }
        self.keys.sort_unstable();
        self.written.clear();
        self.begins.clear();
        if self.operation == WRITE {
            self.draw_blocks(plan, &mut random);
        }
    }

    fn draw_blocks(&mut self, plan: &Plan, random: &mut Xoshiro256PlusPlus) {
        for _ in 0..self.keys.len() {
            self.begins.push(self.written.len());
            plan.blocks.draw(random, &mut self.written);
        }
        self.blocks.sum += self.written.len() as f64;
        self.blocks.draws += self.keys.len() as u64;
    }

    /// Loaded rows, no two the same.
    fn draw_rows(&mut self, plan: &Plan, random: &mut Xoshiro256PlusPlus) {
        let KvOptions { batch, rows, order, .. } = plan.options;
        for _ in 0..batch {
            let mut repeats = 0;
            let mut number = self.draw_row(plan, random);
            while self.keys.contains(&order.key(number)) {
                repeats += 1;
                number = if repeats < MAX_REPEATS { self.draw_row(plan, random) } else { (number + 1) % rows };
            }
            self.keys.push(order.key(number));
        }
    }

    fn draw_row(&mut self, plan: &Plan, random: &mut Xoshiro256PlusPlus) -> u64 {
        let rank = plan.ranks.draw(random);
        self.ranks[plan.bins.bin(rank)] += 1;
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fails of the audit of a generator that says this of itself, and is damaged.
    fn failed(damage: impl FnOnce(&mut Plan)) -> Vec<String> {
        let distribution = Distribution::Zipf;
        let (min_block_bytes, max_block_bytes) = (1, Some(100));
        let rest = KvOptions::new(1_000);
        let says = KvOptions { read_percent: 50, distribution, min_block_bytes, max_block_bytes, ..rest };
        let mut damaged = Plan::new(says, 7);
        damage(&mut damaged);
        let mut drawer = Drawer::new(Arc::new(damaged), 4);
        (0..20_000).for_each(|turn| {
            drawer.draw(3, turn);
        });
        let lines = Plan::new(says, 7).audit(&drawer.draws());
        assert_eq!(lines.len(), 3);
        lines.into_iter().filter(|line| line.passed != Some(true)).map(|line| line.name).collect()
    }

    #[test]
    fn each_line_of_the_audit_fails_for_a_generator_that_is_damaged_on_purpose() {
        assert_eq!(failed(|_| {}), [""; 0]);
        assert_eq!(failed(|plan| plan.options.read_percent = 53), [READ_SHARE]);
        assert_eq!(failed(|plan| plan.blocks = Blocks::new(7, 1, 105)), [BLOCK_BYTES]);
        assert_eq!(failed(|plan| plan.ranks = Ranks::new(Shape::Uniform, 1_000)), [RANKS]);
    }
}
