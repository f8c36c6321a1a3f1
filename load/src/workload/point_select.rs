//! One row by its primary key, uniform over the table: sysbench's `oltp_point_select` on its table `sbtest1`.
//!
//! The smallest useful operation: it measures the path to the server, the protocol and the cache.

use super::keys::{Bins, MAX_BINS, Ranks, Shape};
use super::{
    AuditLine, Completion, Condition, DataError, Draws, Effect, Effects, OperationId, Step, Streams, Tally, Times,
    Worker, Workload, statistic,
};
use crate::target::{Dialect, SqlBatch, SqlReply, SqlRow, SqlSession, Statement, StatementId, Value};
use crate::words::counted;
use std::collections::BTreeMap;

const POINT_SELECT: OperationId = OperationId(0);
const SELECT: StatementId = StatementId(0);

/// The purpose of the streams that operations are drawn from.
const CLIENT_STREAM: u64 = 0x70_6F_69_6E_74_01;

const MEAN_ID: &str = "mean_id";
const RANKS: &str = "row_ranks";

/// The workload.
#[derive(Debug)]
pub struct PointSelect {
    rows: u32,
    streams: Streams,
    ranks: Ranks,
    bins: Bins,
    statements: [Statement; 1],
    dialect: Dialect,
}

impl PointSelect {
    /// On a table of `rows` rows: 1 to 2^31 - 1, the ids of an int4 (so that none changes its sign below).
    #[must_use]
    pub fn new(rows: u32, seed: u64, dialect: Dialect) -> Self {
        let sql = "SELECT c FROM sbtest1 WHERE id = $1".to_owned();
        let ranks = Ranks::new(Shape::Uniform, u64::from(rows));
        let (bins, statements) = (Bins::of(&ranks), [Statement { name: "point_select", sql }]);
        Self { rows, streams: Streams::new(seed), ranks, bins, statements, dialect }
    }

    fn point_select_worker(&self) -> PointSelectWorker {
        PointSelectWorker {
            streams: self.streams,
            ranks: self.ranks.clone(),
            bins: self.bins.clone(),
            id: 0,
            id_sum: 0,
            counts: [0; MAX_BINS],
        }
    }
}

impl<S: SqlSession> Workload<S> for PointSelect {
    fn operations(&self) -> &'static [&'static str] {
        &["point_select"]
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<S>> {
        Box::new(self.point_select_worker())
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        let (Some(&ids), Some(counts)) = (draws.tallies.get(MEAN_ID), draws.bins.get(RANKS)) else { return Vec::new() };
        let rows = f64::from(self.rows);
        let deviation = ((rows * rows - 1.0) / 12.0).sqrt();
        let mean = statistic::mean(MEAN_ID, ids, f64::midpoint(rows, 1.0), deviation);
        vec![mean, self.bins.audit(RANKS, Some(counts))]
    }

    fn conditions(&self) -> Vec<Condition> {
        let rows = self.rows;
        vec![
            Condition {
                number: 1,
                text: "sbtest1 has as many rows as the spec says",
                sql: format!(
                    "SELECT {}, {} || ' rows, not {rows}' FROM sbtest1",
                    self.dialect.integer(&format!("abs(count(*) - {rows})")),
                    self.dialect.text("count(*)")
                ),
                only_after_load: false,
            },
            Condition {
                number: 2,
                text: "every id from 1 to the number of rows is in sbtest1",
                sql: missing_ids_sql(rows, self.dialect),
                only_after_load: false,
            },
        ]
    }

    fn effects(&self) -> Option<Effects> {
        Some(Effects::of("sbtest1", vec![Effect::of_reading(POINT_SELECT, Times::exactly(1))]))
    }
}

