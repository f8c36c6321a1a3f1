//! What a target is asked to do. A workload knows inputs, statements and rows, but neither rate nor histogram, and does
//! no I/O: a [`Worker`] is a state machine that an engine drives, so that a blocking engine and an event loop run the
//! same code.

mod dataset;
mod effects;
pub mod keys;
pub mod kv;
pub mod null;
pub mod point_select;
mod records;
mod shard;
mod statistic;
mod streams;
pub mod sysbench;
pub mod tpcb;
pub mod tpcc;
mod transaction;
pub mod writes;
pub mod ycsb;

pub use dataset::{Dataset, Key, NULL_TEXT, Piece, Table, tables};
pub use effects::{EFFECTS, Effect, Effects, Times};
pub use records::{Name, OTHER_BINS, Records};
pub use shard::{MAX_SHARDS, ShardSpec};
pub use streams::{Streams, below, exponential};
pub use transaction::Trips;
pub use writes::WriteLog;

use crate::target::{Session, Statement, postgres};
use std::collections::BTreeMap;

/// Index into [`Workload::operations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u8);

/// What an engine must do next for the operation in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send the request that was just filled (one round trip) and call [`Worker::step`] with its reply.
    Send,
    /// The operation is over (nothing was put into the request).
    Done(Completion),
}

/// How an operation ended when no error interrupted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Its effects are in the database (or it only read).
    Committed,
    /// It was rolled back because its inputs say so (TPC-C 2.4.1.4: 1 % of New-Orders).
    RolledBackByDesign,
}

/// The server's rows contradict the workload (a customer that must exist does not): the data set is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataError(pub String);

/// Executes operations on a kind of session, one at a time. The engine decides which client is due; a worker serves
/// any.
pub trait Worker<S: Session = postgres::Connection>: Send {
    /// Draws an operation and all of its inputs, as functions of (seed, client, turn) alone: it does not matter which
    /// executor serves a client, nor what it drew before. A client's turns count from 0.
    fn draw(&mut self, client: u32, turn: u64) -> OperationId;

    /// Advances the drawn operation: fills `request` (empty on entry) with the next round trip, or says it is over.
    /// `reply` is the answer to the request of the step before; `None` starts the operation, and starts it again with
    /// the same inputs after an error.
    ///
    /// # Errors
    /// [`DataError`] when the rows contradict the workload's own data set.
    fn step(&mut self, reply: Option<&S::Reply>, request: &mut S::Request) -> Result<Step, DataError>;

    /// Notes that the attempt in progress met an error and changed nothing: it never left, or its server refused it.
    fn was_refused(&mut self) {}

    /// Whether the drawn operation only queues its work: it is over without a round trip, and
    /// [`Worker::draw_deferred`] takes the work up later.
    fn queues(&self) -> bool {
        false
    }

    /// Draws the work that a client's turn queued, as an operation of its own; what it draws is not counted again.
    fn draw_deferred(&mut self, client: u32, turn: u64) -> OperationId {
        self.draw(client, turn)
    }

    /// Counts of what was drawn here, for the audit; the sum over all executors is the run's.
    fn draws(&self) -> Draws;
}

/// How long clients type before an operation (keying) and think after it.
pub trait Waits: Send {
    /// When a client is due for the first time: at random inside its first cycle, so that clients do not march in step.
    fn phase_ns(&mut self, client: u32) -> u64;

    /// From the end of this turn until the next one is due.
    fn pause_ns(&mut self, client: u32, turn: u64) -> u64;

    /// Counts of what was waited, for the audit.
    fn draws(&self) -> Draws;
}

/// Of deferred work that was queued, how much was done within [`DEFERRED_S`]: the name of a tally that engines keep.
pub const DEFERRED_WITHIN_80_S: &str = "deferred_within_80_s";
/// Of deferred work that was queued, how much was done at all.
pub const DEFERRED_DONE: &str = "deferred_done";
/// How long deferred work may take, queueing included, in seconds (TPC-C 2.7.2.2).
pub const DEFERRED_S: u64 = 80;

/// A generator's draws by name: how often something was so, of how many draws, sums for means, and counts of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draws {
    /// By name.
    pub tallies: BTreeMap<&'static str, Tally>,
    /// How often each value came, by name.
    pub bins: BTreeMap<&'static str, BTreeMap<i32, u64>>,
}

/// One tally.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Sum of what was counted (1 per hit for shares, the value for means).
    pub sum: f64,
    /// Number of draws.
    pub draws: u64,
}

