//! Validates the parameters of the key-value workload.

use super::error::{SpecError, require};
use crate::workload::kv::{KvOptions, MAX_BATCH, MAX_BLOCK_BYTES, MAX_OPERATION_BYTES, MAX_ROWS, MAX_ZIPF_EXPONENT};
use crate::workload::writes::NUMBER_BYTES;

/// A record of Aerospike fits into a write block of 8 MiB, with its header.
const MAX_RECORD_BYTES: u32 = 8 * 1024 * 1024 - 4096;

/// Checks what types cannot say.
pub(super) fn validate(kv: &KvOptions) -> Result<(), SpecError> {
    let rows = (1..=MAX_ROWS).contains(&kv.rows);
    require(rows, &format!("workload.rows: must be 1 to {MAX_ROWS}"))?;
    require(kv.read_percent <= 100, "workload.read_percent: must be 0 to 100")?;
    let batch = (1..=MAX_BATCH).contains(&kv.batch) && u64::from(kv.batch) <= kv.rows;
    require(batch, &format!("workload.batch: must be 1 to {MAX_BATCH}, and at most the number of rows"))?;
    let blocks = kv.min_block_bytes >= 1 && kv.max_block_bytes() <= MAX_BLOCK_BYTES;
    require(blocks, &format!("workload.min_block_bytes: must be 1 to {MAX_BLOCK_BYTES}"))?;
    let (min, max) = (kv.min_block_bytes, kv.max_block_bytes());
    let ordered = format!("workload.max_block_bytes: {max} is below min_block_bytes, which is {min}; set both");
    require(min <= max, &ordered)?;
    let operation_bytes = u64::from(kv.batch) * u64::from(max);
    let too_large = format!(
        "workload.batch: {} blocks of {max} bytes are more than the {MAX_OPERATION_BYTES} bytes of an operation; take fewer \
         or smaller ones",
        kv.batch
    );
    require(operation_bytes <= MAX_OPERATION_BYTES, &too_large)?;
    let numbered = !kv.ledger || kv.min_block_bytes as usize >= NUMBER_BYTES;
    require(
        numbered,
        &format!("workload.ledger: needs values of at least {NUMBER_BYTES} bytes: raise min_block_bytes"),
    )?;
    let exponent = kv.zipf_exponent > 0.0 && kv.zipf_exponent <= MAX_ZIPF_EXPONENT;
    require(exponent, "workload.zipf_exponent: must be above 0 and at most 10")
}

/// Checks what a target of Aerospike can do.
pub(super) fn validate_aerospike(kv: &KvOptions) -> Result<(), SpecError> {
    require(!kv.ledger, "workload.ledger: not for targets of kind aerospike")?;
    let fits = kv.max_block_bytes() <= MAX_RECORD_BYTES;
    require(fits, &format!("workload.max_block_bytes: must be at most {MAX_RECORD_BYTES}, the size of a record"))
}
