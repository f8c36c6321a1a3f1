//! What load is sent to. A target knows connections and bytes, but no workload, pace or histogram.

pub mod aerospike;
mod dialect;
#[cfg(feature = "testkit")]
pub mod fuzzing;
mod inbox;
mod link;
pub mod mysql;
pub mod postgres;
mod quoted;
pub mod resp;
mod socket;
mod sql;

pub use dialect::Dialect;
use sql::RowsSoFar;
pub use sql::{AdminSession, Cancel, Copied, Fill, PrepareError, SqlBatch, SqlReply, SqlRow, SqlSession, TextRows};

use std::fmt;
use std::io;
use std::os::fd::AsFd;

/// What is sent in one exchange. It is reused, so that a warm one allocates nothing.
pub trait Request: Send {
    /// Forgets what it holds, and keeps the memory.
    fn clear(&mut self);
}

/// A session with a server that does not wait: an engine watches its socket, and calls when something can go on.
///
/// Exchanges are answered in the order in which they began. Where a target takes several at a time, an engine that
/// sends several requests before it asks for the first answer has them on the way together.
pub trait Session: AsFd + Send + Sized + 'static {
    /// What is sent.
    type Request: Request;
    /// What comes back.
    type Reply;

    /// From now on nothing waits.
    ///
    /// # Errors
    /// [`TargetError::Lost`].
    fn set_nonblocking(&mut self) -> Result<(), TargetError>;

    /// Lets a request that is empty be filled, with the last reply at hand, and at best where it will be sent from.
    /// What was filled in must be started at once.
    fn fill<R>(&mut self, request: &mut Self::Request, fill: impl FnOnce(&Self::Reply, &mut Self::Request) -> R) -> R {
        fill(self.reply(), request)
    }

    /// Begins an exchange: sends what the kernel takes, or keeps it for [`Session::flush`]. The request must be neither
    /// changed nor cleared before [`Session::advance`] has said that its exchange is over.
    ///
    /// # Errors
    /// [`TargetError::Lost`].
    fn begin(&mut self, request: &mut Self::Request) -> Result<(), TargetError>;

    /// Sends what [`Session::begin`] has kept, as much as the kernel takes.
    ///
    /// # Errors
    /// [`TargetError::Lost`].
    fn flush(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Goes on with the exchange of this request, the oldest in flight, as far as that goes without waiting.
    ///
    /// # Errors
    /// [`TargetError::Database`] when the server refuses it, and others when the session is of no more use.
    fn advance(&mut self, request: &Self::Request) -> Result<Poll, TargetError>;

    /// Whether something must still be sent: then wait until the socket is writable, too.
    fn wants_write(&self, request: &Self::Request) -> bool;

    /// The answer to the exchange that was last over.
    fn reply(&self) -> &Self::Reply;

    /// Reads what came while nothing was asked.
    ///
    /// # Errors
    /// [`TargetError::Lost`], with the server's reason.
    fn listen(&mut self) -> Result<(), TargetError>;

    /// Whether this request would change something for good on this session as it is.
    fn commits(&self, request: &Self::Request) -> bool;

    /// Fills `request` with what leaves a transaction that is open or has failed, to try it `again` or not; false when
    /// there is none.
    fn leave(&self, _request: &mut Self::Request, _again: bool) -> bool {
        false
    }
}

/// Whether an exchange is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll {
    /// Something is still to be sent or to come.
    Pending,
    /// The answer is there.
    Ready {
        /// Whether it was read with the one before.
        together: bool,
    },
}

/// Index into the statements a workload declares; every connection prepares them once, in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub u16);

/// A statement that is prepared once per connection and executed many times.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Short name for people (`new_order.insert_order`); statements that differ in their table alone share one.
    pub name: &'static str,
    /// The statement's text, with `$1`-style parameters whose types the server can infer (cast where it cannot).
    pub sql: String,
}

/// A parameter, encoded in binary. Money is never a float.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// `int4`.
    I32(i32),
    /// `int8`.
    I64(i64),
    /// `text`, `varchar`, `char`.
    Text(&'a str),
    /// `bytea`.
    Bytes(&'a [u8]),
    /// `numeric`: `unscaled / 10^scale`.
    Numeric {
        /// The digits as an integer.
        unscaled: i64,
        /// How many of them follow the decimal point.
        scale: u8,
    },
    /// `timestamp`, microseconds since the Unix epoch.
    TimestampMicros(i64),
    /// `int4[]`.
    I32Array(&'a [i32]),
    /// `text[]`; all elements not null.
    TextArray(&'a [&'a str]),
    /// `numeric[]`, all of one scale.
    NumericArray {
        /// The digits of each element.
        unscaled: &'a [i64],
        /// How many of them follow the decimal point.
        scale: u8,
    },
}

/// Takes rows, a value at a time (COPY BINARY, or text for a fingerprint).
pub trait RowWriter {
    /// Writes one row.
    ///
    /// # Errors
    /// Whatever the sink returned.
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()>;
}

/// Why an exchange failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetError {
    /// The server answered with an error; the connection is usable after `reset`.
    Database {
        /// Five characters, for example `40001`.
        sqlstate: String,
        /// The server's message.
        message: String,
    },
    /// The connection is gone (closed, reset, timed out).
    Lost(String),
    /// We will not go on: what the server is or offers is not what the DSN asks for.
    Refused(String),
    /// The server sent something this client does not understand: a defect of one of the two.
    Protocol(String),
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database { sqlstate, message } => write!(f, "server error {sqlstate}: {message}"),
            Self::Lost(why) => write!(f, "no connection: {why}"),
            Self::Refused(why) => f.write_str(why),
            Self::Protocol(why) => write!(f, "protocol error: {why}"),
        }
    }
}

impl std::error::Error for TargetError {}
