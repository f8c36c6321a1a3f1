//! The two operations.

use crate::workload::OperationId;

/// Reads a batch of rows.
pub const READ: OperationId = OperationId(0);
/// Writes a batch of rows.
pub const WRITE: OperationId = OperationId(1);
pub(super) const OPERATIONS: [&str; 2] = ["read", "write"];
