//! What operations there are, on which records, with what.

use super::data::{Field, Values, field_names, name_of};
use super::newest::Newest;
use super::scatter::Scatter;
use super::{
    Distribution, INSERT, LONGEST_SCAN, MAX_FIELDS, Mix, OPERATIONS, READ, READ_MODIFY_WRITE, SCAN, UPDATE, YcsbOptions,
};
use crate::workload::ShardSpec;
use crate::workload::keys::{Bins, MAX_BINS, Ranks, Shape, below, scramble};
use crate::workload::statistic::chi_square;
use crate::workload::{AuditLine, Draws, Name, OperationId, ServerCounter, Streams};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The purpose of the streams that operations are drawn from.
const CLIENT_STREAM: u64 = 0x79_63_73_62_00;
const MIX: &str = "mix";
const RANKS: &str = "record_ranks";
const RECORDS: &str = "scrambled_records";
const FIELDS: &str = "fields";
const SCANS: &str = "scan_lengths";
/// This many numbers are kept for each seed's new records …
const NUMBERS_OF_A_SEED: u32 = 40;
/// … of this many seeds, so that no number has a sign.
const SEEDS: u64 = (1 << 23) - 1;

/// By client and turn, what was chosen before the turn is drawn: the place of a record that will be inserted, or the
/// number of one that is there.
type Ahead = HashMap<(u32, u64), u64>;

/// What all executors share.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) options: YcsbOptions,
    seed: u64,
    shard: ShardSpec,
    streams: Streams,
    ranks: Ranks,
    bins: Bins,
    /// Of ranks that a hash scatters over the records.
    scatter: Option<Scatter>,
    scans: Ranks,
    scan_bins: Bins,
    pub(super) values: Values,
    newest: Newest,
    ahead: OnceLock<Mutex<Ahead>>,
}

impl Plan {
    pub(super) fn new(options: YcsbOptions, seed: u64, shard: ShardSpec) -> Self {
        let distribution = options.distribution();
        let ranks = Ranks::new(distribution.shape(), distribution.items(options.rows));
        let scans = Ranks::new(Shape::Uniform, LONGEST_SCAN);
        Self {
            options,
            seed,
            shard,
            streams: Streams::new(seed),
            bins: Bins::of(&ranks),
            scatter: (distribution == Distribution::Zipfian).then(|| Scatter::new(&ranks, options.rows)).flatten(),
            ranks,
            scan_bins: Bins::of(&scans),
            scans,
            values: Values::new(seed, options.field_bytes),
            newest: Newest::new(options.rows),
            ahead: OnceLock::new(),
        }
    }

    fn stream(&self, client: u32, turn: u64) -> Xoshiro256PlusPlus {
        // Streams repeat after 2^32 turns of a client.
        self.streams.stream(CLIENT_STREAM, u64::from(client) << 32 | u64::from(turn as u32))
    }

    fn operation(&self, random: &mut Xoshiro256PlusPlus) -> OperationId {
        let [(first, percent), (second, _)] = self.options.mix.percent();
        if below(random, 100) < u64::from(percent) { first } else { second }
    }

    /// The number of the record at a place: loaded ones are numbered by it.
    fn number(&self, place: u64) -> u64 {
        let loaded = self.options.rows;
        if place < loaded {
            return place;
        }
        let new = (place - loaded) * u64::from(self.shard.count) + u64::from(self.shard.index);
        (1 + self.seed % SEEDS) << NUMBERS_OF_A_SEED | new & ((1 << NUMBERS_OF_A_SEED) - 1)
    }

    /// Which record a rank means.
    fn record(&self, rank: u64) -> u64 {
        match self.options.distribution() {
            Distribution::Uniform => rank,
            Distribution::Zipfian => scramble(rank, self.options.rows),
            Distribution::Latest => self.number(self.newest.back(rank)),
        }
    }

    /// The record of a client's turn, as it will be drawn, for who must know before who has it. Where operations add
    /// records, it is chosen here, of those that are there by now; so ask once.
    pub(super) fn first_name(&self, client: u32, turn: u64) -> Name {
        let mut random = self.stream(client, turn);
        let inserts = self.operation(&mut random) == INSERT;
        let chosen = if inserts { self.newest.begin() } else { self.record(self.ranks.draw(&mut random)) };
        if self.options.mix.inserts() {
            lock(self.ahead.get_or_init(Mutex::default)).insert((client, turn), chosen);
        }
        name_of(if inserts { self.number(chosen) } else { chosen })
    }

