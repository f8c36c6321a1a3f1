//! `oltp_read_write`: 18 statements between BEGIN and COMMIT, 14 that read and 4 that write; `oltp_read_only`: the 14.

use super::OltpTransactionOptions;
use super::data::{C_BYTES, PAD_BYTES, Tables, text, write_groups};
use super::draw::{Counts, Plan};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, SqlSession, Statement, StatementId, Value};
use crate::words::counted;
use crate::workload::transaction::{Script, Sender, Trips};
use crate::workload::{
    AuditLine, Condition, DataError, Draws, Effect, Effects, OperationId, ServerCounter, Step, Tally, Times, Worker,
    Workload,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// The purpose of the streams that operations are drawn from.
const CLIENT_STREAMS: [u64; 2] = [0x6F_6C_74_70_02, 0x6F_6C_74_70_03];
const TRANSACTION: OperationId = OperationId(0);
/// Rows of a range.
const RANGE_ROWS: u32 = 100;
const POINTS: usize = 10;
/// unique_violation, and MySQL's integrity_constraint_violation: no other constraint can be broken.
const DUPLICATES: [&str; 2] = ["23505", "23000"];

/// The statements, each for every table; `@` stands for the table.
const STATEMENTS: [(&str, &str); 9] = [
    ("point_select", "SELECT c FROM @ WHERE id = $1"),
    ("simple_range", "SELECT c FROM @ WHERE id BETWEEN $1 AND $2"),
    ("sum_range", "SELECT sum(k) FROM @ WHERE id BETWEEN $1 AND $2"),
    ("order_range", "SELECT c FROM @ WHERE id BETWEEN $1 AND $2 ORDER BY c"),
    ("distinct_range", "SELECT DISTINCT c FROM @ WHERE id BETWEEN $1 AND $2 ORDER BY c"),
    ("index_update", "UPDATE @ SET k = k + 1 WHERE id = $1"),
    ("non_index_update", "UPDATE @ SET c = $1 WHERE id = $2"),
    ("delete", "DELETE FROM @ WHERE id = $1"),
    ("insert", "INSERT INTO @ (id, k, c, pad) VALUES ($1, $2, $3, $4)"),
];
const POINT: usize = 0;
const SIMPLE_RANGE: usize = 1;
const SUM_RANGE: usize = 2;
const DISTINCT_RANGE: usize = 4;
const INDEX_UPDATE: usize = 5;
const UPDATE: usize = 6;
const DELETE: usize = 7;
const INSERT: usize = 8;
const RANGES: usize = 4;
const READS: usize = POINTS + RANGES;
const WRITES: usize = 4;
/// The tally of statements that found their row gone.
const MISSED: &str = "rows_missed";

/// The workloads.
#[derive(Debug)]
pub struct OltpTransactions {
    /// `oltp_read_write`, and not `oltp_read_only`.
    writes: bool,
    plan: Arc<Plan>,
    trips: Trips,
    statements: Vec<Statement>,
    dialect: Dialect,
}

impl OltpTransactions {
    /// `oltp_read_write` with these options.
    #[must_use]
    pub fn read_write(options: OltpTransactionOptions, seed: u64, dialect: Dialect) -> Self {
        Self::new(true, options, seed, dialect)
    }

    /// `oltp_read_only` with these options.
    #[must_use]
    pub fn read_only(options: OltpTransactionOptions, seed: u64, dialect: Dialect) -> Self {
        Self::new(false, options, seed, dialect)
    }

    fn new(writes: bool, options: OltpTransactionOptions, seed: u64, dialect: Dialect) -> Self {
        let size = Tables { count: options.tables, rows: options.rows };
        let sent = &STATEMENTS[..if writes { STATEMENTS.len() } else { INDEX_UPDATE }];
        let of_tables = |&(name, sql): &(&'static str, &str)| {
            let of = |table| Statement { name, sql: sql.replace('@', &format!("sbtest{table}")) };
            (1..=size.count).map(of).collect::<Vec<_>>()
        };
        let statements = sent.iter().flat_map(of_tables).collect();
        let [of_both, of_reads] = CLIENT_STREAMS;
        let plan = Plan::new(size, options.distribution, if writes { of_both } else { of_reads }, seed);
        Self { writes, plan: Arc::new(plan), trips: options.profile, statements, dialect }
    }
}

impl<S: SqlSession> Workload<S> for OltpTransactions {
    fn operations(&self) -> &'static [&'static str] {
        if self.writes { &["read_write"] } else { &["read_only"] }
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<S>> {
        let counts = Counts::new(&self.plan);
        let hand = Hand::new(self.plan.size, self.writes);
        let sender = Sender::new(self.trips);
        Box::new(ReadWriteWorker { plan: Arc::clone(&self.plan), counts, hand, sender, missed: 0 })
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    /// A DELETE that waited for another transaction which deleted and inserted the same row finds nothing; then the
    /// INSERT finds the row. sysbench begins such a transaction again, too.
    fn retried(&self) -> &'static [&'static str] {
        &DUPLICATES
    }

    fn conditions(&self) -> Vec<Condition> {
        self.plan.size.conditions(self.dialect)
    }

    /// What a transaction deletes, it inserts.
    fn server_counters(&self) -> Vec<ServerCounter> {
        vec![ServerCounter {
            name: "rows_added",
            sql: self.plan.size.count_sql(self.dialect),
            operation: TRANSACTION,
            each: 0,
        }]
    }

    /// To plan a range, the server may look up its ends.
    fn effects(&self) -> Option<Effects> {
        let [once, twice] = [1, 2].map(Times::exactly);
        let each = if self.writes {
            let scans = Times::at_least(READS as u32 + 3);
            Effect { inserted: once, updated: twice, deleted: once, ..Effect::of_reading(TRANSACTION, scans) }
        } else {
            Effect::of_reading(TRANSACTION, Times::at_least(READS as u32))
        };
        let tables = self.plan.size.names().collect();
        Some(Effects { tables, each: vec![each], missed: Some(MISSED) })
    }
}

struct ReadWriteWorker {
    plan: Arc<Plan>,
    counts: Counts,
    hand: Hand,
    sender: Sender,
    missed: u64,
}

impl<S: SqlSession> Worker<S> for ReadWriteWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.hand.draw(&self.plan, &mut self.counts, &mut self.plan.stream(client, turn));
        TRANSACTION
    }

    fn step(&mut self, reply: Option<&S::Reply>, batch: &mut S::Request) -> Result<Step, DataError> {
        if let Some(reply) = reply {
            let answered = self.sender.answered_by_next(&self.hand);
            let missed = |statement: &usize| self.hand.misses(*statement, reply, statement - answered.start);
            self.missed += answered.clone().filter(missed).count() as u64;
        }
        self.sender.step(&self.hand, reply, batch)
    }

    fn draws(&self) -> Draws {
        let mut draws = self.counts.draws();
        if self.missed > 0 {
            draws.tallies.insert(MISSED, Tally { sum: self.missed as f64, draws: self.missed });
        }
        draws
    }
}

