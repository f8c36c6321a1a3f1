//! The transaction: pgbench's five statements, in its order.

use super::plan::{CLIENT_STREAM, Counts, DEPOSIT, MAX_DELTA, Plan};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, SqlSession, Statement, StatementId, Value};
use crate::workload::keys::MAX_BINS;
use crate::workload::transaction::{Script, Sender, Trips};
use crate::workload::{DataError, Draws, OperationId, Step, Tally, Worker, below};
use std::sync::Arc;

const STATEMENTS: [(&str, &str); 5] = [
    ("update_account", "UPDATE pgbench_accounts SET abalance = abalance + $1::int4 WHERE aid = $2"),
    ("select_account", "SELECT abalance FROM pgbench_accounts WHERE aid = $1"),
    ("update_teller", "UPDATE pgbench_tellers SET tbalance = tbalance + $1::int4 WHERE tid = $2"),
    ("update_branch", "UPDATE pgbench_branches SET bbalance = bbalance + $1::int4 WHERE bid = $2"),
    (
        "insert_history",
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
    ),
];
const SELECT: usize = 1;
/// Division by zero.
pub(super) const NONE_FOUND: &str = "22012";

/// Where COMMIT travels with them, an update that finds no row fails: nobody looks at its answer before.
pub(super) fn statements(trips: Trips, dialect: Dialect) -> Vec<Statement> {
    let text = |sql: &str| match trips {
        Trips::Pipelined if sql.starts_with("UPDATE") => {
            format!("WITH found AS ({sql} RETURNING 1) SELECT 1 / count(*) FROM found")
        }
        // It knows the type of a parameter without help.
        _ if dialect == Dialect::Mysql => sql.replace("::int4", ""),
        _ => sql.to_owned(),
    };
    STATEMENTS.map(|(name, sql)| Statement { name, sql: text(sql) }).into()
}

pub(super) struct TpcbWorker {
    plan: Arc<Plan>,
    counts: Counts,
    deposit: Deposit,
    sender: Sender,
}

impl TpcbWorker {
    pub(super) fn new(plan: Arc<Plan>, trips: Trips) -> Self {
        let counts = Counts { ranks: [[0; MAX_BINS]; 3], delta: Tally::default() };
        Self { plan, counts, deposit: Deposit::default(), sender: Sender::new(trips) }
    }
}

impl<S: SqlSession> Worker<S> for TpcbWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        let Self { plan, counts, .. } = self;
        // Streams repeat after 2^32 turns of a client.
        let random = &mut plan.streams.stream(CLIENT_STREAM, u64::from(client) << 32 | u64::from(turn as u32));
        let mut drawn = [0; 3];
        for (which, number) in drawn.iter_mut().enumerate() {
            let rank = plan.ranks[which].draw(random);
            counts.ranks[which][plan.bins[which].bin(rank)] += 1;
            *number = rank as i32 + 1;
        }
        let [aid, tid, bid] = drawn;
        let delta = below(random, 2 * MAX_DELTA as u32 + 1) as i32 - MAX_DELTA;
        counts.delta.sum += f64::from(delta);
        counts.delta.draws += 1;
        self.deposit = Deposit { aid, tid, bid, delta };
        DEPOSIT
    }

    fn step(&mut self, reply: Option<&S::Reply>, batch: &mut S::Request) -> Result<Step, DataError> {
        self.sender.step(&self.deposit, reply, batch)
    }

    fn draws(&self) -> Draws {
        self.counts.draws()
    }
}

/// The transaction that was drawn.
#[derive(Debug, Clone, Copy, Default)]
struct Deposit {
    aid: i32,
    tid: i32,
    bid: i32,
    delta: i32,
}

impl Script for Deposit {
    fn statements(&self) -> usize {
        STATEMENTS.len()
    }

    fn send(&self, statement: usize, batch: &mut impl SqlBatch) {
        let [aid, tid, bid, delta] = [self.aid, self.tid, self.bid, self.delta].map(Value::I32);
        let prepared = StatementId(statement as u16);
        match statement {
            0 => batch.execute(prepared, &[delta, aid]),
            SELECT => batch.execute(prepared, &[aid]),
            2 => batch.execute(prepared, &[delta, tid]),
            3 => batch.execute(prepared, &[delta, bid]),
            _ => batch.execute(prepared, &[tid, bid, aid, delta]),
        }
    }

    fn check(&self, statement: usize, reply: &impl SqlReply, execute: usize) -> Result<(), DataError> {
        let right = match statement {
            SELECT => reply.row(execute, 0).is_some_and(|row| row.i32(0).is_some()) && reply.row_count(execute) == 1,
            _ => reply.affected(execute) == 1,
        };
        let (name, _) = STATEMENTS[statement];
        let wrong = || DataError(format!("{name} found {} rows instead of one: {self:?}", reply.affected(execute)));
        right.then_some(()).ok_or_else(wrong)
    }
}