    /// What was chosen for a turn, if somebody asked.
    fn chosen(&self, client: u32, turn: u64) -> Option<u64> {
        lock(self.ahead.get()?).remove(&(client, turn))
    }

    /// What a server that counts by name must have counted. Two operations of F read, so that only its writes are
    /// counted.
    pub(super) fn counters(&self, read: &'static str, write: &'static str) -> Vec<ServerCounter> {
        let (writes, reads) = match self.options.mix {
            Mix::F => (READ_MODIFY_WRITE, false),
            mix if mix.inserts() => (INSERT, true),
            _ => (UPDATE, true),
        };
        let read = reads.then(|| ServerCounter::by_name(read, READ));
        read.into_iter().chain([ServerCounter::by_name(write, writes)]).collect()
    }

    pub(super) fn audit(&self, draws: &Draws) -> Vec<AuditLine> {
        let mut lines = Vec::new();
        if let Some(mix) = draws.bins.get(MIX) {
            let count = |operation: OperationId| mix.get(&i32::from(operation.0)).copied().unwrap_or(0);
            let shares = self.options.mix.percent().map(|(id, percent)| (count(id), f64::from(percent) / 100.0));
            lines.push(chi_square(MIX, shares.into_iter()));
        }
        for (name, bins) in [(RANKS, &self.bins), (SCANS, &self.scan_bins)] {
            if draws.bins.contains_key(name) {
                lines.push(bins.audit(name, draws.bins.get(name)));
            }
        }
        if let Some((records, scatter)) = draws.bins.get(RECORDS).zip(self.scatter.as_ref()) {
            lines.push(scatter.audit(RECORDS, records));
        }
        if let Some(fields) = draws.bins.get(FIELDS).filter(|_| self.options.fields > 1) {
            let share = 1.0 / f64::from(self.options.fields);
            let count = |field: u32| fields.get(&(field as i32)).copied().unwrap_or(0);
            lines.push(chi_square(FIELDS, (0..self.options.fields).map(|field| (count(field), share))));
        }
        lines
    }
}

fn lock(ahead: &Mutex<Ahead>) -> MutexGuard<'_, Ahead> {
    ahead.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operation that was drawn, and counts of all.
#[derive(Debug)]
pub(super) struct Drawer {
    pub(super) plan: Arc<Plan>,
    pub(super) operation: OperationId,
    pub(super) name: Name,
    /// Which field is written.
    pub(super) field: usize,
    /// What is written: into the field, or into all fields of a new record.
    pub(super) written: [Field; MAX_FIELDS],
    /// How many records a scan reads at most.
    pub(super) scan: u64,
    /// The place of a record whose insert has not ended.
    inserting: Option<u64>,
    mix: [u64; OPERATIONS.len()],
    ranks: [u64; MAX_BINS],
    records: [u64; MAX_BINS],
    scans: [u64; MAX_BINS],
    fields: [u64; MAX_FIELDS],
}

