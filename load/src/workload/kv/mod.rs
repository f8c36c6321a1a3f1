//! Rows of a key and a block of bytes, read and written by key: `kv` of CockroachDB's workloads (kv0 to kv100).
//!
//! An operation reads or writes `batch` rows in one statement. Keys are numbered from 0: loaded rows are 0 to `rows -
//! 1`, and where writes add rows, theirs are beyond. [`Order`] makes a key of a number, without a table of either:
//! every key that is read exists, whatever else runs.
//!
//! Differences from CockroachDB's: a draw is a function of (seed, client, turn) and not of a counter that all workers
//! share; hashed keys come from a permutation of 64 bits instead of SHA-1, so that no two rows have one key; reads are
//! of loaded rows; and writes go to existing rows unless new ones are requested, so that a long run or a repeated one
//! finds a table of the same size.

mod aerospike;
mod blocks;
mod data;
mod names;
mod operations;
mod options;
mod plan;
mod resp;
mod sql;
mod worker;

pub use aerospike::KvAerospike;
pub use blocks::Blocks;
pub use data::KvData;
pub use names::{BIN, MARKER, write_key};
pub use operations::{READ, WRITE};
pub use options::{
    Distribution, KvOptions, MAX_BATCH, MAX_BLOCK_BYTES, MAX_OPERATION_BYTES, MAX_ROWS, MAX_ZIPF_EXPONENT, Writes,
};
pub use resp::KvResp;
pub use sql::Kv;

#[cfg(test)]
mod tests;