impl Draws {
    /// Adds one draw of `value` (1.0 or 0.0 for a share) under `name`.
    pub fn add(&mut self, name: &'static str, value: f64) {
        let tally = self.tallies.entry(name).or_default();
        tally.sum += value;
        tally.draws += 1;
    }

    /// Adds another worker's tallies.
    pub fn merge(&mut self, other: &Self) {
        for (name, theirs) in &other.tallies {
            let tally = self.tallies.entry(name).or_default();
            tally.sum += theirs.sum;
            tally.draws += theirs.draws;
        }
        for (name, theirs) in &other.bins {
            let bins = self.bins.entry(name).or_default();
            for (&value, &count) in theirs {
                *bins.entry(value).or_default() += count;
            }
        }
    }
}

/// One line of an audit: a quantity drawn, and the range it must lie in.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditLine {
    /// What was drawn (`rollback_share`).
    pub name: String,
    /// Its mean or share.
    pub observed: f64,
    /// Lowest allowed value.
    pub low: f64,
    /// Highest allowed value.
    pub high: f64,
    /// Number of draws behind it.
    pub draws: u64,
    /// `None` when there are too few draws to judge.
    pub passed: Option<bool>,
}

/// A consistency condition: a query whose rows are violations.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Number in the workload's specification (TPC-C 3.3.2.x).
    pub number: u8,
    /// What must hold, in words.
    pub text: &'static str,
    /// NULL-safe; returns one row (violations int8, example text or NULL).
    pub sql: String,
    /// True when it holds only right after loading.
    pub only_after_load: bool,
}

/// A counter kept by the server that must change by exactly what the client counted.
#[derive(Debug, Clone)]
pub struct ServerCounter {
    /// Name (`sum_d_next_o_id`).
    pub name: &'static str,
    /// Query returning one int8.
    pub sql: String,
    /// The client's count: committed completions of this operation …
    pub operation: OperationId,
    /// … each of which adds this many.
    pub each: u32,
}

impl ServerCounter {
    /// Of a server that counts by name and knows no SQL: one more for each of an operation.
    #[must_use]
    pub fn by_name(name: &'static str, operation: OperationId) -> Self {
        Self { name, sql: name.to_owned(), operation, each: 1 }
    }
}

/// A workload on a kind of target. Statements, conditions and counters are those of targets that speak SQL; others have
/// none.
pub trait Workload<S: Session = postgres::Connection>: Send + Sync {
    /// Names of the operations, by [`OperationId`].
    fn operations(&self) -> &'static [&'static str];
    /// What the database needs beside the data set, in order: sent once before the first operation, by every generator
    /// that takes part (TPC-C's functions).
    fn prepare(&self) -> Vec<String> {
        Vec::new()
    }
    /// Everything it can send while running, by `StatementId`.
    fn statements(&self) -> &[Statement] {
        &[]
    }
    /// SQLSTATEs that ask for another attempt with the same inputs, beside those that say so themselves (40001, 40P01).
    fn retried(&self) -> &'static [&'static str] {
        &[]
    }
    /// SQLSTATEs by which a statement of this workload says that a row is missing, where the statement undoes what it
    /// did before an answer could be looked at. It is a [`DataError`].
    fn missing_rows(&self) -> &'static [&'static str] {
        &[]
    }
    /// An executor in a run of this many clients.
    fn worker(&self, clients: u32) -> Box<dyn Worker<S>>;
    /// Keying and think times, in a run of this many clients; `None` when a client is due as soon as it can be.
    fn waits(&self, _clients: u32) -> Option<Box<dyn Waits>> {
        None
    }
    /// Which of `parts` equal parts of the data set this turn of a client is at home in: the host that serves it.
    fn part(&self, _clients: u32, client: u32, _turn: u64, parts: usize) -> usize {
        client as usize % parts
    }
    /// Judges the merged draws of a run of this many clients.
    fn audit(&self, clients: u32, draws: &Draws) -> Vec<AuditLine>;
    /// Conditions that must hold on the data set; empty when the workload has none.
    fn conditions(&self) -> Vec<Condition> {
        Vec::new()
    }
    /// Server-side counters to compare with the client's.
    fn server_counters(&self) -> Vec<ServerCounter> {
        Vec::new()
    }
    /// Where acknowledged writes are noted, if they are.
    fn writes(&self) -> Option<&WriteLog> {
        None
    }
    /// What operations do to the tables, to be compared with the statistics of a server that keeps some.
    fn effects(&self) -> Option<Effects> {
        None
    }
    /// Constants in force, for the record (`c_load` and `c_run` of TPC-C's NURand).
    fn constants(&self) -> BTreeMap<&'static str, i64> {
        BTreeMap::new()
    }
}
