use super::*;
use crate::target::{Dialect, RowWriter, Value};
use crate::workload::{AuditLine, Dataset, Draws, Workload};
use std::collections::BTreeMap;
use std::io;

const DISTRIBUTIONS: [Distribution; 5] =
    [Distribution::Uniform, Distribution::Gaussian, Distribution::Special, Distribution::Pareto, Distribution::Zipfian];

/// (id, k, c, pad) of a table.
type Row = (i32, i32, String, String);

#[derive(Default)]
struct Rows(Vec<Row>);

impl RowWriter for Rows {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        let [Value::I32(id), Value::I32(k), Value::Text(c), Value::Text(pad)] = *values else {
            panic!("unexpected row {values:?}");
        };
        self.0.push((id, k, c.to_owned(), pad.to_owned()));
        Ok(())
    }
}

/// The rows of each table, by its name.
fn tables(count: u32, rows: u32, seed: u64, backwards: bool) -> BTreeMap<&'static str, Vec<Row>> {
    let data = SbtestData::new(Tables { count, rows }, seed);
    let mut pieces = data.pieces();
    if backwards {
        pieces.reverse();
    }
    let mut tables: BTreeMap<_, Rows> = BTreeMap::new();
    for piece in &pieces {
        data.write(piece, tables.entry(piece.table.name).or_default()).unwrap();
    }
    let sorted = |(name, mut rows): (&'static str, Rows)| {
        rows.0.sort();
        (name, rows.0)
    };
    tables.into_iter().map(sorted).collect()
}

#[test]
fn rows_are_a_function_of_seed_table_and_id() {
    let all = tables(2, 60_000, 1, false);
    assert_eq!(all.keys().collect::<Vec<_>>(), [&"sbtest1", &"sbtest2"]);
    for rows in all.values() {
        assert_eq!(rows.len(), 60_000);
        assert!(rows.iter().zip(1..).all(|(row, id)| row.0 == id && (1..=60_000).contains(&row.1)));
    }
    assert_ne!(all["sbtest1"][0], all["sbtest2"][0]);
    assert_eq!(all, tables(2, 60_000, 1, true));
    assert_ne!(all["sbtest1"][0], tables(1, 60_000, 2, false)["sbtest1"][0]);
    assert_eq!(all["sbtest1"], tables(1, 60_000, 1, false)["sbtest1"], "a table does not depend on how many there are");
    assert_eq!(tables(1, 1, 1, false)["sbtest1"].len(), 1);
}

#[test]
fn texts_have_sysbenchs_shape() {
    let (_, _, c, pad) = &tables(1, 1, 3, false)["sbtest1"][0];
    for (text, groups) in [(c, 10), (pad, 5)] {
        let parts: Vec<_> = text.split('-').collect();
        assert_eq!(parts.len(), groups, "{text}");
        assert!(parts.iter().all(|part| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_digit())));
    }
    assert_eq!((c.len(), pad.len()), (119, 59));
}

fn read_write(distribution: Distribution) -> OltpTransactions {
    OltpTransactions::read_write(
        OltpTransactionOptions { tables: 3, rows: 1_000, distribution, profile: Trips::Chatty },
        7,
        Dialect::Postgres,
    )
}

fn read_only(distribution: Distribution) -> OltpTransactions {
    OltpTransactions::read_only(
        OltpTransactionOptions { tables: 3, rows: 1_000, distribution, profile: Trips::Chatty },
        7,
        Dialect::Postgres,
    )
}

fn insert(distribution: Distribution) -> OltpInsert {
    OltpInsert::new(OltpInsertOptions { tables: 3, rows: 1_000, distribution }, 7, Dialect::Postgres)
}

/// Draws of 4 clients, each served by an executor of its own.
fn drawn(workload: &dyn Workload, turns: u64) -> Draws {
    let mut draws = Draws::default();
    for client in 0..4 {
        let mut worker = workload.worker(4);
        (0..turns).for_each(|turn| {
            worker.draw(client, turn);
        });
        draws.merge(&worker.draws());
    }
    draws
}

fn named(lines: Vec<AuditLine>) -> BTreeMap<String, AuditLine> {
    lines.into_iter().map(|line| (line.name.clone(), line)).collect()
}

#[test]
fn the_audit_passes_every_distribution() {
    for distribution in DISTRIBUTIONS {
        let workloads: [(&dyn Workload, u64, u64); 3] =
            [(&read_write(distribution), 8, 18), (&read_only(distribution), 5, 14), (&insert(distribution), 1, 1)];
        for (workload, tables, rows) in workloads {
            let lines = named(workload.audit(4, &drawn(workload, 500)));
            assert_eq!((lines["tables"].draws, lines["row_ranks"].draws), (2_000 * tables, 2_000 * rows));
            assert!(lines.values().all(|line| line.passed == Some(true)), "{distribution:?}: {lines:#?}");
        }
    }
    let workload: &dyn Workload = &insert(Distribution::Uniform);
    assert!(workload.audit(4, &Draws::default()).is_empty());
}

#[test]
fn statements_are_prepared_for_every_table() {
    let workload: &dyn Workload = &read_write(Distribution::Uniform);
    let texts: Vec<&str> = workload.statements().iter().map(|statement| statement.sql.as_str()).collect();
    assert_eq!(texts.len(), 9 * 3);
    assert_eq!(
        (texts[1], texts[26]),
        ("SELECT c FROM sbtest2 WHERE id = $1", "INSERT INTO sbtest3 (id, k, c, pad) VALUES ($1, $2, $3, $4)",)
    );
    let workload: &dyn Workload = &read_only(Distribution::Uniform);
    assert!(workload.statements().iter().all(|statement| statement.sql.starts_with("SELECT ")));
    assert_eq!(workload.statements().len(), 5 * 3);
    let workload: &dyn Workload = &insert(Distribution::Uniform);
    assert_eq!(workload.statements().len(), 3);
}
