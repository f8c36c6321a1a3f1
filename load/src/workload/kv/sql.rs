//! On targets that speak SQL.

use super::operations::{OPERATIONS, READ, WRITE};
use super::options::{KvOptions, Writes};
use super::plan::{Drawer, Plan};
use super::worker::{KvWorker, Verbs};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, SqlSession, Statement, StatementId, Value};
use crate::workload::{
    AuditLine, Condition, DataError, Draws, Effect, Effects, ServerCounter, Times, Worker, Workload, WriteLog,
};
use std::sync::Arc;

/// The workload.
#[derive(Debug)]
pub struct Kv {
    plan: Arc<Plan>,
    statements: [Statement; 2],
    dialect: Dialect,
}

impl Kv {
    /// With these options, on a server of this dialect.
    #[must_use]
    pub fn new(options: KvOptions, seed: u64, dialect: Dialect) -> Self {
        let statements = [
            Statement { name: "read", sql: read_sql(options.batch) },
            Statement { name: "write", sql: write_sql(options.batch, dialect) },
        ];
        Self { plan: Arc::new(Plan::new(options, seed)), statements, dialect }
    }
}

/// As CockroachDB's workload has it: one list, whatever the batch.
fn read_sql(batch: u32) -> String {
    let keys: Vec<String> = (1..=batch).map(|key| format!("${key}")).collect();
    format!("SELECT k, v FROM kv WHERE k IN ({})", keys.join(", "))
}

/// UPSERT writes blindly, where there is one; elsewhere the row that is there is found first.
fn write_sql(batch: u32, dialect: Dialect) -> String {
    let rows: Vec<String> = (1..=batch).map(|row| format!("(${}, ${})", 2 * row - 1, 2 * row)).collect();
    let rows = rows.join(", ");
    match dialect {
        Dialect::Cockroachdb => format!("UPSERT INTO kv (k, v) VALUES {rows}"),
        Dialect::Postgres | Dialect::Yugabytedb => {
            format!("INSERT INTO kv (k, v) VALUES {rows} ON CONFLICT (k) DO UPDATE SET v = excluded.v")
        }
        Dialect::Mysql => format!("INSERT INTO kv (k, v) VALUES {rows} ON DUPLICATE KEY UPDATE v = VALUES(v)"),
    }
}

impl<S: SqlSession> Workload<S> for Kv {
    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn worker(&self, clients: u32) -> Box<dyn Worker<S>> {
        Box::new(KvWorker::new(&self.plan, clients))
    }

    fn writes(&self) -> Option<&WriteLog> {
        self.plan.log.as_deref()
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    fn conditions(&self) -> Vec<Condition> {
        let rows = self.plan.options.rows;
        let condition = |number, text, sql: String, only_after_load| Condition { number, text, sql, only_after_load };
        let counted = format!("{} || ' rows, {rows} were loaded' FROM kv", self.dialect.text("count(*)"));
        let least = |difference: &str| self.dialect.integer(&format!("greatest({difference}, 0)"));
        vec![
            condition(
                1,
                "kv has at least the rows that were loaded",
                format!("SELECT {}, {counted}", least(&format!("{rows} - count(*)"))),
                false,
            ),
            condition(
                2,
                "kv has no other rows right after loading",
                format!("SELECT {}, {counted}", least(&format!("count(*) - {rows}"))),
                true,
            ),
        ]
    }

    fn server_counters(&self) -> Vec<ServerCounter> {
        let adds = self.plan.options.writes == Writes::New;
        vec![ServerCounter {
            name: "rows_added",
            sql: "SELECT count(*) FROM kv".to_owned(),
            operation: WRITE,
            each: if adds { self.plan.options.batch } else { 0 },
        }]
    }

    /// A list of keys is one scan or one for each key, by the server's version. A write looks for its row first, and
    /// again when it had to wait for another one; a row that it overlooks then is inserted, and taken back. MySQL tries to
    /// insert first, and counts that.
    fn effects(&self) -> Option<Effects> {
        let batch = self.plan.options.batch;
        let all = Times::exactly(batch);
        let write = match self.plan.options.writes {
            Writes::New if self.dialect == Dialect::Mysql => {
                Effect { inserted: all, ..Effect::of_reading(WRITE, Times::NEVER) }
            }
            Writes::New => Effect { inserted: all, ..Effect::of_reading(WRITE, all) },
            Writes::Existing => {
                let overlooked = Times::between(0, batch);
                let write = Effect::of_reading(WRITE, Times::at_least(batch));
                Effect { inserted: overlooked, updated: all, deleted: overlooked, ..write }
            }
        };
        Some(Effects::of("kv", vec![Effect::of_reading(READ, Times::between(1, batch)), write]))
    }
}

impl<S: SqlSession> Verbs for S {
    fn ask(drawer: &Drawer, batch: &mut S::Request) {
        if drawer.reads() {
            batch.execute_each(StatementId(0), drawer.keys().iter().map(|&key| Value::I64(key)));
        } else {
            let row = |(key, value)| [Value::I64(key), Value::Bytes(value)];
            batch.execute_each(StatementId(1), drawer.rows().flat_map(row));
        }
    }

    /// Every row that was asked for must be there, with a value.
    fn judge(drawer: &Drawer, reply: &S::Reply) -> Result<(), DataError> {
        let keys = drawer.keys();
        if !drawer.reads() {
            return Ok(());
        }
        let rows = (0..reply.row_count(0)).filter_map(|row| reply.row(0, row));
        let found = rows.filter(|row| {
            let key = row.i64(0).is_some_and(|key| keys.binary_search(&key).is_ok());
            key && row.bytes(1).is_some()
        });
        match found.count() {
            count if count == keys.len() => Ok(()),
            count => {
                let message = format!("kv has {count} of the {} rows starting with key {}", keys.len(), keys[0]);
                Err(DataError(message))
            }
        }
    }
}
