//! Parameters of the workload.

use crate::workload::keys::Order;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// Which of the loaded rows is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Each as likely as another.
    #[default]
    Uniform,
    /// By Zipf's law: row 0 is the hottest.
    Zipf,
}

/// Which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Writes {
    /// Loaded rows, by the same distribution as reads: the table keeps its size.
    #[default]
    Existing,
    /// Rows that were not there, as CockroachDB's kv does. A second run on the same table needs another seed.
    New,
}

/// Parameters of the workload: keys of a spec, and options on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct KvOptions {
    /// Rows that are loaded.
    #[arg(long)]
    pub rows: u64,
    /// Of 100 operations, how many read.
    #[arg(long, default_value_t = default_read_percent())]
    #[serde(default = "default_read_percent")]
    pub read_percent: u8,
    /// Rows of an operation.
    #[arg(long, default_value_t = 1)]
    #[serde(default = "one")]
    pub batch: u32,
    /// Least length of a value. One byte measures the cost of a request alone.
    #[arg(long, default_value_t = 1)]
    #[serde(default = "one")]
    pub min_block_bytes: u32,
    /// Greatest length of a value; as the least when absent.
    #[arg(long)]
    #[serde(default)]
    pub max_block_bytes: Option<u32>,
    /// Which of the loaded rows.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub distribution: Distribution,
    /// Of Zipf's law.
    #[arg(long, default_value_t = default_zipf_exponent())]
    #[serde(default = "default_zipf_exponent")]
    pub zipf_exponent: f64,
    /// How rows lie among the keys.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub order: Order,
    /// Which rows are written.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub writes: Writes,
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

impl KvOptions {
    /// On so many rows, with the default of everything else.
    #[must_use]
    pub fn new(rows: u64) -> Self {
        Self {
            rows,
            read_percent: default_read_percent(),
            batch: one(),
            min_block_bytes: one(),
            max_block_bytes: None,
            distribution: Distribution::default(),
            zipf_exponent: default_zipf_exponent(),
            order: Order::default(),
            writes: Writes::default(),
        }
    }

    /// Greatest length of a value.
    #[must_use]
    pub fn max_block_bytes(&self) -> u32 {
        self.max_block_bytes.unwrap_or(self.min_block_bytes)
    }
}
