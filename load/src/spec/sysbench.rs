//! Validates the parameters of sysbench's workloads.

use super::error::{SpecError, require};
use crate::workload::sysbench::{MAX_ROWS, MAX_TABLES};

/// Checks what types cannot say.
pub(super) fn validate(tables: u32, rows: u32) -> Result<(), SpecError> {
    let count = (1..=MAX_TABLES).contains(&tables);
    require(count, &format!("workload.tables: must be 1 to {MAX_TABLES}"))?;
    let fits = (1..=MAX_ROWS).contains(&rows);
    require(fits, "workload.rows: must be 1 to 2147483647 (the id is an int4)")
}
