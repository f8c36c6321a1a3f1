//! How transactions are cut into round trips.

use crate::target::Dialect;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How TPC-C's transactions are cut into round trips. All four draw the same inputs, take locks in the same order, and
/// leave the same rows; numbers of two of them must not be compared, and never stand in one chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A simple statement a round trip, as many applications do it: 20 a New-Order.
    Chatty,
    /// A statement over a whole set of rows a round trip: 11 a New-Order.
    #[default]
    Batched,
    /// A transaction a round trip, by statements alone: 1 a New-Order, and nothing is kept on the server.
    Pipelined,
    /// A function of the server a transaction, in PL/pgSQL: 1 a New-Order (PostgreSQL only).
    Proc,
}

impl Profile {
    /// All of them, from the most round trips to the least.
    pub const ALL: [Self; 4] = [Self::Chatty, Self::Batched, Self::Pipelined, Self::Proc];

    /// Whether servers of `dialect` take its statements: functions are written in PostgreSQL's own language.
    #[must_use]
    pub fn is_of(self, dialect: Dialect) -> bool {
        self != Self::Proc || dialect == Dialect::Postgres
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
