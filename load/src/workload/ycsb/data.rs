//! The records that are loaded, their names, and what is in their fields.

use super::{MAX_FIELDS, YcsbOptions};
use crate::target::RowWriter;
use crate::target::aerospike::{Bin, Messages, Write};
use crate::target::resp::Commands;
use crate::target::{Dialect, Value};
use crate::workload::keys::{below, fnv_of};
use crate::workload::{Condition, Dataset, Key, Name, OTHER_BINS, Piece, Records, Streams, Table};
use rand_core::RngCore;
use std::io;

/// Purposes of random streams.
const POOL_STREAM: u64 = 0x79_63_73_62_01;
const RECORD_STREAM: u64 = 0x79_63_73_62_02;
/// Version of the population: raised when the same seed would no longer give the same records.
const POPULATION_VERSION: u32 = 1;
const RECORDS_PER_PIECE: u64 = 20_000;
/// Long enough that no compression finds a field again within its window, short enough for a processor's cache.
const POOL_BYTES: u64 = 1 << 20;
const COLUMNS: [(&str, &str); 1 + MAX_FIELDS] = [
    ("ycsb_key", "varchar(255) COLLATE \"C\" NOT NULL"),
    ("field0", "text NOT NULL"),
    ("field1", "text NOT NULL"),
    ("field2", "text NOT NULL"),
    ("field3", "text NOT NULL"),
    ("field4", "text NOT NULL"),
    ("field5", "text NOT NULL"),
    ("field6", "text NOT NULL"),
    ("field7", "text NOT NULL"),
    ("field8", "text NOT NULL"),
    ("field9", "text NOT NULL"),
];
/// Tables by their number of fields, from 1.
static TABLES: [Table; MAX_FIELDS] = tables();

const fn tables() -> [Table; MAX_FIELDS] {
    const NONE: Table = table(1);
    let mut tables = [NONE; MAX_FIELDS];
    let mut fields = 1;
    while fields <= MAX_FIELDS {
        tables[fields - 1] = table(fields);
        fields += 1;
    }
    tables
}

const fn table(fields: usize) -> Table {
    let columns = COLUMNS.split_at(1 + fields).0;
    Table { name: "usertable", columns, key: Key::Primary("ycsb_key"), fill_factor: None }
}

/// Names of the fields, in their order.
pub(super) fn field_names(fields: u32) -> impl ExactSizeIterator<Item = &'static str> {
    COLUMNS[1..=fields as usize].iter().map(|(name, _)| *name)
}

/// The name of record `number`: `user` and the number's hash.
#[must_use]
pub fn name_of(number: u64) -> Name {
    Name::numbered(b"user", fnv_of(number))
}

/// Random characters that fields are cut from.
#[derive(Debug)]
pub(super) struct Values {
    pool: String,
    bytes: u32,
}

/// One of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Field(u32);

impl Values {
    pub(super) fn new(seed: u64, bytes: u32) -> Self {
        const CHARACTERS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";
        let mut pool = vec![0; POOL_BYTES as usize + bytes as usize];
        Streams::new(seed).stream(POOL_STREAM, 0).fill_bytes(&mut pool);
        let pool = pool.into_iter().map(|byte| char::from(CHARACTERS[usize::from(byte & 63)])).collect();
        Self { pool, bytes }
    }

    pub(super) fn draw(&self, random: &mut impl RngCore) -> Field {
        Field(below(random, POOL_BYTES) as u32)
    }

    pub(super) fn get(&self, field: Field) -> &str {
        &self.pool[field.0 as usize..(field.0 + self.bytes) as usize]
    }
}

/// The records: each is a function of (seed, number).
#[derive(Debug)]
pub struct YcsbData {
    options: YcsbOptions,
    seed: u64,
    streams: Streams,
    values: Values,
    table: &'static Table,
}

impl YcsbData {
    /// Records as the workload with these options reads them.
    #[must_use]
    pub fn new(options: YcsbOptions, seed: u64) -> Self {
        let values = Values::new(seed, options.field_bytes);
        Self { options, seed, streams: Streams::new(seed), values, table: &TABLES[options.fields as usize - 1] }
    }

    /// What is in the fields of record `number`, in the order of their names.
    fn fields(&self, number: u64) -> impl ExactSizeIterator<Item = &str> {
        let mut random = self.streams.stream(RECORD_STREAM, number);
        (0..self.options.fields).map(move |_| self.values.get(self.values.draw(&mut random)))
    }
}

