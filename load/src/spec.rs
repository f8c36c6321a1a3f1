//! What the program is asked to do: a JSON document, `nephoscope/load-spec/1`.
//!
//! The field names are a contract with `nephoscope.benchmarks.load_spec`. An unknown key is an error, never
//! ignored: a misspelt key would silently measure something else.

pub use crate::workload::tpcc::profile::Profile as TpccProfile;
pub use crate::workload::tpcc::terminals::Mix as TpccMix;

use crate::pace::{Pace, Share};
use crate::target::Dialect;
use crate::target::postgres::{Dsn, Isolation, Retry, redact};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;

/// 100 TB of data.
const MOST_WAREHOUSES: u32 = 1_000_000;
/// Each is a process of the server.
const MOST_CONNECTIONS: u32 = 10_000;
/// Each takes a place in a heap here.
const MOST_WORKERS: u64 = 10_000_000;
const MOST_THREADS: u32 = 1_024;
/// Clause 4.2.2.
const TERMINALS_PER_WAREHOUSE: u64 = 10;
/// What one machine can never offer.
const HIGHEST_RATE_PER_S: f64 = 1e8;
/// With its pauses, more takes minutes for one operation.
const MOST_RETRIES: u32 = 1_000;
/// Machines that generate load.
const MOST_SHARDS: u32 = 10_000;
/// A year: longer is a mistake in the unit.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// One action on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Name and version of this format.
    #[serde(default)]
    pub schema: Schema,
    /// What to do.
    pub action: Action,
    /// Where.
    pub target: PostgresTarget,
    /// With what.
    pub workload: WorkloadSpec,
    /// Data and operations are functions of (seed, index).
    pub seed: u64,
    /// Sessions; when loading, parallel COPY streams.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// Threads that drive; as many as the CPUs allow and the connections need when absent.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Whether thread i stays on the i-th CPU of the affinity mask.
    #[serde(default)]
    pub pin: bool,
    /// Concurrent clients of this generator; see [`Spec::share`] for the default.
    #[serde(default)]
    pub workers: Option<u32>,
    /// When operations are due.
    #[serde(default)]
    pub pace: PaceSpec,
    /// Driven but not measured, in seconds.
    #[serde(default)]
    pub ramp_s: f64,
    /// The measurement interval, in seconds.
    #[serde(default = "default_duration_s")]
    pub duration_s: f64,
    /// Stop after so many operations (of all shards together), besides the duration.
    #[serde(default)]
    pub operations: Option<u64>,
    /// When several generators begin together, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub start_at_unix_ms: Option<u64>,
    /// A server that is silent for so long while an operation waits is lost, in seconds.
    #[serde(default = "default_answer_timeout_s")]
    pub answer_timeout_s: f64,
    /// A lost connection may take so long to come back before the load gives up, in seconds.
    #[serde(default = "default_reconnect_timeout_s")]
    pub reconnect_timeout_s: f64,
    /// How often one operation is tried again after 40001 and 40P01.
    #[serde(default = "default_max_retries")]
    pub max_retries: u32,
    /// What is verified after the action.
    #[serde(default)]
    pub check: CheckSpec,
    /// Which part of a load is done, and whether one is taken up again.
    #[serde(default)]
    pub load: LoadSpec,
    /// After a load, or in a check: compare every table with what its seed makes. It holds only right after a load.
    #[serde(default)]
    pub fingerprint: bool,
    /// Which share of the work is this process's.
    #[serde(default)]
    pub shard: ShardSpec,
}

/// How a load is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Which part of it.
    #[serde(default)]
    pub part: LoadPart,
    /// Leave what an earlier load of the same data set wrote, and go on behind it.
    #[serde(default)]
    pub resume: bool,
}

/// Parts of a load, in their order. Several processes share one: one creates, each writes its shard's rows, one
/// finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LoadPart {
    /// All of them.
    #[default]
    All,
    /// Empty tables, older ones dropped.
    Create,
    /// The rows of this process's shard that are not there yet.
    Rows,
    /// Once every shard has written its rows: statistics, keys, indexes, constants, checks.
    Finish,
}

/// A share of the work: `index` of `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardSpec {
    /// From 0.
    #[serde(default)]
    pub index: u32,
    /// At least 1.
    #[serde(default = "default_connections")]
    pub count: u32,
}

