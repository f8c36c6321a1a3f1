//! sysbench's OLTP workloads on its tables `sbtest1` to `sbtestN`: `oltp_insert`, `oltp_read_write` and
//! `oltp_read_only`. Its `oltp_point_select` is [`super::point_select`].
//!
//! Nothing has a default here that decides what is measured: released versions of sysbench draw rows by `special`,
//! later ones by `uniform`, so that a number without its distribution says little.
//!
//! Differences from sysbench's: a draw is a function of (seed, client, turn); `oltp_insert` is prepared and binary,
//! where sysbench sends a text each time; numbers `k` of loaded rows are uniform whatever the distribution of the run.

mod data;
mod draw;
mod insert;
mod read_write;

pub use data::{SbtestData, Tables};
pub use insert::OltpInsert;
pub use read_write::OltpTransactions;

use super::keys::Shape;
use super::transaction::Trips;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each connection prepares statements for each of them.
pub const MAX_TABLES: u32 = 1_000;
/// Ids are int4.
pub const MAX_ROWS: u32 = i32::MAX as u32;
/// Disk to plan for a row with its index entries in PostgreSQL: 264 bytes right after a load, and room to grow.
pub const ROW_BYTES: u64 = 320;

/// `--rand-zipfian-exp` of sysbench.
const ZIPF_EXPONENT: f64 = 0.8;

/// `--rand-type` of sysbench, with the defaults of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every row is equally likely.
    Uniform,
    /// A bell curve over all rows: the mean of twelve uniform draws.
    Gaussian,
    /// Three of four draws hit the middle 1 % of the rows, the others follow a bell curve.
    Special,
    /// A fifth of the rows gets four fifths of the draws, at every scale.
    Pareto,
    /// Zipf's law with the exponent 0.8: row 1 is the hottest.
    Zipfian,
}

impl Distribution {
    fn shape(self) -> Shape {
        match self {
            Self::Uniform => Shape::Uniform,
            Self::Gaussian => Shape::Gaussian,
            Self::Special => Shape::Special,
            Self::Pareto => Shape::Pareto,
            Self::Zipfian => Shape::Zipf { exponent: ZIPF_EXPONENT },
        }
    }
}

/// Parameters of `oltp_insert`: keys of a spec, and options on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct OltpInsertOptions {
    /// Number of tables.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_TABLES))]
    pub tables: u32,
    /// Rows of each table after the load; plan 320 bytes of disk for each.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_ROWS), extend("x-fixture-bytes" = ROW_BYTES))]
    pub rows: u32,
    /// Distribution of the number k in new rows, from 1 to the number of rows.
    #[arg(long, value_enum)]
    pub distribution: Distribution,
}

/// Parameters of `oltp_read_write` and `oltp_read_only`: keys of a spec, and options on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct OltpTransactionOptions {
    /// Number of tables.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_TABLES))]
    pub tables: u32,
    /// Rows of each table; plan 320 bytes of disk for each.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_ROWS), extend("x-fixture-bytes" = ROW_BYTES))]
    pub rows: u32,
    /// Distribution of the rows that statements touch.
    #[arg(long, value_enum)]
    pub distribution: Distribution,
    /// How to split transactions into round trips.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub profile: Trips,
}

#[cfg(test)]
mod tests;
