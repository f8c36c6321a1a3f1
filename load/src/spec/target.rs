//! Where a spec's load goes.

use super::error::{SpecError, require};
use crate::target::Dialect;
use crate::target::aerospike::{DEFAULT_SET, Place};
use crate::target::postgres::{Dsn, Isolation, Retry, redact};
use crate::target::resp::Url;
use serde::{Deserialize, Serialize};

/// More operations on one connection wait longer for each other than for the server.
const MAX_PIPELINE: u32 = 1_024;

/// A server, or several that serve one data set. Each kind has its keys; those of others are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// What it speaks.
    #[serde(default)]
    pub kind: TargetKind,
    /// PostgreSQL wire and RESP: `postgresql://user@host:port/database`, or `redis://host:port/number`. The password comes
    /// from `PGPASSWORD`, or from `REDISCLI_AUTH`.
    #[serde(default, skip_serializing_if = "is_default")]
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
    /// Aerospike: nodes, `host:port` each, that are asked for the others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hosts: Vec<String>,
    /// Aerospike: where the set is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub namespace: String,
    /// Aerospike: what all records are in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub set: Option<String>,
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
    /// Aerospike.
    Aerospike,
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
        let of = |kind, dsn: &str| Self {
            kind,
            dsn: dsn.to_owned(),
            isolation: Isolation::default(),
            dialect: Dialect::default(),
            retry: Retry::default(),
            pipeline: one(),
            cluster: false,
            hosts: Vec::new(),
            namespace: String::new(),
            set: None,
        };
        match Place::parts(dsn) {
            Some(parts) => Self {
                hosts: parts.hosts.into_iter().map(str::to_owned).collect(),
                namespace: parts.namespace.to_owned(),
                set: parts.set.map(str::to_owned),
                ..of(TargetKind::Aerospike, "")
            },
            None => of(if Url::is_one(dsn) { TargetKind::Resp } else { TargetKind::Postgres }, dsn),
        }
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let pipeline = (1..=MAX_PIPELINE).contains(&self.pipeline);
        require(pipeline, &format!("target.pipeline: must be 1 to {MAX_PIPELINE}"))?;
        if self.kind != TargetKind::Postgres {
            require(is_default(&self.isolation), "target.isolation: is of targets of kind postgres")?;
            require(is_default(&self.dialect), "target.dialect: is of targets of kind postgres")?;
            require(is_default(&self.retry), "target.retry: is of targets of kind postgres")?;
        }
        if self.kind != TargetKind::Resp {
            require(is_one(&self.pipeline), "target.pipeline: is of targets of kind resp")?;
            require(!self.cluster, "target.cluster: is of targets of kind resp")?;
        }
        if self.kind != TargetKind::Aerospike {
            require(self.hosts.is_empty(), "target.hosts: is of targets of kind aerospike")?;
            require(self.namespace.is_empty(), "target.namespace: is of targets of kind aerospike")?;
            require(self.set.is_none(), "target.set: is of targets of kind aerospike")?;
        }
        match self.kind {
            TargetKind::Postgres => self.dsn().map(|_| ()),
            TargetKind::Resp => self.url().map(|_| ()),
            TargetKind::Aerospike => {
                require(self.dsn.is_empty(), "target.dsn: is of other targets: name hosts, namespace and set")?;
                self.place().map(|_| ())
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

    /// The place of an Aerospike target.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn place(&self) -> Result<Place, SpecError> {
        Place::new(&self.hosts, &self.namespace, self.set.as_deref().unwrap_or(DEFAULT_SET))
            .map_err(|error| SpecError(format!("target.{error}")))
    }

    /// The same without a password.
    #[must_use]
    pub(super) fn redacted(&self) -> Self {
        Self { dsn: redact(&self.dsn), ..self.clone() }
    }
}