impl Default for ShardSpec {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

/// The one version of the spec there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Schema {
    /// Version 1.
    #[default]
    #[serde(rename = "nephoscope/load-spec/1")]
    V1,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Create and fill the tables, then check.
    Load,
    /// Drive the workload, then check.
    Run,
    /// Only the consistency conditions.
    Check,
}

/// A server of the PostgreSQL wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresTarget {
    /// The one kind there is.
    #[serde(default)]
    pub kind: TargetKind,
    /// `postgresql://user@host:port/database`; the password comes from `PGPASSWORD`.
    pub dsn: String,
    /// How transactions are isolated.
    #[serde(default)]
    pub isolation: IsolationSpec,
    /// Which SQL it speaks.
    #[serde(default)]
    pub dialect: Dialect,
    /// How a transaction is tried again.
    #[serde(default)]
    pub retry: RetrySpec,
}

/// How a transaction that met a serialisation failure is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrySpec {
    /// ROLLBACK, and BEGIN anew.
    #[default]
    Restart,
    /// CockroachDB's protocol: ROLLBACK TO SAVEPOINT cockroach_restart.
    Savepoint,
}

impl From<RetrySpec> for Retry {
    fn from(spec: RetrySpec) -> Self {
        match spec {
            RetrySpec::Restart => Self::Restart,
            RetrySpec::Savepoint => Self::Savepoint,
        }
    }
}

/// Kinds of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// PostgreSQL wire protocol.
    #[default]
    Postgres,
}

/// Isolation levels by their SQL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IsolationSpec {
    /// `read committed`
    #[default]
    #[serde(rename = "read committed")]
    ReadCommitted,
    /// `repeatable read`
    #[serde(rename = "repeatable read")]
    RepeatableRead,
    /// `serializable`
    Serializable,
}

impl From<IsolationSpec> for Isolation {
    fn from(spec: IsolationSpec) -> Self {
        match spec {
            IsolationSpec::ReadCommitted => Self::ReadCommitted,
            IsolationSpec::RepeatableRead => Self::RepeatableRead,
            IsolationSpec::Serializable => Self::Serializable,
        }
    }
}

/// With what to load the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    /// TPC-C 5.11.
    Tpcc(TpccSpec),
    /// One row by its primary key.
    PointSelect(PointSelectSpec),
    /// Nothing at all, a round trip each.
    Null(NullSpec),
}

/// Parameters of the null workload: there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NullSpec {}

/// Parameters of TPC-C.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    /// Size of the data set.
    pub warehouses: u32,
    /// How many of them terminals are bound to; all when absent.
    #[serde(default)]
    pub active_warehouses: Option<u32>,
    /// How transactions are cut into round trips.
    #[serde(default)]
    pub profile: TpccProfile,
    /// Keying and think times.
    #[serde(default)]
    pub wait: TpccWait,
    /// Whether a terminal does its Deliveries itself.
    #[serde(default)]
    pub delivery: TpccDelivery,
    /// Where the timestamps of new rows come from.
    #[serde(default)]
    pub timestamps: TpccTimestamps,
    /// Which transactions.
    #[serde(default, skip_serializing_if = "is_standard")]
    pub mix: TpccMix,
    /// Both waits are multiplied by it.
    #[serde(default = "default_wait_factor")]
    pub wait_factor: f64,
}

fn is_standard(mix: &TpccMix) -> bool {
    *mix == TpccMix::Standard
}

impl TpccSpec {
    /// How many warehouses are used.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.active_warehouses.unwrap_or(self.warehouses)
    }
}

/// Who does TPC-C's Deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TpccDelivery {
    /// The terminal itself: its response time is that of the work.
    #[default]
    Inline,
    /// The terminal only queues it (2.7.2): the work is an operation of its own, `delivery_deferred`.
    Deferred,
}

/// Keying and think times of TPC-C's terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TpccWait {
    /// None at all.
    #[default]
    None,
    /// Those of clauses 5.2.5.4 and 5.2.5.7.
    Spec,
}

/// Where the timestamps of TPC-C's new rows come from. Those of the load are always of one fixed moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TpccTimestamps {
    /// The system's time, as the specification asks.
    #[default]
    Wall,
    /// A millisecond an operation of the run, so that runs of one seed on one connection leave equal rows.
    Logical,
}

/// Parameters of the point-select workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointSelectSpec {
    /// Rows of the table.
    pub rows: u32,
}

