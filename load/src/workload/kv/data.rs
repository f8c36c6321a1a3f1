//! The rows that are loaded, and the blocks of bytes in them.

use super::blocks::Blocks;
use super::names::{BIN, Held, held_in, write_key};
use super::options::KvOptions;
use crate::target::RowWriter;
use crate::target::aerospike::{Bin, Messages, Write};
use crate::target::resp::Commands;
use crate::target::{Dialect, Value};
use crate::workload::keys::Order;
use crate::workload::{Dataset, Key, Name, OTHER_BINS, Piece, Records, Streams, Table};
use std::io;

/// The purpose of the streams that rows are drawn from.
const ROW_STREAM: u64 = 0x6B_76_02;
/// Version of the population: raised when the same seed would no longer give the same rows.
const POPULATION_VERSION: u32 = 2;
const TABLE: Table = Table {
    name: "kv",
    columns: &[("k", "int8 NOT NULL"), ("v", "bytea NOT NULL")],
    key: Key::Primary("k"),
    fill_factor: None,
};
const ROWS_PER_PIECE: u64 = 50_000;
/// The table: every row is a function of (seed, number).
#[derive(Debug)]
pub struct KvData {
    rows: u64,
    order: Order,
    seed: u64,
    streams: Streams,
    blocks: Blocks,
}

impl KvData {
    /// Rows as the workload with these options reads them.
    #[must_use]
    pub fn new(options: KvOptions, seed: u64) -> Self {
        let blocks = Blocks::new(seed, options.min_block_bytes, options.max_block_bytes());
        Self { rows: options.rows, order: options.order, seed, streams: Streams::new(seed), blocks }
    }

    /// Row `number`: its key; its value takes the place of what is in the buffer.
    pub fn row(&self, number: u64, value: &mut Vec<u8>) -> i64 {
        value.clear();
        self.blocks.draw(&mut self.streams.stream(ROW_STREAM, number), value);
        self.order.key(number)
    }
}

impl Dataset for KvData {
    fn identity(&self) -> String {
        let Self { rows, order, seed, blocks: Blocks { min, max, .. }, .. } = self;
        format!("kv, {rows} rows, {order:?}, blocks of {min} to {max} bytes, seed {seed}, version {POPULATION_VERSION}")
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        vec![TABLE.drop_sql(), TABLE.create_sql(dialect)]
    }

    fn pieces(&self) -> Vec<Piece> {
        (0..self.rows.div_ceil(ROWS_PER_PIECE) as u32).map(|index| Piece { table: &TABLE, index }).collect()
    }

    fn write(&self, piece: &Piece, writer: &mut dyn RowWriter) -> io::Result<()> {
        let first = u64::from(piece.index) * ROWS_PER_PIECE;
        let mut value = Vec::new();
        for number in first..self.rows.min(first + ROWS_PER_PIECE) {
            let key = self.row(number, &mut value);
            writer.row(&[Value::I64(key), Value::Bytes(&value)])?;
        }
        Ok(())
    }

    fn index(&self, dialect: Dialect) -> Vec<String> {
        TABLE.key_sql(dialect).into_iter().collect()
    }

    fn finish(&self, _: Dialect) -> Vec<String> {
        Vec::new()
    }
}

impl Records for KvData {
    fn table(&self) -> &'static str {
        TABLE.name
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn name(&self, number: u64) -> Name {
        Name::of(&write_key(self.order.key(number)))
    }

    fn store(&self, number: u64, commands: &mut Commands) -> u64 {
        let mut value = Vec::new();
        let key = self.row(number, &mut value);
        commands.all(&[b"SET", &write_key(key), &value]);
        value.len() as u64
    }

    fn measure(&self, number: u64, commands: &mut Commands) {
        commands.all(&[b"STRLEN", &write_key(self.order.key(number))]);
    }

    fn put(&self, number: u64, messages: &mut Messages) -> u64 {
        let mut value = Vec::new();
        let key = self.row(number, &mut value);
        messages.write(Write::Replace, &write_key(key), [(BIN, value.as_slice())].into_iter());
        value.len() as u64
    }

    fn measure_bins(&self, bins: &mut dyn Iterator<Item = Bin<'_>>) -> u64 {
        match held_in(bins) {
            Held::Block(block) => block.len() as u64,
            Held::NoBlock => 0,
            Held::OtherBins => OTHER_BINS,
        }
    }

    fn is_whole(&self, measured: u64) -> bool {
        (u64::from(self.blocks.min)..=u64::from(self.blocks.max)).contains(&measured)
    }

    fn whole(&self) -> [&'static str; 2] {
        ["every loaded row exists, with a block of the right length", "bytes"]
    }
}
