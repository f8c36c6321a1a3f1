//! Validates the parameters of YCSB's core workloads.

use super::error::{SpecError, require};
use crate::workload::ycsb::{MAX_FIELD_BYTES, MAX_FIELDS, MAX_ROWS, Mix, YcsbOptions};

/// Checks what types cannot say.
pub(super) fn validate(ycsb: &YcsbOptions) -> Result<(), SpecError> {
    let rows = (1..=MAX_ROWS).contains(&ycsb.rows);
    require(rows, &format!("workload.rows: must be 1 to {MAX_ROWS}"))?;
    let fields = (1..=MAX_FIELDS).contains(&(ycsb.fields as usize));
    require(fields, &format!("workload.fields: must be 1 to {MAX_FIELDS}"))?;
    let bytes = (1..=MAX_FIELD_BYTES).contains(&ycsb.field_bytes);
    require(bytes, &format!("workload.field_bytes: must be 1 to {MAX_FIELD_BYTES}"))
}

/// Checks what a target of RESP can do.
pub(super) fn validate_resp(ycsb: &YcsbOptions) -> Result<(), SpecError> {
    require(ycsb.mix != Mix::E, "workload.mix: e scans, which needs a target of kind postgres")
}

/// Checks what a target of Aerospike can do.
pub(super) fn validate_aerospike(ycsb: &YcsbOptions) -> Result<(), SpecError> {
    require(ycsb.mix != Mix::E, "workload.mix: e scans, which needs a target of kind postgres")
}