/// When operations are due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PaceSpec {
    /// Each worker starts its next operation when its last one ended.
    Closed {},
    /// At equal distances, whatever became of the ones before.
    Constant {
        /// Of all shards together.
        rate_per_s: f64,
    },
    /// At random, with exponential distances, whatever became of the ones before.
    Poisson {
        /// Of all shards together.
        rate_per_s: f64,
    },
}

impl Default for PaceSpec {
    fn default() -> Self {
        Self::Closed {}
    }
}

impl From<PaceSpec> for Pace {
    fn from(spec: PaceSpec) -> Self {
        match spec {
            PaceSpec::Closed {} => Self::Closed,
            PaceSpec::Constant { rate_per_s } => Self::Constant { rate_per_s },
            PaceSpec::Poisson { rate_per_s } => Self::Poisson { rate_per_s },
        }
    }
}

/// What is verified after the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSpec {
    /// Nothing.
    None,
    /// The workload's conditions and the server's counters.
    #[default]
    Conditions,
}

fn default_connections() -> u32 {
    1
}

fn default_wait_factor() -> f64 {
    1.0
}

fn default_answer_timeout_s() -> f64 {
    60.0
}

fn default_reconnect_timeout_s() -> f64 {
    5.0
}

fn default_duration_s() -> f64 {
    10.0
}

fn default_max_retries() -> u32 {
    10
}

/// What is wrong with a spec, naming the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError(pub String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad spec: {}", self.0)
    }
}

impl std::error::Error for SpecError {}

/// The key inside `workload` that is wrong: a tagged enum hides the path of what it holds, so that is read once more.
fn workload_error(json: &str) -> Option<SpecError> {
    let mut document: serde_json::Value = serde_json::from_str(json).ok()?;
    let workload = document.get_mut("workload")?.as_object_mut()?;
    let kind = workload.remove("kind")?;
    let parameters = serde_json::Value::Object(workload.clone());
    let found = match kind.as_str()? {
        "tpcc" => serde_path_to_error::deserialize::<_, TpccSpec>(parameters).err(),
        "point_select" => serde_path_to_error::deserialize::<_, PointSelectSpec>(parameters).err(),
        "null" => serde_path_to_error::deserialize::<_, NullSpec>(parameters).err(),
        _ => None,
    }?;
    Some(SpecError(format!("workload.{}: {}", found.path(), found.inner())))
}

impl Spec {
    /// A spec with the default of everything else.
    #[must_use]
    pub fn new(action: Action, dsn: &str, workload: WorkloadSpec, seed: u64) -> Self {
        Self {
            schema: Schema::V1,
            action,
            target: PostgresTarget {
                kind: TargetKind::Postgres,
                dsn: dsn.to_owned(),
                isolation: IsolationSpec::default(),
                dialect: Dialect::default(),
                retry: RetrySpec::default(),
            },
            workload,
            seed,
            connections: default_connections(),
            threads: None,
            pin: false,
            workers: None,
            pace: PaceSpec::default(),
            ramp_s: 0.0,
            duration_s: default_duration_s(),
            operations: None,
            start_at_unix_ms: None,
            answer_timeout_s: default_answer_timeout_s(),
            reconnect_timeout_s: default_reconnect_timeout_s(),
            max_retries: default_max_retries(),
            check: CheckSpec::default(),
            load: LoadSpec::default(),
            fingerprint: false,
            shard: ShardSpec::default(),
        }
    }

    /// Reads and validates a spec.
    ///
    /// # Errors
    /// [`SpecError`] naming the key: unknown, missing, of another type, or out of range.
    pub fn parse(json: &str) -> Result<Self, SpecError> {
        let mut document = serde_json::Deserializer::from_str(json);
        let spec: Self = serde_path_to_error::deserialize(&mut document).map_err(|error| {
            let path = error.path().to_string();
            match workload_error(json).filter(|_| path == "workload") {
                Some(inside) => inside,
                None if path == "." => SpecError(error.inner().to_string()),
                None => SpecError(format!("{path}: {}", error.inner())),
            }
        })?;
        document.end().map_err(|error| SpecError(format!("after the document: {error}")))?;
        spec.validate()?;
        Ok(spec)
    }

