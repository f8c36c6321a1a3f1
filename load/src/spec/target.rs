//! The target of a spec.

use super::error::{SpecError, require};
use crate::target::aerospike::{DEFAULT_SET, MAX_NAMESPACE_CHARACTERS, Place};
use crate::target::postgres::{Dsn, Isolation, Prepared, Retry, redact};
use crate::target::resp::Url;
use crate::target::{Dialect, mysql};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// More operations on one connection wait longer for each other than for the server.
const MAX_PIPELINE: u32 = 1_024;

/// A server, or several that serve one data set. Each kind has its own keys and refuses those of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_schema_per_kind)]
pub struct TargetSpec {
    /// Which protocol the server speaks.
    #[serde(default)]
    pub kind: TargetKind,
    /// `postgresql://user@host:port/database` (or `?host=/socket/directory`; sslmode and the like as in libpq), or
    /// `redis://[user@]host:port/number`, or `unix:///path/of/socket`, or `mysql://user@host:port/database` (or
    /// `?socket=/path`; ssl-mode and the like as in MySQL's clients). The password comes from the environment,
    /// `PGPASSWORD`, `REDISCLI_AUTH` or `MYSQL_PWD`.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-kinds" = ["postgres", "resp", "mysql"], "x-required" = true))]
    pub dsn: String,
    /// Isolation level of transactions.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-kinds" = ["postgres", "mysql"], "default" = Isolation::default()))]
    pub isolation: Isolation,
    /// SQL dialect of the schema, the statements and the checks.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-kinds" = ["postgres"], "default" = Dialect::default()))]
    pub dialect: Dialect,
    /// How to retry a transaction.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-kinds" = ["postgres"], "default" = Retry::default()))]
    pub retry: Retry,
    /// How statements are prepared. auto: once per connection, under names, unless a connection pooler answers that
    /// does not keep names apart; then with each execution.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-kinds" = ["postgres"], "default" = Prepared::default()))]
    pub prepared: Prepared,
    /// Operations in flight on one connection at a time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = MAX_PIPELINE), extend("x-kinds" = ["resp", "mysql"], "default" = one()))]
    pub pipeline: u32,
    /// The server belongs to a cluster, whose masters share connections and keys.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-kinds" = ["resp"], "default" = false))]
    pub cluster: bool,
    /// `host:port` of nodes; they name the others.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(min = 1), extend("x-kinds" = ["aerospike"], "x-required" = true))]
    pub hosts: Vec<String>,
    /// A namespace that the nodes have.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(min = 1, max = MAX_NAMESPACE_CHARACTERS), extend("x-kinds" = ["aerospike"], "x-required" = true))]
    pub namespace: String,
    /// The set that holds all records; a load empties it.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "String", regex(pattern = r"^[^:;/=,\x00-\x20]{1,63}$"))]
    #[schemars(extend("x-kinds" = ["aerospike"], "default" = DEFAULT_SET))]
    pub set: Option<String>,
}

/// Makes the schema of a target a choice of one schema per kind: `x-kinds` of a property names the kinds that have it,
/// `x-required` says that they need it.
fn one_schema_per_kind(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.remove("properties") else { return };
    let kinds = TargetKind::json_schema(&mut SchemaGenerator::default());
    let kinds = kinds.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    schema.remove("type");
    schema.remove("additionalProperties");
    schema.insert("oneOf".to_owned(), kinds.iter().map(|kind| of_kind(kind, &properties)).collect());
}

fn of_kind(kind: &Value, properties: &Map<String, Value>) -> Value {
    let is_default = properties["kind"]["default"] == kind["const"];
    let mut own = json!({"kind": {"type": "string", "const": kind["const"]}});
    let mut required = if is_default { vec![] } else { vec!["kind"] };
    if is_default {
        own["kind"]["default"] = kind["const"].clone();
    }
    for (name, property) in properties {
        let Some(Value::Array(kinds)) = property.get("x-kinds") else { continue };
        if !kinds.contains(&kind["const"]) {
            continue;
        }
        let mut property = property.clone();
        let keywords = property.as_object_mut().expect("a property's schema is an object");
        keywords.remove("x-kinds");
        if keywords.remove("x-required").is_some() {
            required.push(name);
        }
        own[name] = property;
    }
    let description = &kind["description"];
    json!({"type": "object", "description": description, "properties": own, "required": required,
           "additionalProperties": false})
}

/// Kinds of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// PostgreSQL's wire protocol.
    #[default]
    Postgres,
    /// Redis and Valkey: for kv, ycsb and null, without TLS.
    Resp,
    /// MySQL and MariaDB: transactions in the profile `chatty`, and TPC-C as `proc`.
    Mysql,
    /// Aerospike: for kv (one row per operation), ycsb (except E) and null, without users and TLS.
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
            prepared: Prepared::default(),
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
            None if Url::is_one(dsn) => of(TargetKind::Resp, dsn),
            None if mysql::Dsn::is_one(dsn) => of(TargetKind::Mysql, dsn),
            None => of(TargetKind::Postgres, dsn),
        }
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let pipeline = (1..=MAX_PIPELINE).contains(&self.pipeline);
        require(pipeline, &format!("target.pipeline: must be 1 to {MAX_PIPELINE}"))?;
        let has_isolation = matches!(self.kind, TargetKind::Postgres | TargetKind::Mysql);
        let isolation = has_isolation || is_default(&self.isolation);
        require(isolation, "target.isolation: only for targets of kind postgres and mysql")?;
        require(self.dialect != Dialect::Mysql, "target.dialect: mysql is that of targets of kind mysql alone")?;
        if self.kind != TargetKind::Postgres {
            require(is_default(&self.dialect), "target.dialect: only for targets of kind postgres")?;
            require(is_default(&self.retry), "target.retry: only for targets of kind postgres")?;
            require(is_default(&self.prepared), "target.prepared: only for targets of kind postgres")?;
        }
        let has_pipeline = matches!(self.kind, TargetKind::Resp | TargetKind::Mysql);
        let pipeline = has_pipeline || is_one(&self.pipeline);
        require(pipeline, "target.pipeline: only for targets of kind resp and mysql")?;
        if self.kind != TargetKind::Resp {
            require(!self.cluster, "target.cluster: only for targets of kind resp")?;
        }
        if self.kind != TargetKind::Aerospike {
            require(self.hosts.is_empty(), "target.hosts: only for targets of kind aerospike")?;
            require(self.namespace.is_empty(), "target.namespace: only for targets of kind aerospike")?;
            require(self.set.is_none(), "target.set: only for targets of kind aerospike")?;
        }
        match self.kind {
            TargetKind::Postgres => self.dsn().map(|_| ()),
            TargetKind::Resp => self.url().map(|_| ()),
            TargetKind::Mysql => self.mysql_dsn().map(|_| ()),
            TargetKind::Aerospike => {
                require(
                    self.dsn.is_empty(),
                    "target.dsn: not for targets of kind aerospike: give hosts, namespace and set",
                )?;
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

    /// The SQL of the schema, the statements and the checks.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        if self.kind == TargetKind::Mysql { Dialect::Mysql } else { self.dialect }
    }

    /// The parsed DSN of a target of MySQL's protocol, with what the environment adds.
    ///
    /// # Errors
    /// [`SpecError`] without the password.
    pub fn mysql_dsn(&self) -> Result<mysql::Dsn, SpecError> {
        mysql::Dsn::parse(&self.dsn, |name| std::env::var(name).ok())
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
