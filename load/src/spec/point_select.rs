//! Parameters of the point-select workload.

use super::error::{SpecError, require};
use clap::Args;
use serde::{Deserialize, Serialize};

/// Parameters of the point-select workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct PointSelectSpec {
    /// Rows of the table: about 200 bytes each.
    #[arg(long)]
    pub rows: u32,
}

impl PointSelectSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let fits = (1..=i32::MAX as u32).contains(&self.rows);
        require(fits, "workload.rows: must be 1 to 2147483647 (the id is an int4)")
    }
}
