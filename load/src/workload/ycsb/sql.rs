//! On targets that speak SQL.

use super::data::{conditions, field_names};
use super::plan::{Drawer, Plan};
use super::{INSERT, OPERATIONS, READ, READ_MODIFY_WRITE, SCAN, UPDATE, YcsbOptions};
use crate::spec::ShardSpec;
use crate::target::postgres::{Batch, Reply};
use crate::target::{Statement, StatementId, Value};
use crate::workload::{
    AuditLine, Completion, Condition, DataError, Draws, Effect, Effects, OperationId, ServerCounter, Step, Times,
    Worker, Workload,
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
}

impl Ycsb {
    /// With these options; `shard` is the part of this process in the run.
    #[must_use]
    pub fn new(options: YcsbOptions, seed: u64, shard: ShardSpec) -> Self {
        Self { plan: Arc::new(Plan::new(options, seed, shard)), statements: statements(options.fields) }
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

impl Workload for Ycsb {
    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn worker(&self, _: u32) -> Box<dyn Worker> {
        Box::new(YcsbWorker { drawer: Drawer::new(Arc::clone(&self.plan)), has_read: false })
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    fn conditions(&self) -> Vec<Condition> {
        conditions(&self.plan.options)
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

struct YcsbWorker {
    drawer: Drawer,
    /// Whether a read-modify-write has read.
    has_read: bool,
}

impl Worker for YcsbWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        self.drawer.draw(client, turn)
    }

    fn step(&mut self, reply: Option<&Reply>, batch: &mut Batch) -> Result<Step, DataError> {
        let Some(reply) = reply else {
            self.has_read = false;
            self.begin(batch);
            return Ok(Step::Send);
        };
        match self.drawer.operation {
            READ => self.check_record(reply)?,
            UPDATE | INSERT => self.check_changed(reply)?,
            SCAN => self.check_scan(reply)?,
            _ if self.has_read => self.check_changed(reply)?,
            _ => {
                self.check_record(reply)?;
                self.has_read = true;
                self.update(batch);
                return Ok(Step::Send);
            }
        }
        self.drawer.settle(true);
        Ok(Step::Done(Completion::Committed))
    }

    fn draws(&self) -> Draws {
        self.drawer.draws()
    }
}

impl YcsbWorker {
    fn begin(&self, batch: &mut Batch) {
        let key = Value::Text(self.drawer.name.text());
        match self.drawer.operation {
            INSERT => {
                let fields = self.drawer.new_fields().map(Value::Text);
                batch.execute_each(INSERT_RECORD, std::iter::once(key).chain(fields));
            }
            SCAN => batch.execute(SCAN_RECORDS, &[key, Value::I64(self.drawer.scan as i64)]),
            UPDATE => self.update(batch),
            _ => batch.execute(READ_RECORD, &[key]),
        }
    }

    fn update(&self, batch: &mut Batch) {
        let values = [Value::Text(self.drawer.update()), Value::Text(self.drawer.name.text())];
        batch.execute(StatementId(UPDATE_FIELD + self.drawer.field as u16), &values);
    }

    /// The record that was asked for, whole.
    fn check_record(&self, reply: &Reply) -> Result<(), DataError> {
        let last = self.drawer.plan.options.fields as usize;
        let whole =
            reply.row(0, 0).is_some_and(|row| row.text(0) == Some(self.drawer.name.text()) && row.text(last).is_some());
        if whole && reply.row_count(0) == 1 { Ok(()) } else { Err(self.wrong(reply)) }
    }

    fn check_changed(&self, reply: &Reply) -> Result<(), DataError> {
        if reply.affected(0) == 1 { Ok(()) } else { Err(self.wrong(reply)) }
    }

    /// From the record that was asked for on, no more than wanted.
    fn check_scan(&self, reply: &Reply) -> Result<(), DataError> {
        let rows = reply.row_count(0) as u64;
        let first = reply.row(0, 0).and_then(|row| row.text(0));
        let right = rows <= self.drawer.scan && first == Some(self.drawer.name.text());
        if right { Ok(()) } else { Err(self.wrong(reply)) }
    }

    fn wrong(&self, reply: &Reply) -> DataError {
        let (operation, name) = (OPERATIONS[usize::from(self.drawer.operation.0)], self.drawer.name.text());
        DataError(format!("usertable: {operation} of {name} met {} records", reply.affected(0)))
    }
}