impl Dataset for YcsbData {
    fn identity(&self) -> String {
        let Self { options: YcsbOptions { rows, fields, field_bytes, .. }, seed, .. } = self;
        format!("ycsb, {rows} records of {fields} x {field_bytes} bytes, seed {seed}, version {POPULATION_VERSION}")
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        vec![self.table.drop_sql(), self.table.create_sql(dialect)]
    }

    fn pieces(&self) -> Vec<Piece> {
        let pieces = self.options.rows.div_ceil(RECORDS_PER_PIECE) as u32;
        (0..pieces).map(|index| Piece { table: self.table, index }).collect()
    }

    fn write(&self, piece: &Piece, writer: &mut dyn RowWriter) -> io::Result<()> {
        let first = u64::from(piece.index) * RECORDS_PER_PIECE;
        for number in first..self.options.rows.min(first + RECORDS_PER_PIECE) {
            let name = name_of(number);
            let mut row = [Value::Null; 1 + MAX_FIELDS];
            row[0] = Value::Text(name.text());
            for (value, field) in row[1..].iter_mut().zip(self.fields(number)) {
                *value = Value::Text(field);
            }
            writer.row(&row[..self.table.columns.len()])?;
        }
        Ok(())
    }

    fn index(&self, dialect: Dialect) -> Vec<String> {
        self.table.key_sql(dialect).into_iter().collect()
    }

    fn finish(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }
}

impl Records for YcsbData {
    fn table(&self) -> &'static str {
        self.table.name
    }

    fn rows(&self) -> u64 {
        self.options.rows
    }

    fn name(&self, number: u64) -> Name {
        name_of(number)
    }

    fn store(&self, number: u64, commands: &mut Commands) -> u64 {
        commands.command(2 + 2 * self.options.fields as usize).part(b"HSET").part(name_of(number).bytes());
        for (name, value) in field_names(self.options.fields).zip(self.fields(number)) {
            commands.part(name.as_bytes()).part(value.as_bytes());
        }
        u64::from(self.options.fields) * u64::from(self.options.field_bytes)
    }

    fn measure(&self, number: u64, commands: &mut Commands) {
        commands.all(&[b"HLEN", name_of(number).bytes()]);
    }

    fn put(&self, number: u64, messages: &mut Messages) -> u64 {
        let bins = field_names(self.options.fields).zip(self.fields(number).map(str::as_bytes));
        messages.write(Write::Replace, name_of(number).bytes(), bins);
        u64::from(self.options.fields) * u64::from(self.options.field_bytes)
    }

    fn measure_bins(&self, bins: &mut dyn Iterator<Item = Bin<'_>>) -> u64 {
        let mut whole = 0;
        for bin in bins {
            if !field_names(self.options.fields).any(|name| name.as_bytes() == bin.name) {
                return OTHER_BINS;
            }
            whole += u64::from(bin.value.len() == self.options.field_bytes as usize);
        }
        whole
    }

    fn is_whole(&self, measured: u64) -> bool {
        measured == u64::from(self.options.fields)
    }

    fn whole(&self) -> [&'static str; 2] {
        ["every loaded record exists, with all of its fields", "fields"]
    }
}

/// What must hold of the table.
pub(super) fn conditions(options: &YcsbOptions, dialect: Dialect) -> Vec<Condition> {
    let (rows, bytes) = (options.rows, options.field_bytes);
    let condition = |number, text, sql: String, only_after_load| Condition { number, text, sql, only_after_load };
    let counted = format!("{} || ' records, {rows} were loaded' FROM usertable", dialect.text("count(*)"));
    let least = |difference: &str| dialect.integer(&format!("greatest({difference}, 0)"));
    let wrong: Vec<String> = field_names(options.fields).map(|name| format!("length({name}) <> {bytes}")).collect();
    vec![
        condition(
            1,
            "usertable has at least the records that were loaded",
            format!("SELECT {}, {counted}", least(&format!("{rows} - count(*)"))),
            false,
        ),
        condition(
            2,
            "usertable has no other records right after loading",
            format!("SELECT {}, {counted}", least(&format!("count(*) - {rows}"))),
            true,
        ),
        condition(
            3,
            "every field has its length",
            format!(
                "SELECT {}, min(ycsb_key) FROM usertable WHERE {}",
                dialect.integer("count(*)"),
                wrong.join(" OR ")
            ),
            false,
        ),
    ]
}
