//! What workloads and checks use of any server that speaks SQL, whatever its protocol.
//!
//! What runs for each operation is a type parameter, so that nothing of it is looked up while a load runs.

use super::{Request, RowWriter, Session, StatementId, TargetError, Value};
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

/// A session that executes prepared statements.
pub trait SqlSession: Session<Request: SqlBatch, Reply: SqlReply> {}

impl<S: Session<Request: SqlBatch, Reply: SqlReply>> SqlSession for S {}

/// One round trip: commands in order.
pub trait SqlBatch: Request {
    /// Appends the execution of a statement. The n-th one of a batch is answered by `row(n, …)` of its reply; `begin` and
    /// `commit` are not counted.
    fn execute<'a>(&mut self, statement: StatementId, values: &[Value<'a>]) {
        self.execute_each(statement, values.iter().copied());
    }

    /// The same with values that come one by one.
    fn execute_each<'a>(&mut self, statement: StatementId, values: impl IntoIterator<Item = Value<'a>>);

    /// Appends the begin of a transaction, at the isolation level of the target.
    fn begin(&mut self);

    /// Appends its end.
    fn commit(&mut self);

    /// Appends its end without what it did.
    fn rollback(&mut self);
}

/// The answer to a batch.
pub trait SqlReply {
    /// A row of it.
    type Row<'a>: SqlRow<'a>
    where
        Self: 'a;

    /// Number of rows the n-th execution returned.
    fn row_count(&self, execute: usize) -> usize;

    /// How many rows it changed; an update to the same value is one.
    fn affected(&self, execute: usize) -> u64;

    /// The `row`-th row of the n-th execution; `None` past the end.
    fn row(&self, execute: usize, row: usize) -> Option<Self::Row<'_>>;

    /// The rows of the n-th execution.
    fn rows(&self, execute: usize) -> impl Iterator<Item = Self::Row<'_>> {
        (0..self.row_count(execute)).filter_map(move |row| self.row(execute, row))
    }
}

/// A row, decoded on demand. Every getter answers `None` for SQL NULL and for a value of another type or length.
pub trait SqlRow<'a>: Copy {
    /// An integer that fits.
    fn i32(&self, column: usize) -> Option<i32>;

    /// An integer of 64 bits, or narrower.
    fn i64(&self, column: usize) -> Option<i64>;

    /// Text.
    fn text(&self, column: usize) -> Option<&'a str>;

    /// Whether a text is this one.
    fn is_text(&self, column: usize, text: &str) -> Option<bool> {
        Some(self.text(column)? == text)
    }

    /// The row without its first columns, for who reads many.
    fn after(&self, columns: usize) -> Self;

    /// Bytes that are no text.
    fn bytes(&self, column: usize) -> Option<&'a [u8]>;

    /// A decimal number as an integer scaled by `10^scale`; `None` when it has more digits behind the point than `scale`.
    fn numeric(&self, column: usize, scale: u8) -> Option<i64>;
}

/// Rows of a query, as text; `None` is NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

/// What the rows of a query for people or checks may take in memory.
const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// Rows of a query as they come.
#[derive(Debug, Default)]
pub(super) struct RowsSoFar {
    rows: TextRows,
    bytes: usize,
}

impl RowsSoFar {
    /// Adds a row.
    ///
    /// # Errors
    /// [`TargetError::Protocol`] when all of them take too much: values without text take memory, too.
    pub(super) fn push(&mut self, row: Vec<Option<String>>) -> Result<(), TargetError> {
        let value_bytes = |value: &Option<String>| size_of_val(value) + value.as_ref().map_or(0, String::len);
        self.bytes += size_of_val(&row) + row.iter().map(value_bytes).sum::<usize>();
        if self.bytes > MAX_TEXT_BYTES {
            return Err(TargetError::Protocol("an answer of more rows than any query has".to_owned()));
        }
        self.rows.push(row);
        Ok(())
    }

    /// Another answer begins.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn all(self) -> TextRows {
        self.rows
    }
}

