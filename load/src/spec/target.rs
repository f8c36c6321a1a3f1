//! Where a spec's load goes.

use super::SpecError;
use super::validate::require;
use crate::target::Dialect;
use crate::target::postgres::{Dsn, Isolation, Retry, redact};
use crate::target::resp::Url;
use serde::{Deserialize, Serialize};

/// More operations on one connection wait longer for each other than for the server.
const MOST_IN_PIPELINE: u32 = 1_024;

/// A server, or several that serve one data set. Each kind has its keys; those of others are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// What it speaks.
    #[serde(default)]
    pub kind: TargetKind,
    /// `postgresql://user@host:port/database`, or `redis://host:port/number`. The password comes from `PGPASSWORD`, or
    /// from `REDISCLI_AUTH`.
    pub dsn: String,
    /// PostgreSQL wire: how transactions are isolated.
    #[serde(default, skip_serializing_if = "is_default")]
    pub isolation: Isolation,
    /// PostgreSQL wire: which SQL it speaks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dialect: Dialect,
    /// PostgreSQL wire: how a transaction is tried again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry: Retry,
    /// RESP: how many operations may be under way on one connection.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub pipeline: u32,
    /// RESP: the server is one of a cluster, whose masters share the keys.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster: bool,
}

/// Kinds of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// PostgreSQL wire protocol.
    #[default]
    Postgres,
    /// Redis and Valkey.
    Resp,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

impl TargetSpec {
    /// The target at a DSN, of the kind that its scheme says.
    #[must_use]
    pub fn at(dsn: &str) -> Self {
        Self {
            kind: if Url::is_one(dsn) { TargetKind::Resp } else { TargetKind::Postgres },
            dsn: dsn.to_owned(),
            isolation: Isolation::default(),
            dialect: Dialect::default(),
            retry: Retry::default(),
            pipeline: one(),
            cluster: false,
        }
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let pipeline = (1..=MOST_IN_PIPELINE).contains(&self.pipeline);
        require(pipeline, &format!("target.pipeline: must be 1 to {MOST_IN_PIPELINE}"))?;
        match self.kind {
            TargetKind::Postgres => {
                require(is_one(&self.pipeline), "target.pipeline: is of targets of kind resp")?;
                require(!self.cluster, "target.cluster: is of targets of kind resp")?;
                self.dsn().map(|_| ())
            }
            TargetKind::Resp => {
                require(is_default(&self.isolation), "target.isolation: is of targets of kind postgres")?;
                require(is_default(&self.dialect), "target.dialect: is of targets of kind postgres")?;
                require(is_default(&self.retry), "target.retry: is of targets of kind postgres")?;
                self.url().map(|_| ())
            }
        }
    }

    /// The parsed DSN of a PostgreSQL target, with what the environment adds.
    ///
    /// # Errors
    /// [`SpecError`] without the password.
    pub fn dsn(&self) -> Result<Dsn, SpecError> {
        Dsn::parse(&self.dsn, |name| std::env::var(name).ok())
            .map_err(|error| SpecError(format!("target.dsn: {error}")))
    }

    /// The parsed DSN of a RESP target, with what the environment adds.
    ///
    /// # Errors
    /// [`SpecError`] without the password.
    pub fn url(&self) -> Result<Url, SpecError> {
        Url::parse(&self.dsn, |name| std::env::var(name).ok())
            .map_err(|error| SpecError(format!("target.dsn: {error}")))
    }

    /// The same without a password.
    #[must_use]
    pub(super) fn redacted(&self) -> Self {
        Self { dsn: redact(&self.dsn), ..self.clone() }
    }
}
