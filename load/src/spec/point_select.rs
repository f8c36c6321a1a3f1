//! Parameters of the point-select workload.

use super::error::{SpecError, require};
use crate::workload::sysbench::{MAX_ROWS, ROW_BYTES};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the point-select workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct PointSelectSpec {
    /// Rows of the table; plan 320 bytes of disk for each.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_ROWS), extend("x-fixture-bytes" = ROW_BYTES))]
    pub rows: u32,
}

impl PointSelectSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let fits = (1..=MAX_ROWS).contains(&self.rows);
        require(fits, "workload.rows: must be 1 to 2147483647 (the id is an int4)")
    }
}
