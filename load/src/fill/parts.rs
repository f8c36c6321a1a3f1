//! The rows of a piece, in one COPY or in several: of each but the last, a transaction commits the rows and a note.

use crate::stop::Stop;
use crate::target::{AdminSession, Copied, Fill, RowWriter, TargetError, Value};
use std::io;

/// Transaction control of a load, which runs at the server's default level.
pub const TRANSACTION: [&str; 2] = ["BEGIN", "COMMIT"];

/// How to copy a piece.
pub struct Copy<'a> {
    /// Starts a COPY.
    pub sql: String,
    /// See [`crate::target::Dialect::max_transaction_bytes`].
    pub max_bytes: Option<u64>,
    /// The statement that notes how many rows of the piece are there.
    pub note: &'a dyn Fn(Copied) -> String,
}

/// Passes rows on until a stop is requested.
pub struct Parts<'a, C: AdminSession + 'a> {
    writer: C::Filler<'a>,
    copy: &'a Copy<'a>,
    /// What is committed.
    done: &'a mut Copied,
    /// Rows to come that are committed already.
    skipped: u64,
    stop: &'a Stop,
}

impl<'a, C: AdminSession> Parts<'a, C> {
    /// Starts to copy what comes after the first `done` in the transaction that is open.
    ///
    /// # Errors
    /// [`TargetError`] when the server refuses.
    pub fn start(
        connection: &'a mut C,
        copy: &'a Copy<'a>,
        done: &'a mut Copied,
        stop: &'a Stop,
    ) -> Result<Self, TargetError> {
        let writer = Fill::start(connection, &copy.sql)?;
        Ok(Self { writer, copy, skipped: done.rows, done, stop })
    }

    /// What was copied and is not committed yet.
    ///
    /// # Errors
    /// As [`Fill::finish`].
    pub fn finish(self) -> Result<Copied, TargetError> {
        self.writer.finish()
    }

    /// Gives up; what was committed stays.
    ///
    /// # Errors
    /// As [`Fill::abandon`].
    pub fn abandon(self) -> Result<(), TargetError> {
        self.writer.abandon("interrupted")
    }

    fn commit(&mut self) -> Result<(), TargetError> {
        let Self { copy, done, .. } = self;
        self.writer.turn_over(&copy.sql, |connection, copied| {
            let mut reached = **done;
            reached += copied;
            connection.query(&(copy.note)(reached))?;
            connection.query(TRANSACTION[1])?;
            **done = reached;
            connection.query(TRANSACTION[0]).map(|_| ())
        })
    }
}

impl<C: AdminSession> RowWriter for Parts<'_, C> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        if self.stop.requested() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "asked to stop"));
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(());
        }
        if self.copy.max_bytes.is_some_and(|most| self.writer.sent_bytes() >= most) {
            self.commit().map_err(io::Error::other)?;
        }
        self.writer.row(values)
    }
}