/// A row of a table (counted from 0).
#[derive(Debug, Clone, Copy, Default)]
struct RowAddress {
    table: u32,
    id: i32,
}

/// The transaction that was drawn.
struct Hand {
    size: Tables,
    writes: bool,
    /// All of one table.
    points: [RowAddress; POINTS],
    /// Each begins here.
    ranges: [RowAddress; RANGES],
    index_update: RowAddress,
    update: RowAddress,
    updated_c: [u8; C_BYTES],
    /// Deleted, and inserted again.
    replaced: RowAddress,
    k: i32,
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
}

impl Hand {
    fn new(size: Tables, writes: bool) -> Self {
        let nowhere = RowAddress::default();
        Self {
            size,
            writes,
            points: [nowhere; POINTS],
            ranges: [nowhere; RANGES],
            index_update: nowhere,
            update: nowhere,
            updated_c: [0; C_BYTES],
            replaced: nowhere,
            k: 0,
            c: [0; C_BYTES],
            pad: [0; PAD_BYTES],
        }
    }

    fn draw(&mut self, plan: &Plan, counts: &mut Counts, random: &mut Xoshiro256PlusPlus) {
        let table = counts.table(plan, random);
        for point in &mut self.points {
            *point = RowAddress { table, id: counts.row(plan, random) };
        }
        let mut place = || RowAddress { table: counts.table(plan, random), id: counts.row(plan, random) };
        for range in &mut self.ranges {
            *range = place();
        }
        if !self.writes {
            return;
        }
        self.index_update = place();
        self.update = place();
        self.replaced = place();
        self.k = counts.row(plan, random);
        write_groups(random, &mut self.updated_c);
        write_groups(random, &mut self.c);
        write_groups(random, &mut self.pad);
    }