    /// Checks what types cannot say.
    ///
    /// # Errors
    /// [`SpecError`] naming the key.
    pub fn validate(&self) -> Result<(), SpecError> {
        let require = |holds: bool, message: &str| if holds { Ok(()) } else { Err(SpecError(message.to_owned())) };
        require(self.seed < 1 << 63, "seed: must be below 2^63")?;
        let connections = (1..=MOST_CONNECTIONS).contains(&self.connections);
        require(connections, &format!("connections: must be 1 to {MOST_CONNECTIONS}"))?;
        require(self.max_retries <= MOST_RETRIES, &format!("max_retries: must be at most {MOST_RETRIES}"))?;
        require((0.0..=LONGEST_S).contains(&self.ramp_s), "ramp_s: must be 0 seconds to a year")?;
        let lasts = self.duration_s > 0.0 && self.duration_s <= LONGEST_S;
        require(lasts, "duration_s: must be above 0 seconds, and at most a year")?;
        self.validate_shares()?;
        self.validate_dialect()?;
        self.validate_drive()?;
        match &self.workload {
            WorkloadSpec::Tpcc(tpcc) => {
                let warehouses = (1..=MOST_WAREHOUSES).contains(&tpcc.warehouses);
                require(warehouses, &format!("workload.warehouses: must be 1 to {MOST_WAREHOUSES}"))?;
                require(
                    (1..=tpcc.warehouses).contains(&tpcc.active()),
                    "workload.active_warehouses: must be 1 to the number of warehouses",
                )?;
                let factor = tpcc.wait_factor > 0.0 && tpcc.wait_factor <= 1_000.0;
                require(factor, "workload.wait_factor: must be above 0 and at most 1000")?;
                let useful = tpcc.wait == TpccWait::Spec || tpcc.wait_factor == default_wait_factor();
                require(useful, "workload.wait_factor: means nothing without \"wait\": \"spec\"")?;
            }
            WorkloadSpec::PointSelect(select) => {
                let fits = (1..=i32::MAX as u32).contains(&select.rows);
                require(fits, "workload.rows: must be 1 to 2147483647 (the id is an int4)")?;
            }
            WorkloadSpec::Null(_) => {
                require(self.action == Action::Run, "action: the null workload has no tables to load or check")?;
            }
        }
        self.dsn().map(|_| ())
    }

    /// Checks that the dialect has what the workload sends.
    ///
    /// # Errors
    /// [`SpecError`] naming the key.
    pub fn validate_dialect(&self) -> Result<(), SpecError> {
        match &self.workload {
            WorkloadSpec::Tpcc(tpcc) if !tpcc.profile.is_of(self.target.dialect) => {
                Err(SpecError(format!("workload.profile: {} is for PostgreSQL only", tpcc.profile)))
            }
            _ => Ok(()),
        }
    }

    fn validate_shares(&self) -> Result<(), SpecError> {
        let require = |holds: bool, message: &str| if holds { Ok(()) } else { Err(SpecError(message.to_owned())) };
        let ShardSpec { index, count } = self.shard;
        require((1..=MOST_SHARDS).contains(&count), &format!("shard.count: must be 1 to {MOST_SHARDS}"))?;
        require(index < count, "shard.index: must be below shard.count")?;
        let whole = self.action != Action::Load || count == 1 || self.load.part == LoadPart::Rows;
        require(whole, "load.part: a shard loads rows only: create once, then rows on each, then finish once")?;
        let fresh = !self.load.resume || self.load.part == LoadPart::All;
        require(fresh, "load.resume: only the whole load is resumed; rows and finish always go on where they were")
    }

    /// Checks how the load is to be driven.
    fn validate_drive(&self) -> Result<(), SpecError> {
        let require = |holds: bool, message: &str| if holds { Ok(()) } else { Err(SpecError(message.to_owned())) };
        let threads = self.threads.is_none_or(|threads| (1..=MOST_THREADS).contains(&threads));
        require(threads, &format!("threads: must be 1 to {MOST_THREADS}"))?;
        let workers = self.workers.is_none_or(|workers| workers > 0) && self.clients() <= MOST_WORKERS;
        require(workers, &format!("workers: must be 1 to {MOST_WORKERS}, of all shards together"))?;
        require(self.operations.is_none_or(|operations| operations > 0), "operations: must be at least 1")?;
        if let PaceSpec::Constant { rate_per_s } | PaceSpec::Poisson { rate_per_s } = self.pace {
            let rate = rate_per_s > 0.0 && rate_per_s <= HIGHEST_RATE_PER_S;
            require(rate, &format!("pace.rate_per_s: must be above 0 and at most {HIGHEST_RATE_PER_S}"))?;
            let waits = matches!(&self.workload, WorkloadSpec::Tpcc(tpcc) if tpcc.wait == TpccWait::Spec);
            require(!waits, "pace: arrivals by a schedule and waits of terminals exclude each other")?;
        }
        let some_time = |seconds: f64| seconds > 0.0 && seconds <= LONGEST_S;
        require(some_time(self.answer_timeout_s), "answer_timeout_s: must be above 0 seconds, and at most a year")?;
        require(some_time(self.reconnect_timeout_s), "reconnect_timeout_s: must be above 0 seconds, and at most a year")
    }

