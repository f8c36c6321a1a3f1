//! Validates the parameters of pgbench's transaction.

use super::error::{SpecError, require};
use crate::workload::tpcb::{MAX_BRANCHES, TpcbOptions};

/// Checks what types cannot say.
pub(super) fn validate(tpcb: &TpcbOptions) -> Result<(), SpecError> {
    let scale = (1..=MAX_BRANCHES).contains(&tpcb.scale);
    require(scale, &format!("workload.scale: must be 1 to {MAX_BRANCHES} (an account is an int4)"))
}
