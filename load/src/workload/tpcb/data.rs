//! pgbench's tables, as `pgbench -i` makes them, and what must hold of them.

use super::{ACCOUNTS, TELLERS};
use crate::target::RowWriter;
use crate::target::{Dialect, Value};
use crate::workload::{Condition, Dataset, Key, Piece, Table};
use std::io;

/// Version of the population: raised when there would be other rows.
const POPULATION_VERSION: u32 = 1;

const BRANCHES: Table = Table {
    name: "pgbench_branches",
    columns: &[("bid", "int4 NOT NULL"), ("bbalance", "int4"), ("filler", "char(88)")],
    key: Key::Primary("bid"),
    fill_factor: None,
};
const TELLERS_TABLE: Table = Table {
    name: "pgbench_tellers",
    columns: &[("tid", "int4 NOT NULL"), ("bid", "int4"), ("tbalance", "int4"), ("filler", "char(84)")],
    key: Key::Primary("tid"),
    fill_factor: None,
};
const ACCOUNTS_TABLE: Table = Table {
    name: "pgbench_accounts",
    columns: &[("aid", "int4 NOT NULL"), ("bid", "int4"), ("abalance", "int4"), ("filler", "char(84)")],
    key: Key::Primary("aid"),
    fill_factor: None,
};
/// It begins empty.
const HISTORY: Table = Table {
    name: "pgbench_history",
    columns: &[
        ("tid", "int4"),
        ("bid", "int4"),
        ("aid", "int4"),
        ("delta", "int4"),
        ("mtime", "timestamp"),
        ("filler", "char(22)"),
    ],
    key: Key::None { near: "bid" },
    fill_factor: None,
};

/// Names of the tables.
pub(super) fn names() -> [String; 4] {
    [BRANCHES, TELLERS_TABLE, ACCOUNTS_TABLE, HISTORY].map(|table| table.name.to_owned())
}

/// The rows that are loaded: they depend on the scale alone.
#[derive(Debug, Clone, Copy)]
pub struct TpcbData {
    scale: u32,
}

impl TpcbData {
    /// Of this many branches.
    #[must_use]
    pub fn new(scale: u32) -> Self {
        Self { scale }
    }
}

impl Dataset for TpcbData {
    fn identity(&self) -> String {
        format!("tpcb, scale {}, version {POPULATION_VERSION}", self.scale)
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        let tables = [&BRANCHES, &TELLERS_TABLE, &ACCOUNTS_TABLE, &HISTORY];
        tables.iter().flat_map(|table| [table.drop_sql(), table.create_sql(dialect)]).collect()
    }

    fn pieces(&self) -> Vec<Piece> {
        let small = [&BRANCHES, &TELLERS_TABLE].map(|table| Piece { table, index: 0 });
        let accounts = (0..self.scale).map(|index| Piece { table: &ACCOUNTS_TABLE, index });
        small.into_iter().chain(accounts).collect()
    }

    fn write(&self, piece: &Piece, writer: &mut dyn RowWriter) -> io::Result<()> {
        let number = |number: u32| Value::I32(number as i32);
        if piece.table == &BRANCHES {
            return (1..=self.scale).try_for_each(|bid| writer.row(&[number(bid), number(0), Value::Null]));
        }
        // As pgbench fills them: accounts with blanks, tellers and branches with nothing.
        let (rows, of_a_branch, filler) = if piece.table == &TELLERS_TABLE {
            (0..self.scale * TELLERS, TELLERS, Value::Null)
        } else {
            (piece.index * ACCOUNTS..(piece.index + 1) * ACCOUNTS, ACCOUNTS, Value::Text(""))
        };
        let row = |index: u32| [number(index + 1), number(index / of_a_branch + 1), number(0), filler];
        rows.into_iter().try_for_each(|index| writer.row(&row(index)))
    }

    fn index(&self, dialect: Dialect) -> Vec<String> {
        [BRANCHES, TELLERS_TABLE, ACCOUNTS_TABLE].iter().filter_map(|table| table.key_sql(dialect)).collect()
    }

    fn finish(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }
}

/// What every deposit keeps: three balances and the history tell the same, in sum and row by row.
pub(super) fn conditions(scale: u32, dialect: Dialect) -> Vec<Condition> {
    let condition = |number, text, sql: String, only_after_load| Condition { number, text, sql, only_after_load };
    let sums = "SELECT (SELECT coalesce(sum(abalance), 0) FROM pgbench_accounts) AS a, \
                (SELECT coalesce(sum(tbalance), 0) FROM pgbench_tellers) AS t, \
                (SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches) AS b, \
                (SELECT coalesce(sum(delta), 0) FROM pgbench_history) AS h";
    let [a, t, b, h] = ["a", "t", "b", "h"].map(|sum| dialect.text(sum));
    let told = format!("'accounts ' || {a} || ', tellers ' || {t} || ', branches ' || {b} || ', history ' || {h}");
    let unless = |holds: &str| {
        let violations = dialect.integer(&format!("(CASE WHEN {holds} THEN 0 ELSE 1 END)"));
        format!("SELECT {violations}, {told} FROM ({sums}) AS sums")
    };
    let by_row = |table: &str, key: &str, balance: &str| by_row(table, key, balance, dialect);
    vec![
        condition(1, "each table has as many rows as the scale says", rows_sql(scale, dialect), false),
        condition(
            2,
            "the balances of accounts, tellers and branches have the same sum",
            unless("a = t AND t = b"),
            false,
        ),
        condition(3, "the history has that sum too", unless("b = h"), false),
        condition(4, "the balance of each branch equals its history", by_row("branches", "bid", "bbalance"), false),
        condition(5, "the balance of each teller equals its history", by_row("tellers", "tid", "tbalance"), false),
        condition(6, "the balance of each account equals its history", by_row("accounts", "aid", "abalance"), false),
        condition(
            7,
            "the history is empty right after loading",
            format!(
                "SELECT {}, {} || ' rows' FROM pgbench_history",
                dialect.integer("count(*)"),
                dialect.text("count(*)")
            ),
            true,
        ),
    ]
}

fn rows_sql(scale: u32, dialect: Dialect) -> String {
    let scale = u64::from(scale);
    let counted = dialect.text("count(*)");
    let of = |(table, rows): (&str, u64)| {
        format!("SELECT abs(count(*) - {rows}) AS v, '{table}: ' || {counted} || ' rows, not {rows}' AS e FROM {table}")
    };
    let tables = [
        (BRANCHES.name, scale),
        (TELLERS_TABLE.name, scale * u64::from(TELLERS)),
        (ACCOUNTS_TABLE.name, scale * u64::from(ACCOUNTS)),
    ];
    let each = tables.map(of).join(" UNION ALL ");
    format!("SELECT {}, min(CASE WHEN v > 0 THEN e END) FROM ({each}) AS found", dialect.integer("sum(v)"))
}

/// Rows of a table whose balance is not the sum of what the history says of them.
fn by_row(table: &str, key: &str, balance: &str, dialect: Dialect) -> String {
    format!(
        "SELECT {}, min('{key} ' || {}) FROM pgbench_{table} AS own \
         LEFT JOIN (SELECT {key}, sum(delta) AS delta FROM pgbench_history GROUP BY {key}) AS told \
         ON told.{key} = own.{key} WHERE own.{balance} <> coalesce(told.delta, 0)",
        dialect.integer("count(*)"),
        dialect.text(&format!("own.{key}"))
    )
}