    /// Clients of the run, all shards together: by default as many as connections, but with waits ten terminals for
    /// each active warehouse.
    fn clients(&self) -> u64 {
        let each = |clients: u32| u64::from(clients) * u64::from(self.shard.count);
        match (&self.workload, self.workers) {
            (_, Some(workers)) => each(workers),
            (WorkloadSpec::Tpcc(tpcc), None) if tpcc.wait == TpccWait::Spec => {
                u64::from(tpcc.active()) * TERMINALS_PER_WAREHOUSE
            }
            _ => each(self.connections),
        }
    }

    /// How the workload cuts transactions into round trips, by its name here; `None`: it does not.
    #[must_use]
    pub fn profile(&self) -> Option<String> {
        let WorkloadSpec::Tpcc(tpcc) = &self.workload else { return None };
        serde_json::to_value(tpcc.profile).ok()?.as_str().map(str::to_owned)
    }

    /// Clients of the run, and which of them are this generator's.
    #[must_use]
    pub fn share(&self) -> Share {
        Share {
            first: self.shard.index,
            stride: self.shard.count,
            clients: u32::try_from(self.clients()).unwrap_or(u32::MAX),
            operations: self.operations,
        }
    }

    /// The parsed DSN, with what the environment adds.
    ///
    /// # Errors
    /// [`SpecError`] without the password.
    pub fn dsn(&self) -> Result<Dsn, SpecError> {
        Dsn::parse(&self.target.dsn, |name| std::env::var(name).ok())
            .map_err(|error| SpecError(format!("target.dsn: {error}")))
    }

    /// The spec as it may be shown: no password in it.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut shown = self.clone();
        shown.target.dsn = redact(&self.target.dsn);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn minimal() -> Value {
        json!({
            "schema": "nephoscope/load-spec/1",
            "action": "run",
            "target": {"dsn": "postgresql://u:pw@h/d"},
            "workload": {"kind": "point_select", "rows": 1000},
            "seed": 1,
        })
    }

    fn with(pointer: &str, value: Value) -> String {
        let mut spec = minimal();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        spec.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
        spec.to_string()
    }

    #[test]
    fn defaults() {
        let spec = Spec::parse(&minimal().to_string()).unwrap();
        assert_eq!((spec.connections, spec.max_retries, spec.check), (1, 10, CheckSpec::Conditions));
        assert_eq!((spec.ramp_s, spec.duration_s), (0.0, 10.0));
        assert_eq!(Spec::parse(&serde_json::to_string(&spec).unwrap()), Ok(spec));
    }

    #[test]
    fn clients_are_as_many_as_connections_or_as_terminals() {
        let clients = |more: Value| {
            let mut spec = minimal();
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let share = Spec::parse(&spec.to_string()).unwrap().share();
            (share.first, share.stride, share.clients, share.len())
        };
        assert_eq!(clients(json!({"connections": 7})), (0, 1, 7, 7));
        assert_eq!(clients(json!({"connections": 7, "workers": 20})), (0, 1, 20, 20));
        assert_eq!(clients(json!({"connections": 7, "shard": {"index": 1, "count": 3}})), (1, 3, 21, 7));
        let waits = json!({"kind": "tpcc", "warehouses": 9, "active_warehouses": 5, "wait": "spec"});
        assert_eq!(clients(json!({"workload": waits})), (0, 1, 50, 50));
        assert_eq!(clients(json!({"workload": waits, "shard": {"index": 2, "count": 3}})), (2, 3, 50, 16));
    }

