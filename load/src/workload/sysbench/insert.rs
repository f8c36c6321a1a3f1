//! `oltp_insert`: one new row an operation, whose id the server gives.

use super::OltpInsertOptions;
use super::data::{C_BYTES, PAD_BYTES, Tables, text, write_groups};
use super::draw::{Counts, Plan};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlSession, Statement, StatementId, Value};
use crate::workload::{
    AuditLine, Completion, Condition, DataError, Draws, Effect, Effects, OperationId, ServerCounter, Step, Times,
    Worker, Workload,
};
use std::sync::Arc;

/// The purpose of the streams that operations are drawn from.
const CLIENT_STREAM: u64 = 0x6F_6C_74_70_01;
const INSERT: OperationId = OperationId(0);

/// The workload.
#[derive(Debug)]
pub struct OltpInsert {
    plan: Arc<Plan>,
    statements: Vec<Statement>,
    dialect: Dialect,
}

impl OltpInsert {
    /// With these options.
    #[must_use]
    pub fn new(options: OltpInsertOptions, seed: u64, dialect: Dialect) -> Self {
        let size = Tables { count: options.tables, rows: options.rows };
        let statement = |table| Statement {
            name: "insert",
            sql: format!("INSERT INTO sbtest{table} (k, c, pad) VALUES ($1, $2, $3)"),
        };
        let plan = Plan::new(size, options.distribution, CLIENT_STREAM, seed);
        Self { plan: Arc::new(plan), statements: (1..=size.count).map(statement).collect(), dialect }
    }
}

impl<S: SqlSession> Workload<S> for OltpInsert {
    fn operations(&self) -> &'static [&'static str] {
        &["insert"]
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<S>> {
        let counts = Counts::new(&self.plan);
        let plan = Arc::clone(&self.plan);
        Box::new(InsertWorker { plan, counts, table: 0, k: 0, c: [0; C_BYTES], pad: [0; PAD_BYTES] })
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        self.plan.audit(draws)
    }

    fn conditions(&self) -> Vec<Condition> {
        self.plan.size.conditions(self.dialect)
    }

    fn server_counters(&self) -> Vec<ServerCounter> {
        vec![ServerCounter {
            name: "rows_added",
            sql: self.plan.size.count_sql(self.dialect),
            operation: INSERT,
            each: 1,
        }]
    }

    fn effects(&self) -> Option<Effects> {
        let insert = Effect { inserted: Times::exactly(1), ..Effect::of_reading(INSERT, Times::NEVER) };
        Some(Effects { tables: self.plan.size.names().collect(), each: vec![insert], missed: None })
    }
}

struct InsertWorker {
    plan: Arc<Plan>,
    counts: Counts,
    table: u32,
    k: i32,
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
}

impl<S: SqlSession> Worker<S> for InsertWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        let Self { plan, counts, c, pad, .. } = self;
        let random = &mut plan.stream(client, turn);
        self.table = counts.table(plan, random);
        self.k = counts.row(plan, random);
        write_groups(random, c);
        write_groups(random, pad);
        INSERT
    }

    fn step(&mut self, reply: Option<&S::Reply>, batch: &mut S::Request) -> Result<Step, DataError> {
        let Some(reply) = reply else {
            let values = [Value::I32(self.k), Value::Text(text(&self.c)), Value::Text(text(&self.pad))];
            batch.execute(StatementId(self.table as u16), &values);
            return Ok(Step::Send);
        };
        match reply.affected(0) {
            1 => Ok(Step::Done(Completion::Committed)),
            rows => Err(DataError(format!("sbtest{} inserted {rows} rows instead of one", self.table + 1))),
        }
    }

    fn draws(&self) -> Draws {
        self.counts.draws()
    }
}
