//! Parameters of the workload.

use crate::workload::keys::Order;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One byte each, and still 100 GB.
pub const MAX_ROWS: u64 = 100_000_000_000;
/// A statement has at most 65,535 parameters, and each row takes two.
pub const MAX_BATCH: u32 = 1_000;
/// RESP and PostgreSQL take that much in one value.
pub const MAX_BLOCK_BYTES: u32 = 16 * 1024 * 1024;
/// What one operation reads or writes at most: an answer that is much larger is taken for a server gone wrong.
pub const MAX_OPERATION_BYTES: u64 = 64 * 1024 * 1024;
/// With a higher one, row 0 gets nearly all draws.
pub const MAX_ZIPF_EXPONENT: f64 = 10.0;
/// Disk to plan for a row with its index entry in PostgreSQL, besides its value: 66 to 70 bytes right after a load.
const ROW_BYTES: u64 = 80;

/// Which loaded row an operation touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every row is equally likely.
    #[default]
    Uniform,
    /// Zipf's law: row 0 is the hottest.
    Zipf,
}

/// Which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Writes {
    /// Loaded rows, with the same distribution as reads; the table keeps its size.
    #[default]
    Existing,
    /// New rows, as CockroachDB's kv does. A second run on the same table needs another seed.
    New,
}

/// Parameters of the workload: keys of a spec, and options on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct KvOptions {
    /// Rows to load; plan 80 bytes of disk for each, plus its value. Operations read only these.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_ROWS), extend("x-fixture-bytes" = ROW_BYTES))]
    pub rows: u64,
    /// Percentage of operations that read; the others write.
    #[arg(long, default_value_t = default_read_percent())]
    #[serde(default = "default_read_percent")]
    #[schemars(range(max = 100))]
    pub read_percent: u8,
    /// Rows per operation, in one statement.
    #[arg(long, default_value_t = one())]
    #[schemars(range(min = 1, max = MAX_BATCH), extend("x-operation-bytes" = MAX_OPERATION_BYTES))]
    #[serde(default = "one")]
    pub batch: u32,
    /// Minimum length of a value; 1 measures the cost of the request alone.
    #[schemars(range(min = 1, max = MAX_BLOCK_BYTES))]
    #[arg(long, default_value_t = default_min_block_bytes())]
    #[serde(default = "default_min_block_bytes")]
    pub min_block_bytes: u32,
    /// Maximum length of a value; all lengths between are equally likely. Default: the minimum.
    #[schemars(range(min = 1, max = MAX_BLOCK_BYTES))]
    #[arg(long)]
    #[serde(default)]
    pub max_block_bytes: Option<u32>,
    /// Distribution of the loaded rows that operations touch.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub distribution: Distribution,
    /// Exponent of Zipf's law.
    #[schemars(range(max = MAX_ZIPF_EXPONENT), extend("exclusiveMinimum" = 0))]
    #[arg(long, default_value_t = default_zipf_exponent())]
    #[serde(default = "default_zipf_exponent")]
    pub zipf_exponent: f64,
    /// How row numbers map to keys.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub order: Order,
    /// Which rows to write.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub writes: Writes,
    /// Number every write, and read all rows that were written after the run: which acknowledged writes are lost? On
    /// servers with PostgreSQL's protocol, Redis and Valkey, from one generator.
    #[arg(long)]
    #[serde(default)]
    pub ledger: bool,
}

fn default_read_percent() -> u8 {
    95
}

fn default_zipf_exponent() -> f64 {
    1.1
}

fn one() -> u32 {
    1
}

fn default_min_block_bytes() -> u32 {
    256
}

impl KvOptions {
    /// On this many rows, with the default of everything else.
    #[must_use]
    pub fn new(rows: u64) -> Self {
        Self {
            rows,
            read_percent: default_read_percent(),
            batch: one(),
            min_block_bytes: default_min_block_bytes(),
            max_block_bytes: None,
            distribution: Distribution::default(),
            zipf_exponent: default_zipf_exponent(),
            order: Order::default(),
            writes: Writes::default(),
            ledger: false,
        }
    }

    /// Maximum length of a value.
    #[must_use]
    pub fn max_block_bytes(&self) -> u32 {
        self.max_block_bytes.unwrap_or(self.min_block_bytes)
    }
}