    /// Which of [`STATEMENTS`] has this place in the transaction, and which row it is about.
    fn at(&self, statement: usize) -> (usize, RowAddress) {
        match statement {
            point @ 0..POINTS => (POINT, self.points[point]),
            range @ POINTS..READS => (SIMPLE_RANGE + range - POINTS, self.ranges[range - POINTS]),
            READS => (INDEX_UPDATE, self.index_update),
            other if other == READS + 1 => (UPDATE, self.update),
            other if other == READS + 2 => (DELETE, self.replaced),
            _ => (INSERT, self.replaced),
        }
    }

    /// Whether a statement found its row gone.
    fn misses(&self, statement: usize, reply: &impl SqlReply, execute: usize) -> bool {
        matches!(self.at(statement).0, INDEX_UPDATE | UPDATE | DELETE) && reply.affected(execute) == 0
    }

    /// How many rows a range that begins at this id must have: it may reach beyond the rows that were loaded.
    fn least_rows(&self, id: i32) -> usize {
        RANGE_ROWS.min(self.size.rows - id as u32 + 1) as usize
    }
}

impl Script for Hand {
    fn statements(&self) -> usize {
        if self.writes { READS + WRITES } else { READS }
    }

    fn send(&self, statement: usize, batch: &mut impl SqlBatch) {
        let (kind, RowAddress { table, id }) = self.at(statement);
        let prepared = StatementId((kind as u32 * self.size.count + table) as u16);
        match kind {
            POINT | INDEX_UPDATE | DELETE => batch.execute(prepared, &[Value::I32(id)]),
            UPDATE => batch.execute(prepared, &[Value::Text(text(&self.updated_c)), Value::I32(id)]),
            INSERT => {
                let (c, pad) = (Value::Text(text(&self.c)), Value::Text(text(&self.pad)));
                batch.execute(prepared, &[Value::I32(id), Value::I32(self.k), c, pad]);
            }
            _ => {
                let last = id.saturating_add(RANGE_ROWS as i32 - 1);
                batch.execute(prepared, &[Value::I32(id), Value::I32(last)]);
            }
        }
    }

    fn check(&self, statement: usize, reply: &impl SqlReply, execute: usize) -> Result<(), DataError> {
        let (kind, RowAddress { table, id }) = self.at(statement);
        let (rows, affected) = (reply.row_count(execute), reply.affected(execute));
        let right = match kind {
            POINT => rows == 1 && reply.row(execute, 0).is_some_and(|row| row.text(0).is_some()),
            SUM_RANGE => {
                let sum = reply.row(execute, 0).and_then(|row| row.i64(0).or_else(|| row.numeric(0, 0)));
                rows == 1 && sum.is_some()
            }
            // Two rows may have one text, when two runs of one seed drew them for different rows.
            DISTINCT_RANGE => (1..=RANGE_ROWS as usize).contains(&rows),
            INSERT => affected == 1,
            // None, where another transaction has just deleted the row and inserted it again.
            INDEX_UPDATE | UPDATE | DELETE => affected <= 1,
            _ => (self.least_rows(id)..=RANGE_ROWS as usize).contains(&rows),
        };
        let (name, _) = STATEMENTS[kind];
        let table = table + 1;
        let wrong = || {
            let found = counted(rows as u64, "row");
            DataError(format!("sbtest{table}: {name} with id {id} found {found} and changed {affected}"))
        };
        right.then_some(()).ok_or_else(wrong)
    }
}