impl Drawer {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        Self {
            plan,
            operation: READ,
            name: name_of(0),
            field: 0,
            written: [Field::default(); MAX_FIELDS],
            scan: 0,
            inserting: None,
            mix: [0; OPERATIONS.len()],
            ranks: [0; MAX_BINS],
            records: [0; MAX_BINS],
            scans: [0; MAX_BINS],
            fields: [0; MAX_FIELDS],
        }
    }

    pub(super) fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        // Whatever became of it: nobody said that it is there.
        self.settle(false);
        let plan = &self.plan;
        let random = &mut plan.stream(client, turn);
        self.operation = plan.operation(random);
        self.mix[usize::from(self.operation.0)] += 1;
        let chosen = plan.chosen(client, turn);
        let number = if self.operation == INSERT {
            let place = chosen.unwrap_or_else(|| plan.newest.begin());
            self.inserting = Some(place);
            plan.number(place)
        } else {
            let rank = plan.ranks.draw(random);
            self.ranks[plan.bins.bin(rank)] += 1;
            let record = chosen.unwrap_or_else(|| plan.record(rank));
            if let Some(bin) = plan.scatter.as_ref().and_then(|scatter| scatter.bin(rank, record)) {
                self.records[bin] += 1;
            }
            record
        };
        self.name = name_of(number);
        match self.operation {
            INSERT => {
                let fields = plan.options.fields as usize;
                self.written[..fields].iter_mut().for_each(|field| *field = plan.values.draw(random));
            }
            UPDATE | READ_MODIFY_WRITE => {
                self.field = below(random, u64::from(plan.options.fields)) as usize;
                self.fields[self.field] += 1;
                self.written[0] = plan.values.draw(random);
            }
            SCAN => {
                let rank = plan.scans.draw(random);
                self.scans[plan.scan_bins.bin(rank)] += 1;
                self.scan = rank + 1;
            }
            _ => {}
        }
        self.operation
    }

    /// The insert that was drawn has ended, if one was.
    pub(super) fn settle(&mut self, there: bool) {
        if let Some(place) = self.inserting.take() {
            self.plan.newest.end(place, there);
        }
    }

    /// The field that an update writes, and what into it.
    pub(super) fn update(&self) -> (&'static str, &str) {
        let name = field_names(self.plan.options.fields).nth(self.field).expect("a field that was drawn");
        (name, self.plan.values.get(self.written[0]))
    }

    /// What is in the fields of a new record.
    pub(super) fn new_fields(&self) -> impl ExactSizeIterator<Item = &str> {
        let fields = self.plan.options.fields as usize;
        self.written[..fields].iter().map(|&field| self.plan.values.get(field))
    }

    pub(super) fn draws(&self) -> Draws {
        let counted = |counts: &[u64]| -> BTreeMap<i32, u64> {
            counts.iter().zip(0..).filter(|(count, _)| **count > 0).map(|(&count, bin)| (bin, count)).collect()
        };
        let bins = [(MIX, counted(&self.mix)), (RANKS, counted(&self.ranks)), (SCANS, counted(&self.scans))];
        let bins = bins.into_iter().chain([(RECORDS, counted(&self.records)), (FIELDS, counted(&self.fields))]);
        Draws { bins: bins.filter(|(_, bins)| !bins.is_empty()).collect(), ..Draws::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::ycsb::Mix;

    /// What fails of the audit of a generator that says this of itself, and is damaged.
    fn failed(says: Distribution, damage: impl FnOnce(&mut Plan)) -> Vec<String> {
        failed_of(YcsbOptions { distribution: Some(says), ..YcsbOptions::new(1_000, Mix::C) }, damage)
    }

    fn failed_of(options: YcsbOptions, damage: impl FnOnce(&mut Plan)) -> Vec<String> {
        let mut plan = Plan::new(options, 7, ShardSpec::default());
        damage(&mut plan);
        let plan = Arc::new(plan);
        let mut drawer = Drawer::new(Arc::clone(&plan));
        (0..5_000).for_each(|turn| {
            drawer.draw(0, turn);
        });
        let lines = plan.audit(&drawer.draws());
        lines.into_iter().filter(|line| line.passed != Some(true)).map(|line| line.name).collect()
    }

    #[test]
    fn the_audit_fails_a_generator_that_draws_by_another_distribution_than_it_says() {
        use Distribution::{Latest, Uniform, Zipfian};
        for (says, does) in [(Latest, Uniform), (Uniform, Latest), (Zipfian, Latest)] {
            let ranks = |of: Distribution| Ranks::new(of.shape(), of.items(1_000));
            assert_eq!(failed(says, |plan| plan.ranks = ranks(says)), [""; 0], "{says:?}");
            assert!(
                failed(says, |plan| plan.ranks = ranks(does)).contains(&RANKS.to_owned()),
                "{does:?}, not {says:?}"
            );
        }
    }

    #[test]
    fn the_audit_fails_a_generator_whose_scans_are_never_longer_than_90_records() {
        let e = YcsbOptions::new(1_000, Mix::E);
        assert_eq!(failed_of(e, |plan| plan.scans = Ranks::new(Shape::Uniform, 90)), [SCANS]);
    }

    #[test]
    fn the_audit_fails_a_generator_whose_hash_meets_half_of_the_records() {
        assert_eq!(failed(Distribution::Zipfian, |plan| plan.options.rows = 500), [RECORDS]);
    }
}
