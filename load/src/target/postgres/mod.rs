//! PostgreSQL wire protocol, extended query, binary format, on `postgres-protocol`.

use super::{StatementId, Value};

/// One round trip: commands in order, ended by one `Sync`. Reused, so that a warm batch allocates nothing.
#[derive(Debug, Default)]
pub struct Batch {}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends Bind + Execute. The n-th call to `execute` in a batch is answered by `Reply::rows(n)`;
    /// `begin`, `commit` and `rollback` are not counted.
    pub fn execute(&mut self, _statement: StatementId, _values: &[Value<'_>]) {
        unimplemented!()
    }

    /// Appends `BEGIN` with the target's isolation level.
    pub fn begin(&mut self) {
        unimplemented!()
    }

    /// Appends `COMMIT`.
    pub fn commit(&mut self) {
        unimplemented!()
    }

    /// Appends `ROLLBACK`.
    pub fn rollback(&mut self) {
        unimplemented!()
    }
}

/// The answer to one batch; rows are read in place.
#[derive(Debug, Default)]
pub struct Reply {}

impl Reply {
    /// Number of rows the n-th `execute` returned.
    #[must_use]
    pub fn row_count(&self, _execute: usize) -> usize {
        unimplemented!()
    }

    /// Rows affected, from the command tag (`UPDATE 3` is 3).
    #[must_use]
    pub fn affected(&self, _execute: usize) -> u64 {
        unimplemented!()
    }

    /// The `row`-th row of the n-th `execute`; `None` past the end.
    #[must_use]
    pub fn row(&self, _execute: usize, _row: usize) -> Option<Row<'_>> {
        unimplemented!()
    }
}

/// One row, decoded on demand. Every getter answers `None` for SQL NULL and for a value of another type or length.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    _body: &'a [u8],
}

impl<'a> Row<'a> {
    /// `int4` (or `int2`).
    #[must_use]
    pub fn i32(&self, _column: usize) -> Option<i32> {
        unimplemented!()
    }
    /// `int8` (or narrower).
    #[must_use]
    pub fn i64(&self, _column: usize) -> Option<i64> {
        unimplemented!()
    }
    /// `text`, `varchar`, `char`.
    #[must_use]
    pub fn text(&self, _column: usize) -> Option<&'a str> {
        unimplemented!()
    }
    /// `numeric` as an integer scaled by `10^scale`; `None` when it has more digits behind the point than `scale`.
    #[must_use]
    pub fn numeric(&self, _column: usize, _scale: u8) -> Option<i64> {
        unimplemented!()
    }
}