/// A session for set-up, loading and checks, which waits for each answer.
pub trait AdminSession: Send + Sized {
    /// Where a server is, and how to log in. Printing it never shows the password.
    type Dsn: Clone + fmt::Debug + fmt::Display + Send + Sync;
    /// Cancels from outside what a session is doing.
    type Canceller: Cancel;
    /// Takes the rows of a table.
    type Filler<'a>: Fill<'a, Self>
    where
        Self: 'a;
    /// The environment variable that holds the password.
    const PASSWORD_VARIABLE: &'static str;

    /// Connects and logs in. Afterwards a server whose answer takes longer than `timeout` counts as lost; `None` waits
    /// for ever.
    ///
    /// # Errors
    /// [`TargetError`] when the server cannot be reached, refuses the login, or is not what the DSN asks for.
    fn open(dsn: &Self::Dsn, timeout: Option<Duration>) -> Result<Self, TargetError>;

    /// Has this session wait from now on, before it reads, for what was committed at other servers, where each has all
    /// data and answers from what it has, as in Galera; whether that is so.
    ///
    /// # Errors
    /// [`TargetError`] of the connection, or a refusal.
    fn wait_for_copies(&mut self) -> Result<bool, TargetError> {
        Ok(false)
    }

    /// The DSN's other servers, each alone, where they have copies.
    fn others(&self, _dsn: &Self::Dsn) -> Vec<Self::Dsn> {
        Vec::new()
    }

    /// Runs a statement; its rows.
    ///
    /// # Errors
    /// [`TargetError::Database`] when the server refuses it, and others when the session is of no more use.
    fn query(&mut self, sql: &str) -> Result<TextRows, TargetError>;

    /// Leaves a failed or open transaction. The number of round trips it took.
    ///
    /// # Errors
    /// As [`AdminSession::query`].
    fn reset(&mut self) -> Result<u32, TargetError>;

    /// How long the server may be silent from now on while an answer is due; `None`: for ever.
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the socket does not take it.
    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), TargetError>;

    /// What cancels a statement of this session; `None` when the server offers nothing.
    fn canceller(&self) -> Option<Self::Canceller>;
}

/// Cancels what a session does.
pub trait Cancel: Send + fmt::Debug + 'static {
    /// Asks the server for it; whether it did is not known.
    ///
    /// # Errors
    /// [`TargetError`] when the server cannot be reached.
    fn cancel(self) -> Result<(), TargetError>;
}

/// Writes rows into one table in the fastest way that a server has.
pub trait Fill<'a, S>: RowWriter + Sized {
    /// Starts with the statement that takes rows from the client.
    ///
    /// # Errors
    /// [`TargetError`] when the server refuses.
    fn start(session: &'a mut S, sql: &str) -> Result<Self, TargetError>;

    /// What was sent by now: all but the last rows, which are collected first.
    fn sent_bytes(&self) -> u64;

    /// Finishes this statement, hands the session and what was written to `between`, and starts the statement `sql`.
    ///
    /// # Errors
    /// As [`Fill::finish`], `between` and [`Fill::start`].
    fn turn_over(
        &mut self,
        sql: &str,
        between: impl FnOnce(&mut S, Copied) -> Result<(), TargetError>,
    ) -> Result<(), TargetError>;

    /// Sends what is left, and waits for the server to confirm the rows.
    ///
    /// # Errors
    /// [`TargetError`]: the server's error about any row, a lost connection, or a server that counts other rows than
    /// were sent.
    fn finish(self) -> Result<Copied, TargetError>;

    /// Gives up: the server discards the rows, and the session is usable again.
    ///
    /// # Errors
    /// [`TargetError`] when it is not.
    fn abandon(self, why: &str) -> Result<(), TargetError>;
}

/// What was written of a piece of a data set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Rows.
    pub rows: u64,
    /// Bytes of them on the wire, without the protocol's own headers.
    pub bytes: u64,
}

impl AddAssign for Copied {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

/// A statement that the server would not prepare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrepareError {
    /// The statement's name in the workload.
    pub statement: &'static str,
    /// What the server said.
    pub error: TargetError,
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot prepare statement {}: {}", self.statement, self.error)
    }
}

impl std::error::Error for PrepareError {}
