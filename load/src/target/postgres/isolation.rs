//! Isolation levels.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Isolation level of transactions, written as in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// PostgreSQL's own default.
    #[default]
    #[serde(rename = "read committed")]
    ReadCommitted,
    /// Snapshot isolation.
    #[serde(rename = "repeatable read")]
    RepeatableRead,
    /// Serializable snapshot isolation; CockroachDB always uses it.
    Serializable,
}

impl Isolation {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// As a spec writes it, and as servers show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// Shows the one of the transaction in progress.
    pub const SHOW: &'static str = "SHOW transaction_isolation";
    /// Shows the one of statements outside a transaction.
    pub const SHOW_DEFAULT: &'static str = "SHOW default_transaction_isolation";

    /// As SQL writes it.
    #[must_use]
    pub fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }

    /// Sets it for all transactions of a session.
    #[must_use]
    pub fn session_sql(self) -> String {
        format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {}", self.sql())
    }

    /// Begins a transaction.
    #[must_use]
    pub fn begin_sql(self) -> String {
        format!("BEGIN ISOLATION LEVEL {}", self.sql())
    }
}
