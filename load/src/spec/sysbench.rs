//! What must hold of the parameters of sysbench's workloads.

use super::error::{SpecError, require};

/// Each is prepared for on every connection.
const MAX_TABLES: u32 = 1_000;

/// Checks what types cannot say.
pub(super) fn validate(tables: u32, rows: u32) -> Result<(), SpecError> {
    let count = (1..=MAX_TABLES).contains(&tables);
    require(count, &format!("workload.tables: must be 1 to {MAX_TABLES}"))?;
    let fits = (1..=i32::MAX as u32).contains(&rows);
    require(fits, "workload.rows: must be 1 to 2147483647 (the id is an int4)")
}
