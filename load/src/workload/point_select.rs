//! One row by its primary key, uniform over the table: sysbench's `oltp_point_select` on its table `sbtest1`.
//!
//! The smallest useful operation: it measures the path to the server, the protocol and the cache.

use super::{
    AuditLine, Completion, Condition, DataError, Draws, OperationId, ServerCounter, Step, Streams, Tally, Worker,
    Workload, below, statistic,
};
use crate::target::postgres::{Batch, Reply};
use crate::target::{Statement, StatementId, Value};
use std::collections::BTreeMap;

const POINT_SELECT: OperationId = OperationId(0);
const SELECT: StatementId = StatementId(0);

/// The purpose of the streams that operations are drawn from.
const CLIENT_STREAM: u64 = 0x70_6F_69_6E_74_01;

const MEAN_ID: &str = "mean_id";
const LOWER_HALF: &str = "lower_half_share";

/// The workload.
#[derive(Debug)]
pub struct PointSelect {
    rows: u32,
    streams: Streams,
    statements: [Statement; 1],
}

impl PointSelect {
    /// On a table of `rows` rows: 1 to 2^31 - 1, the ids of an int4 (so that none changes its sign below).
    #[must_use]
    pub fn new(rows: u32, seed: u64) -> Self {
        let sql = "SELECT c FROM sbtest1 WHERE id = $1".to_owned();
        Self { rows, streams: Streams::new(seed), statements: [Statement { name: "point_select", sql }] }
    }
}

impl Workload for PointSelect {
    fn operations(&self) -> &'static [&'static str] {
        &["point_select"]
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn worker(&self, _: u32) -> Box<dyn Worker> {
        Box::new(PointSelectWorker {
            rows: self.rows,
            streams: self.streams,
            id: 0,
            draws: 0,
            id_sum: 0,
            lower_half: 0,
        })
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        let rows = f64::from(self.rows);
        let half = f64::from(self.rows / 2) / rows;
        let expected = [
            (MEAN_ID, (rows + 1.0) / 2.0, ((rows * rows - 1.0) / 12.0).sqrt()),
            (LOWER_HALF, half, (half * (1.0 - half)).sqrt()),
        ];
        let line = |(name, mean, deviation): (&'static str, f64, f64)| {
            draws
                .tallies
                .get(name)
                .filter(|tally| tally.draws > 0)
                .map(|tally| statistic::mean(name, *tally, mean, deviation))
        };
        expected.into_iter().filter_map(line).collect()
    }

    fn conditions(&self) -> Vec<Condition> {
        let rows = self.rows;
        vec![
            Condition {
                number: 1,
                text: "sbtest1 has as many rows as the workload says",
                sql: format!("SELECT abs(count(*) - {rows})::int8, count(*)::text || ' rows, not {rows}' FROM sbtest1"),
                only_after_load: false,
            },
            Condition {
                number: 2,
                text: "every id from 1 to the number of rows is in sbtest1",
                sql: format!(
                    "SELECT count(*)::int8, 'id ' || min(wanted.id)::text || ' is missing' \
                     FROM generate_series(1, {rows}) AS wanted (id) \
                     WHERE NOT EXISTS (SELECT 1 FROM sbtest1 AS found WHERE found.id = wanted.id)"
                ),
                only_after_load: false,
            },
        ]
    }

    fn server_counters(&self) -> Vec<ServerCounter> {
        Vec::new()
    }
}

struct PointSelectWorker {
    rows: u32,
    streams: Streams,
    /// The row of the operation in progress.
    id: i32,
    draws: u64,
    id_sum: u64,
    lower_half: u64,
}

impl Worker for PointSelectWorker {
    fn draw(&mut self, client: u32, turn: u64) -> OperationId {
        // Streams repeat after 2^32 turns of a client.
        let place = u64::from(client) << 32 | u64::from(turn as u32);
        let id = 1 + below(&mut self.streams.stream(CLIENT_STREAM, place), self.rows);
        self.id = id as i32;
        self.draws += 1;
        self.id_sum += u64::from(id);
        self.lower_half += u64::from(id <= self.rows / 2);
        POINT_SELECT
    }

    fn step(&mut self, reply: Option<&Reply>, batch: &mut Batch) -> Result<Step, DataError> {
        let Some(reply) = reply else {
            batch.execute(SELECT, &[Value::I32(self.id)]);
            return Ok(Step::Send);
        };
        match reply.row(0, 0).and_then(|row| row.text(0)) {
            Some(_) if reply.row_count(0) == 1 => Ok(Step::Done(Completion::Committed)),
            _ => Err(DataError(format!("sbtest1 has {} rows of id {}, or one without c", reply.row_count(0), self.id))),
        }
    }

    fn draws(&self) -> Draws {
        let tally = |sum: u64| Tally { sum: sum as f64, draws: self.draws };
        let tallies = BTreeMap::from([(MEAN_ID, tally(self.id_sum)), (LOWER_HALF, tally(self.lower_half))]);
        Draws { tallies, ..Draws::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_passes_a_fair_generator_and_fails_another() {
        let workload = PointSelect::new(999, 7);
        let mut draws = Draws::default();
        for client in 0..4 {
            let mut worker = workload.worker(4);
            (0..10_000).for_each(|turn| assert_eq!(worker.draw(client, turn), POINT_SELECT));
            draws.merge(&worker.draws());
        }
        let lines = workload.audit(4, &draws);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.passed == Some(true) && line.draws == 40_000), "{lines:?}");
        draws.tallies.get_mut(MEAN_ID).unwrap().sum *= 1.03;
        assert_eq!(workload.audit(4, &draws)[0].passed, Some(false));
        let tallies = BTreeMap::from([(MEAN_ID, Tally { sum: 3.0, draws: 2 })]);
        let few = Draws { tallies, ..Draws::default() };
        assert_eq!(workload.audit(4, &few)[0].passed, None);
        assert!(workload.audit(4, &Draws::default()).is_empty());
    }
}