/// Counts ids that are not there. Where nothing makes a series of numbers, the key makes it enough to count.
fn missing_ids_sql(rows: u32, dialect: Dialect) -> String {
    match dialect {
        Dialect::Mysql => format!(
            "SELECT {rows} - count(*), cast(count(*) AS char) || ' of the ids 1 to {rows}' \
             FROM sbtest1 WHERE id BETWEEN 1 AND {rows}"
        ),
        _ => format!(
            "SELECT count(*)::int8, 'id ' || min(wanted.id)::text || ' is missing' \
             FROM generate_series(1, {rows}) AS wanted (id) \
             WHERE NOT EXISTS (SELECT 1 FROM sbtest1 AS found WHERE found.id = wanted.id)"
        ),
    }
}

struct PointSelectWorker {
    streams: Streams,
    ranks: Ranks,
    bins: Bins,
    /// The row of the operation in progress.
    id: i32,
    id_sum: u64,
    /// Of the rows that were drawn.
    counts: [u64; MAX_BINS],
}

impl<S: SqlSession> Worker<S> for PointSelectWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        // Streams repeat after 2^32 turns of a client.
        let place = u64::from(client) << 32 | u64::from(turn as u32);
        let rank = self.ranks.draw(&mut self.streams.stream(CLIENT_STREAM, place));
        self.counts[self.bins.bin(rank)] += 1;
        self.id = rank as i32 + 1;
        self.id_sum += rank + 1;
        POINT_SELECT
    }

    fn step(&mut self, reply: Option<&S::Reply>, batch: &mut S::Request) -> Result<Step, DataError> {
        let Some(reply) = reply else {
            batch.execute(SELECT, &[Value::I32(self.id)]);
            return Ok(Step::Send);
        };
        match reply.row(0, 0).and_then(|row| row.text(0)) {
            Some(_) if reply.row_count(0) == 1 => Ok(Step::Done(Completion::Committed)),
            _ => Err(DataError(format!(
                "sbtest1 has {} with id {}, or one without c",
                counted(reply.row_count(0) as u64, "row"),
                self.id
            ))),
        }
    }

    fn draws(&self) -> Draws {
        let counted = self.counts.iter().zip(0..).filter(|(count, _)| **count > 0);
        let counts: BTreeMap<i32, u64> = counted.map(|(&count, bin)| (bin, count)).collect();
        if counts.is_empty() {
            return Draws::default();
        }
        let ids = Tally { sum: self.id_sum as f64, draws: counts.values().sum() };
        Draws { tallies: BTreeMap::from([(MEAN_ID, ids)]), bins: BTreeMap::from([(RANKS, counts)]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::postgres::Connection;

    /// The audit of 999 rows, of which this many draws of each of 4 clients are of this shape.
    fn audit(does: Shape, turns: u64) -> Vec<AuditLine> {
        let mut workload = PointSelect::new(999, 7, Dialect::Postgres);
        workload.ranks = Ranks::new(does, 999);
        let mut draws = Draws::default();
        for client in 0..4 {
            let mut worker = Workload::<Connection>::worker(&workload, 4);
            (0..turns).for_each(|turn| assert_eq!(worker.draw(client, turn), POINT_SELECT));
            draws.merge(&worker.draws());
        }
        Workload::<Connection>::audit(&workload, 4, &draws)
    }

    #[test]
    fn the_audit_passes_a_fair_generator_and_fails_those_of_another_distribution() {
        for (does, mean_id, row_ranks) in [
            (Shape::Uniform, true, true),
            (Shape::Gaussian, true, false), // of the same mean
            (Shape::Pareto, false, false),
        ] {
            let lines = audit(does, 2_500);
            assert!(lines.iter().all(|line| line.draws == 10_000), "{lines:?}");
            let passed: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.passed)).collect();
            assert_eq!(passed, [(MEAN_ID, Some(mean_id)), (RANKS, Some(row_ranks))], "{does:?}: {lines:?}");
        }
    }

    #[test]
    fn few_draws_are_not_judged() {
        let lines = audit(Shape::Uniform, 200);
        assert!(lines.len() == 2 && lines.iter().all(|line| line.passed.is_none()), "{lines:?}");
        assert!(audit(Shape::Uniform, 0).is_empty());
    }
}
