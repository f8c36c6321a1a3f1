//! YCSB's core workloads A to F on its table: records of a key and some fields, on targets that speak SQL, and but for
//! E on RESP, a hash each, and on Aerospike, a record of as many bins each.
//!
//! What is YCSB's own: the names of the records (`user` and a hash of the number), the scrambled distribution with its
//! 10^10 items, `latest`, and that an update writes one field of several. What differs: draws come from (seed, client,
//! turn); `latest` spans as many records as were loaded and does not widen with each new one; a scrambled rank falls on
//! a loaded record, and on none that is only expected; the records of a second run's inserts are other ones under
//! another seed.

mod aerospike;
mod data;
mod newest;
mod plan;
mod resp;
mod scatter;
mod sql;
mod worker;

pub use aerospike::YcsbAerospike;
pub use data::{YcsbData, name_of};
pub use resp::YcsbResp;
pub use sql::Ycsb;

use super::OperationId;
use super::keys::{SCRAMBLED_ITEMS, Shape, YCSB_EXPONENT};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const READ: OperationId = OperationId(0);
const UPDATE: OperationId = OperationId(1);
const INSERT: OperationId = OperationId(2);
const SCAN: OperationId = OperationId(3);
const READ_MODIFY_WRITE: OperationId = OperationId(4);
const OPERATIONS: [&str; 5] = ["read", "update", "insert", "scan", "read_modify_write"];

/// 100 bytes each, and still 10 TB.
pub const MAX_ROWS: u64 = 100_000_000_000;
/// RESP and PostgreSQL take a record of ten such fields.
pub const MAX_FIELD_BYTES: u32 = 1024 * 1024;
/// Disk to plan for a record with its index entry in PostgreSQL, besides its fields.
const RECORD_BYTES: u64 = 120;
/// What PostgreSQL adds to the bytes of a field.
const FIELD_OVERHEAD_BYTES: u64 = 8;
/// Statements are prepared for a table of at most this many columns.
pub const MAX_FIELDS: usize = 10;
/// A scan reads from 1 to this many records, each number as likely as another.
const LONGEST_SCAN: u64 = 100;

/// The core workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// 50 % reads, 50 % updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Only reads.
    C,
    /// 95 % reads of the latest records, 5 % inserts.
    D,
    /// 95 % short scans, 5 % inserts.
    E,
    /// 50 % reads, 50 % read-modify-writes.
    F,
}

impl Mix {
    /// Of 100 operations, how many are of which kind.
    const fn percent(self) -> [(OperationId, u32); 2] {
        match self {
            Self::A => [(READ, 50), (UPDATE, 50)],
            Self::B => [(READ, 95), (UPDATE, 5)],
            Self::C => [(READ, 100), (UPDATE, 0)],
            Self::D => [(READ, 95), (INSERT, 5)],
            Self::E => [(SCAN, 95), (INSERT, 5)],
            Self::F => [(READ, 50), (READ_MODIFY_WRITE, 50)],
        }
    }

    /// Whether it adds records.
    #[must_use]
    pub const fn inserts(self) -> bool {
        matches!(self, Self::D | Self::E)
    }

    const fn distribution(self) -> Distribution {
        match self {
            Self::D => Distribution::Latest,
            _ => Distribution::Zipfian,
        }
    }
}

/// `requestdistribution`: which record is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every loaded record is equally likely.
    Uniform,
    /// YCSB's approximation of Zipf's law over 10^10 items, scattered over the loaded records by a hash.
    Zipfian,
    /// The same law, counted back from the newest record.
    Latest,
}

impl Distribution {
    fn shape(self) -> Shape {
        match self {
            Self::Uniform => Shape::Uniform,
            Self::Zipfian | Self::Latest => Shape::Gray { exponent: YCSB_EXPONENT },
        }
    }

    /// How many ranks there are with this many loaded records.
    const fn items(self, rows: u64) -> u64 {
        match self {
            Self::Zipfian => SCRAMBLED_ITEMS,
            Self::Uniform | Self::Latest => rows,
        }
    }
}

/// Parameters of the workload: keys of a spec, and options on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct YcsbOptions {
    /// Records to load; plan 120 bytes of disk for each, plus its fields.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_ROWS), extend("x-fixture-bytes" = RECORD_BYTES))]
    pub rows: u64,
    /// The core workload, which sets the mix of operations.
    #[arg(long, value_enum)]
    pub mix: Mix,
    /// Distribution of the records that operations touch. Default: that of the core workload, zipfian or (d) latest.
    #[arg(long, value_enum)]
    #[serde(default)]
    pub distribution: Option<Distribution>,
    /// Fields of a record; plan 8 bytes for each, plus its value. An update writes one of them.
    #[schemars(range(min = 1, max = MAX_FIELDS), extend("x-fixture-bytes" = FIELD_OVERHEAD_BYTES))]
    #[arg(long, default_value_t = default_fields())]
    #[serde(default = "default_fields")]
    pub fields: u32,
    /// Length of a field in bytes.
    #[schemars(range(min = 1, max = MAX_FIELD_BYTES))]
    #[arg(long, default_value_t = default_field_bytes())]
    #[serde(default = "default_field_bytes")]
    pub field_bytes: u32,
}

const fn default_fields() -> u32 {
    10
}

const fn default_field_bytes() -> u32 {
    100
}

impl YcsbOptions {
    /// A core workload on this many records, with the default of everything else.
    #[must_use]
    pub const fn new(rows: u64, mix: Mix) -> Self {
        Self { rows, mix, distribution: None, fields: default_fields(), field_bytes: default_field_bytes() }
    }

    /// Which record.
    const fn distribution(&self) -> Distribution {
        match self.distribution {
            Some(given) => given,
            None => self.mix.distribution(),
        }
    }
}

#[cfg(test)]
mod tests;
