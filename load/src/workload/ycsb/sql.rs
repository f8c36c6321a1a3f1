//! On targets that speak SQL.

use super::data::{conditions, field_names};
use super::plan::{Drawer, Plan};
use super::worker::{Verbs, YcsbWorker};
use super::{INSERT, OPERATIONS, READ, READ_MODIFY_WRITE, SCAN, UPDATE, YcsbOptions};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, SqlSession, Statement, StatementId, Value};
use crate::words::counted;
use crate::workload::ShardSpec;
use crate::workload::{
    AuditLine, Condition, Draws, Effect, Effects, OperationId, ServerCounter, Times, Worker, Workload,
};
use std::sync::Arc;

const READ_RECORD: StatementId = StatementId(0);
const SCAN_RECORDS: StatementId = StatementId(1);
const INSERT_RECORD: StatementId = StatementId(2);
/// The first of those that write a field.
const UPDATE_FIELD: u16 = 3;

/// The workload.
#[derive(Debug)]
pub struct Ycsb {
    plan: Arc<Plan>,
    statements: Vec<Statement>,
    dialect: Dialect,
}

impl Ycsb {
    /// With these options; `shard` is the part of this process in the run.
    #[must_use]
    pub fn new(options: YcsbOptions, seed: u64, shard: ShardSpec, dialect: Dialect) -> Self {
        Self { plan: Arc::new(Plan::new(options, seed, shard)), statements: statements(options.fields), dialect }
    }
}

fn statements(fields: u32) -> Vec<Statement> {
    let names: Vec<&str> = field_names(fields).collect();
    let values: Vec<String> = (1..=fields + 1).map(|value| format!("${value}")).collect();
    let insert = format!("INSERT INTO usertable (ycsb_key, {}) VALUES ({})", names.join(", "), values.join(", "));
    let scan = "SELECT * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2".to_owned();
    let all = [("read", "SELECT * FROM usertable WHERE ycsb_key = $1".to_owned()), ("scan", scan), ("insert", insert)];
    let update = |name: &&str| ("update", format!("UPDATE usertable SET {name} = $1 WHERE ycsb_key = $2"));
    let all = all.into_iter().chain(names.iter().map(update));
    all.map(|(name, sql)| Statement { name, sql }).collect()
}

impl<S: SqlSession> Workload<S> for Ycsb {
    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<S>> {
        Box::new(YcsbWorker::new(&self.plan))
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    fn conditions(&self) -> Vec<Condition> {
        conditions(&self.plan.options, self.dialect)
    }

    fn server_counters(&self) -> Vec<ServerCounter> {
        let sql = "SELECT count(*) FROM usertable".to_owned();
        vec![ServerCounter { name: "records_added", sql, operation: INSERT, each: 1 }]
    }

    /// To plan a range, the server may look up its ends.
    fn effects(&self) -> Option<Effects> {
        let [once, twice] = [1, 2].map(Times::exactly);
        let each = vec![
            Effect::of_reading(READ, once),
            Effect::of_reading(SCAN, Times::at_least(1)),
            Effect { inserted: once, ..Effect::of_reading(INSERT, Times::NEVER) },
            Effect { updated: once, ..Effect::of_reading(UPDATE, once) },
            Effect { updated: once, ..Effect::of_reading(READ_MODIFY_WRITE, twice) },
        ];
        Some(Effects::of("usertable", each))
    }
}

impl<S: SqlSession> Verbs for S {
    fn ask(drawer: &Drawer, verb: OperationId, batch: &mut S::Request) {
        let key = Value::Text(drawer.name.text());
        match verb {
            INSERT => {
                let fields = drawer.new_fields().map(Value::Text);
                batch.execute_each(INSERT_RECORD, std::iter::once(key).chain(fields));
            }
            SCAN => batch.execute(SCAN_RECORDS, &[key, Value::I64(drawer.scan as i64)]),
            UPDATE => {
                let (_, value) = drawer.update();
                batch.execute(StatementId(UPDATE_FIELD + drawer.field as u16), &[Value::Text(value), key]);
            }
            _ => batch.execute(READ_RECORD, &[key]),
        }
    }

    fn judge(drawer: &Drawer, verb: OperationId, reply: &S::Reply) -> Result<(), String> {
        let rows = reply.row_count(0) as u64;
        let first = reply.row(0, 0).filter(|row| row.text(0) == Some(drawer.name.text()));
        let right = match verb {
            UPDATE | INSERT => reply.affected(0) == 1,
            // From the record that was asked for on, no more than wanted.
            SCAN => first.is_some() && rows <= drawer.scan,
            // The record that was asked for, whole.
            _ => rows == 1 && first.is_some_and(|row| row.text(drawer.plan.options.fields as usize).is_some()),
        };
        if right { Ok(()) } else { Err(counted(reply.affected(0), "record")) }
    }
}
