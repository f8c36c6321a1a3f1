//! sysbench's OLTP workloads on its tables `sbtest1` to `sbtestN`: `oltp_insert` and `oltp_read_write`. Its
//! `oltp_point_select` is [`super::point_select`].
//!
//! Nothing has a default here that decides what is measured: released versions of sysbench draw rows by `special`, later
//! ones by `uniform`, so that a number without its distribution says little.
//!
//! Differences from sysbench's: a draw is a function of (seed, client, turn); `oltp_insert` is prepared and binary, where
//! sysbench sends a text each time; numbers `k` of loaded rows are uniform whatever the distribution of the run.

mod data;
mod draw;
mod insert;
mod read_write;

pub use data::{SbtestData, Tables};
pub use insert::OltpInsert;
pub use read_write::OltpReadWrite;

use super::keys::Shape;
use super::transaction::Trips;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// `--rand-zipfian-exp` of sysbench.
const ZIPF_EXPONENT: f64 = 0.8;

/// `--rand-type` of sysbench, with the defaults of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Each row as likely as another.
    Uniform,
    /// A bell over all rows: the mean of twelve uniform draws.
    Gaussian,
    /// Three of four draws in the middle 1 % of the rows, the others by a bell.
    Special,
    /// A fifth of the rows takes four fifths of the draws, at every scale.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct OltpInsertOptions {
    /// How many there are.
    #[arg(long)]
    pub tables: u32,
    /// Of each table, when it is loaded: about 200 bytes each.
    #[arg(long)]
    pub rows: u32,
    /// Of the number k of new rows, up to the number of rows loaded.
    #[arg(long, value_enum)]
    pub distribution: Distribution,
}

/// Parameters of `oltp_read_write`: keys of a spec, and options on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct OltpReadWriteOptions {
    /// How many there are.
    #[arg(long)]
    pub tables: u32,
    /// Of each table: about 200 bytes each.
    #[arg(long)]
    pub rows: u32,
    /// Which row a statement is about.
    #[arg(long, value_enum)]
    pub distribution: Distribution,
    /// How transactions are cut into round trips.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub profile: Trips,
}

#[cfg(test)]
mod tests;
