//! A data set: tables, and rows that are functions of (seed, table, index).

use crate::target::{Dialect, RowWriter, mysql};
use std::io;

/// A table, its columns in the order in which rows are written.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Names and types.
    pub columns: &'static [(&'static str, &'static str)],
    /// What identifies a row.
    pub key: Key,
    /// Per cent of a page that loading fills: rows that every transaction updates get room for new versions in their
    /// own page (heap-only updates).
    pub fill_factor: Option<u8>,
}

/// What identifies a row.
#[derive(Debug, PartialEq, Eq)]
pub enum Key {
    /// These columns.
    Primary(&'static str),
    /// Nothing. Where every table needs a key, a generated one follows this column.
    None {
        /// Rows with the same value are used together.
        near: &'static str,
    },
}

impl Table {
    /// Creates it empty, without key where that is added later.
    #[must_use]
    pub fn create_sql(&self, dialect: Dialect) -> String {
        let column = |(name, kind): &(&str, &str)| format!("{name} {}", dialect.column(kind));
        let mut columns: Vec<String> = self.columns.iter().map(column).collect();
        match self.key {
            Key::Primary(key) if dialect.keys_at_creation() => columns.push(format!("PRIMARY KEY ({key})")),
            Key::None { near } if dialect == Dialect::Cockroachdb => {
                columns.push("row_id uuid NOT NULL DEFAULT gen_random_uuid()".to_owned());
                columns.push(format!("PRIMARY KEY ({near}, row_id)"));
            }
            // Replication in a group refuses tables without a key.
            Key::None { .. } if dialect == Dialect::Mysql => {
                columns.push("row_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY".to_owned());
            }
            Key::Primary(_) | Key::None { .. } => {}
        }
        let columns = columns.join(", ");
        let fill_factor = self.fill_factor.filter(|_| dialect.has_fill_factor());
        let with = fill_factor.map(|percent| format!(" WITH (fillfactor = {percent})")).unwrap_or_default();
        format!("CREATE TABLE {} ({columns}){with}{}", self.name, dialect.table_options())
    }

    /// Removes it, and what refers to it.
    #[must_use]
    pub fn drop_sql(&self) -> String {
        format!("DROP TABLE IF EXISTS {} CASCADE", self.name)
    }

    /// Adds the key, where it is added later.
    #[must_use]
    pub fn key_sql(&self, dialect: Dialect) -> Option<String> {
        match self.key {
            Key::Primary(key) if !dialect.keys_at_creation() => {
                Some(format!("ALTER TABLE {} ADD PRIMARY KEY ({key})", self.name))
            }
            Key::Primary(_) | Key::None { .. } => None,
        }
    }

    /// Takes rows from the client. The old spelling of the options is the one that all dialects take.
    #[must_use]
    pub fn copy_sql(&self, dialect: Dialect) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let (table, columns) = (self.name, names.join(", "));
        match dialect {
            // Of texts and bytes alike, the bytes as they come.
            Dialect::Mysql => {
                format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE {table} CHARACTER SET binary ({columns})", mysql::FILE)
            }
            _ => format!("COPY {table} ({columns}) FROM STDIN WITH BINARY"),
        }
    }

    /// An expression: one row as text, its values joined by `|`. Bytes are hexadecimal, times are microseconds since
    /// 1970, whatever the session's style of dates.
    #[must_use]
    pub fn text_sql(&self, dialect: Dialect) -> String {
        let value = |(name, kind): &(&str, &str)| {
            let is_mysql = dialect == Dialect::Mysql;
            let text = match kind.split(' ').next() {
                Some("timestamp") if is_mysql => format!("timestampdiff(MICROSECOND, '1970-01-01', {name})"),
                Some("timestamp") => format!("(extract(epoch FROM {name}) * 1000000)::int8::text"),
                Some("bytea") if is_mysql => format!("lower(hex({name}))"),
                Some("bytea") => format!("encode({name}, 'hex')"),
                // It joins texts alone, and makes them of numbers.
                _ if is_mysql => (*name).to_owned(),
                _ => format!("{name}::text"),
            };
            if kind.contains("NOT NULL") { text } else { format!("coalesce({text}, '{NULL_TEXT}')") }
        };
        let values: Vec<String> = self.columns.iter().map(value).collect();
        format!("concat_ws('|', {})", values.join(", "))
    }
}

/// NULL in [`Table::text_sql`].
pub const NULL_TEXT: &str = "null";

/// A data set as a function of (seed, table, index).
pub trait Dataset: Send + Sync {
    /// Names what is loaded: workload, size, seed, version. An interrupted load goes on only under the same name.
    fn identity(&self) -> String;
    /// Statements that create empty tables, dropping older ones.
    fn create(&self, dialect: Dialect) -> Vec<String>;
    /// Independent pieces that may be copied in parallel, in any order.
    fn pieces(&self) -> Vec<Piece>;
    /// Encodes all rows of one piece.
    ///
    /// # Errors
    /// Whatever the writer's sink returned.
    fn write(&self, piece: &Piece, writer: &mut dyn RowWriter) -> io::Result<()>;
    /// Keys and indexes (may be run in parallel, each its own statement), after all rows.
    fn index(&self, dialect: Dialect) -> Vec<String>;
    /// What must run last, in order: constraints, constants. Without it the data set is not complete.
    fn finish(&self, dialect: Dialect) -> Vec<String>;
}

/// The tables of a data set, in the order in which its pieces name them first.
#[must_use]
pub fn tables(dataset: &dyn Dataset) -> Vec<&'static Table> {
    let mut tables: Vec<&'static Table> = Vec::new();
    for piece in dataset.pieces() {
        if !tables.contains(&piece.table) {
            tables.push(piece.table);
        }
    }
    tables
}

/// One piece of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its table.
    pub table: &'static Table,
    /// Which piece of the table (for TPC-C the warehouse; 0 for ITEM).
    pub index: u32,
}
