//! One row by its primary key, uniform over the table: sysbench's `oltp_point_select` on its table `sbtest1`.
//!
//! The smallest useful operation: it measures the path to the server, the protocol and the cache.

use super::{
    AuditLine, Completion, Condition, DataError, Dataset, Draws, Key, OperationId, Piece, RowWriter, ServerCounter,
    Step, Streams, Table, Tally, Worker, Workload, below, statistic,
};
use crate::target::postgres::{Batch, Reply};
use crate::target::{Dialect, Statement, StatementId, Value};
use rand_core::RngCore;
use std::collections::BTreeMap;
use std::io;

const POINT_SELECT: OperationId = OperationId(0);
const SELECT: StatementId = StatementId(0);

/// Purposes of random streams.
const ROW_STREAM: u64 = 0x70_6F_69_6E_74_00;
const CLIENT_STREAM: u64 = 0x70_6F_69_6E_74_01;

/// Version of the population: raised when the same seed would no longer give the same rows.
const POPULATION_VERSION: u32 = 1;

const TABLE: Table = Table {
    name: "sbtest1",
    columns: &[
        ("id", "int4 NOT NULL"),
        ("k", "int4 NOT NULL DEFAULT 0"),
        ("c", "char(120) NOT NULL DEFAULT ''"),
        ("pad", "char(60) NOT NULL DEFAULT ''"),
    ],
    key: Key::Primary("id"),
    fill_factor: None,
};

/// About 10 MB: enough to fill a COPY stream, small enough to spread over many.
const ROWS_PER_PIECE: u32 = 50_000;

/// `c` is ten groups of eleven digits, `pad` five, joined by hyphens, as sysbench makes them.
const GROUP_DIGITS: usize = 11;
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
const C_BYTES: usize = text_bytes(C_GROUPS);
const PAD_BYTES: usize = text_bytes(PAD_GROUPS);

const fn text_bytes(groups: usize) -> usize {
    groups * (GROUP_DIGITS + 1) - 1
}

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

/// The table: every row is a function of (seed, id).
#[derive(Debug)]
pub struct PointSelectData {
    rows: u32,
    seed: u64,
    streams: Streams,
}

impl PointSelectData {
    /// A table of `rows` rows.
    #[must_use]
    pub fn new(rows: u32, seed: u64) -> Self {
        Self { rows, seed, streams: Streams::new(seed) }
    }
}

impl Dataset for PointSelectData {
    fn identity(&self) -> String {
        format!("point_select, {} rows, seed {}, version {POPULATION_VERSION}", self.rows, self.seed)
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        vec![TABLE.drop_sql(), TABLE.create_sql(dialect)]
    }

    fn pieces(&self) -> Vec<Piece> {
        (0..self.rows.div_ceil(ROWS_PER_PIECE)).map(|index| Piece { table: &TABLE, index }).collect()
    }

    fn write(&self, piece: &Piece, writer: &mut dyn RowWriter) -> io::Result<()> {
        let first = piece.index * ROWS_PER_PIECE;
        let last = self.rows.min(first.saturating_add(ROWS_PER_PIECE));
        let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
        for id in first + 1..=last {
            let mut random = self.streams.stream(ROW_STREAM, u64::from(id));
            let k = 1 + below(&mut random, self.rows) as i32;
            let values = [
                Value::I32(id as i32),
                Value::I32(k),
                Value::Text(write_groups(&mut random, &mut c)),
                Value::Text(write_groups(&mut random, &mut pad)),
            ];
            writer.row(&values)?;
        }
        Ok(())
    }

    fn index(&self, dialect: Dialect) -> Vec<String> {
        let secondary = "CREATE INDEX IF NOT EXISTS k_1 ON sbtest1 (k)".to_owned();
        TABLE.key_sql(dialect).into_iter().chain([secondary]).collect()
    }

    fn finish(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }
}

/// Fills `space` with groups of random digits joined by hyphens.
fn write_groups<'a>(random: &mut impl RngCore, space: &'a mut [u8]) -> &'a str {
    for group in space.chunks_mut(GROUP_DIGITS + 1) {
        let mut digits = random.next_u64();
        for byte in group.iter_mut() {
            *byte = b'0' + (digits % 10) as u8;
            digits /= 10;
        }
        if let Some(hyphen) = group.get_mut(GROUP_DIGITS) {
            *hyphen = b'-';
        }
    }
    std::str::from_utf8(space).expect("digits and hyphens are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Rows(Vec<(i32, i32, String, String)>);

    impl RowWriter for Rows {
        fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
            let [Value::I32(id), Value::I32(k), Value::Text(c), Value::Text(pad)] = *values else {
                panic!("unexpected row {values:?}");
            };
            self.0.push((id, k, c.to_owned(), pad.to_owned()));
            Ok(())
        }
    }

    fn rows(rows: u32, seed: u64, backwards: bool) -> Vec<(i32, i32, String, String)> {
        let data = PointSelectData::new(rows, seed);
        let mut pieces = data.pieces();
        if backwards {
            pieces.reverse();
        }
        let mut written = Rows::default();
        pieces.iter().for_each(|piece| data.write(piece, &mut written).unwrap());
        written.0.sort();
        written.0
    }

    #[test]
    fn rows_are_a_function_of_seed_and_id() {
        let all = rows(120_000, 1, false);
        assert!(all.iter().zip(1..).all(|(row, id)| row.0 == id && (1..=120_000).contains(&row.1)));
        assert_eq!(all, rows(120_000, 1, true));
        assert_ne!(all[0], rows(120_000, 2, false)[0]);
        assert_eq!(rows(1, 1, false).len(), 1);
    }

    #[test]
    fn texts_have_sysbenchs_shape() {
        let (_, _, c, pad) = &rows(1, 3, false)[0];
        for (text, groups) in [(c, 10), (pad, 5)] {
            let parts: Vec<_> = text.split('-').collect();
            assert_eq!(parts.len(), groups, "{text}");
            assert!(parts.iter().all(|part| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_digit())));
        }
        assert_eq!((c.len(), pad.len()), (119, 59));
    }

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
