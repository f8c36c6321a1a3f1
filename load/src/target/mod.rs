//! What load is sent to. A target knows connections and bytes; it knows no workload, no pace, no histogram.

mod dialect;
pub mod postgres;

pub use dialect::Dialect;

use std::fmt;

/// Index into the statements a workload declares; every connection prepares them once, in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub u16);

/// A statement that is prepared once per connection and executed many times.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Short name for people (`new_order.insert_order`); unique within a workload.
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
    /// `numeric`: `unscaled / 10^scale`.
    Numeric {
        /// The digits as an integer.
        unscaled: i64,
        /// How many of them stand behind the point.
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
        /// How many of them stand behind the point.
        scale: u8,
    },
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
            Self::Lost(why) => write!(f, "connection lost: {why}"),
            Self::Refused(why) => f.write_str(why),
            Self::Protocol(why) => write!(f, "protocol error: {why}"),
        }
    }
}

impl std::error::Error for TargetError {}
