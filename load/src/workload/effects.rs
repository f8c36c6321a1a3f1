//! What operations do to the tables of a workload: what a server that keeps statistics of its tables must have counted.

use super::OperationId;

/// How often an operation that committed did something. It may be more often than `least` where the server decides: by
/// its plan, or since it begins again after waiting for somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Every time.
    pub least: u32,
    /// At most; `None`: unknown.
    pub most: Option<u32>,
}

impl Times {
    /// Never.
    pub const NEVER: Self = Self::exactly(0);

    /// No more and no less.
    #[must_use]
    pub const fn exactly(times: u32) -> Self {
        Self { least: times, most: Some(times) }
    }

    /// From one number to another.
    #[must_use]
    pub const fn between(least: u32, most: u32) -> Self {
        Self { least, most: Some(most) }
    }

    /// So often, or more.
    #[must_use]
    pub const fn at_least(least: u32) -> Self {
        Self { least, most: None }
    }
}

/// What one operation does. Attempts that did not commit may have done the same, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// Which.
    pub operation: OperationId,
    /// Rows.
    pub inserted: Times,
    /// Rows.
    pub updated: Times,
    /// Rows.
    pub deleted: Times,
    /// Scans of a table or an index, be it for one row: each statement that looks for rows begins one.
    pub scans: Times,
}

impl Effect {
    /// Of an operation that only reads.
    #[must_use]
    pub const fn of_reading(operation: OperationId, scans: Times) -> Self {
        Self { operation, inserted: Times::NEVER, updated: Times::NEVER, deleted: Times::NEVER, scans }
    }

    /// All four, in the order of [`EFFECTS`].
    #[must_use]
    pub const fn times(&self) -> [Times; 4] {
        [self.inserted, self.updated, self.deleted, self.scans]
    }
}

/// What they are called.
pub const EFFECTS: [&str; 4] = ["rows_inserted", "rows_updated", "rows_deleted", "scans"];

/// What the operations of a workload do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// To these tables, all together.
    pub tables: Vec<String>,
    /// Of each operation.
    pub each: Vec<Effect>,
    /// The tally of updates and deletes that rightly found no row, since somebody else had just removed it.
    pub missed: Option<&'static str>,
}

impl Effects {
    /// Of these operations on one table.
    #[must_use]
    pub fn of(table: &str, each: Vec<Effect>) -> Self {
        Self { tables: vec![table.to_owned()], each, missed: None }
    }
}