    #[test]
    fn what_excludes_each_other_is_refused() {
        let mut spec = minimal();
        spec["workload"] = json!({"kind": "tpcc", "warehouses": 1, "wait": "spec"});
        spec["pace"] = json!({"kind": "poisson", "rate_per_s": 5});
        assert!(Spec::parse(&spec.to_string()).unwrap_err().to_string().contains("exclude each other"));
        let mut spec = minimal();
        spec["workload"] = json!({"kind": "null"});
        spec["action"] = json!("load");
        assert!(Spec::parse(&spec.to_string()).unwrap_err().to_string().contains("no tables"));
    }

    #[test]
    fn the_password_is_not_shown() {
        let shown = Spec::parse(&minimal().to_string()).unwrap().without_secrets();
        assert_eq!(shown.target.dsn, "postgresql://u:***@h/d");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (spec, expected) in [
            (with("/conections", json!(3)), "conections"),
            (with("/target/tls", json!(true)), "tls"),
            (with("/workload/row", json!(3)), "row"),
            (with("/pace", json!({"rate": 3})), "pace"),
            (with("/pace", json!({"kind": "closed", "rate_per_s": 3})), "pace"),
            (with("/pace", json!({"kind": "constant"})), "rate_per_s"),
            (with("/pace", json!({"kind": "poisson", "rate_per_s": 0})), "pace.rate_per_s: must be above 0"),
            (with("/threads", json!(0)), "threads: must be 1 to"),
            (with("/workers", json!(0)), "workers: must be 1 to"),
            (with("/operations", json!(0)), "operations"),
            (with("/shard", json!({"count": 0})), "shard.count"),
            (with("/answer_timeout_s", json!(0)), "answer_timeout_s"),
            (with("/reconnect_timeout_s", json!(-1)), "reconnect_timeout_s"),
            (with("/workload", json!({"kind": "tpcc", "warehouses": 1, "wait_factor": 0.5})), "workload.wait_factor"),
            (with("/workload", json!({"kind": "null", "rows": 1})), "rows"),
            (with("/workload/kind", json!("ycsb")), "ycsb"),
            (with("/workload/rows", json!("many")), "workload"),
            (with("/workload/rows", json!(0)), "workload.rows"),
            (with("/schema", json!("nephoscope/load-spec/2")), "load-spec/2"),
            (with("/action", json!("jump")), "action"),
            (with("/connections", json!(0)), "connections"),
            (with("/connections", json!(-1)), "connections"),
            (with("/connections", json!(10_001)), "connections: must be 1 to 10000"),
            (with("/max_retries", json!(1_001)), "max_retries: must be at most 1000"),
            (with("/workload", json!({"kind": "tpcc", "warehouses": 1_000_001})), "workload.warehouses: must be 1 to"),
            (with("/workload", json!({"kind": "tpcc", "warehouses": 0})), "workload.warehouses: must be 1 to"),
            (with("/seed", json!(1_u64 << 63)), "seed"),
            (with("/duration_s", json!(0)), "duration_s"),
            (with("/ramp_s", json!(-0.5)), "ramp_s"),
            (with("/ramp_s", json!(1e300)), "ramp_s"),
            (with("/target/dsn", json!("mysql://u@h")), "target.dsn"),
            (with("/target/isolation", json!("chaos")), "target.isolation"),
            (with("/workload", json!({"kind": "tpcc", "warehouses": 2, "active_warehouses": 3})), "active_warehouses"),
            (with("/target/dialect", json!("oracle")), "target.dialect"),
            (
                with("/workload", json!({"kind": "tpcc", "warehouses": 1, "profile": "proc"}))
                    .replace("\"dsn\"", "\"dialect\":\"cockroachdb\",\"dsn\""),
                "workload.profile: proc is for PostgreSQL only",
            ),
            (with("/shard", json!({"index": 2, "count": 2})), "shard.index"),
            (with("/shard", json!({"index": 0, "count": 0})), "shard.count"),
            (with("/load", json!({"part": "some"})), "load.part"),
            (with("/load", json!({"part": "rows", "resume": true})), "load.resume"),
            (
                with("/action", json!("load")).replace("\"seed\"", "\"shard\":{\"index\":0,\"count\":2},\"seed\""),
                "load.part",
            ),
            (minimal().to_string() + "{}", "after the document"),
            (String::new(), "EOF"),
        ] {
            let message = Spec::parse(&spec).expect_err(&spec).to_string();
            assert!(message.contains(expected), "{spec}: {message}");
        }
    }
}
