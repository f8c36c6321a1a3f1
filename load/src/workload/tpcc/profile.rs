//! How transactions are cut into round trips.

use crate::target::Dialect;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How TPC-C transactions are split into round trips. All four profiles draw the same inputs, take locks in the same
/// order and leave the same rows. Never compare numbers of different profiles.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// One simple statement per round trip, as many applications work: 20 per New-Order.
    Chatty,
    /// One statement per round trip, each for a set of rows: 11 per New-Order.
    #[default]
    Batched,
    /// One transaction per round trip, with plain statements: 1 per New-Order, and no functions on the server.
    Pipelined,
    /// One call of a function or a procedure of the server per transaction: 1 per New-Order (PostgreSQL, MySQL and
    /// MariaDB).
    Proc,
}

impl Profile {
    /// All of them, from the most round trips to the least.
    pub const ALL: [Self; 4] = [Self::Chatty, Self::Batched, Self::Pipelined, Self::Proc];

    /// Whether servers of `dialect` take its statements: functions are written in PostgreSQL's own language, procedures in
    /// MySQL's, which has neither arrays nor UPDATE ... RETURNING.
    #[must_use]
    pub fn is_of(self, dialect: Dialect) -> bool {
        match dialect {
            Dialect::Postgres => true,
            Dialect::Cockroachdb | Dialect::Yugabytedb => self != Self::Proc,
            Dialect::Mysql => matches!(self, Self::Chatty | Self::Proc),
        }
    }

    /// As a spec writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chatty => "chatty",
            Self::Batched => "batched",
            Self::Pipelined => "pipelined",
            Self::Proc => "proc",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
