//! What the program is asked to do: a JSON document, `nephoscope/load-spec/1`.
//!
//! These structs are the one declaration of the format: `nephoscope-load schema` prints their JSON Schema, and the
//! Python models are tested against it. An unknown key is an error, because a misspelt key would silently measure
//! something else.

mod error;
mod kv;
mod limits;
mod point_select;
mod schema;
mod share;
mod sysbench;
mod target;
mod tpcb;
mod tpcc;
mod validate;
mod workload;
mod ycsb;

pub use crate::workload::ShardSpec;
pub use error::SpecError;
pub use point_select::PointSelectSpec;
pub use schema::json_schema;
pub use share::Share;
pub use target::{TargetKind, TargetSpec};
pub use tpcc::{TpccDelivery, TpccSpec, TpccTimestamps, TpccWait};
pub use validate::{AEROSPIKE_WORKLOADS, RESP_WORKLOADS};
pub use workload::{NullSpec, WorkloadSpec};

use clap::ValueEnum;
use limits::{MAX_CONNECTIONS, MAX_DURATION_S, MAX_RATE_PER_S, MAX_RETRIES, MAX_SEED, MAX_THREADS, MAX_WORKERS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One action on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Name and version of this format.
    #[serde(default)]
    pub schema: Schema,
    /// What to do.
    pub action: Action,
    /// The server, or the cluster.
    pub target: TargetSpec,
    /// The workload and its data set.
    pub workload: WorkloadSpec,
    /// Data and operations are functions of the seed and their index.
    #[schemars(range(max = MAX_SEED))]
    pub seed: u64,
    /// Connections to the server; for a load, parallel COPY streams.
    #[serde(default = "default_connections")]
    #[schemars(range(min = 1, max = MAX_CONNECTIONS))]
    pub connections: u32,
    /// Threads of the generator. Default: one for every 8 connections, at most one per CPU.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_THREADS))]
    pub threads: Option<u32>,
    /// Pin thread i to the i-th CPU of the affinity mask.
    #[serde(default)]
    pub pin: bool,
    /// Concurrent clients (terminals) of this generator. Default: 10 per active warehouse for tpcc with wait = spec,
    /// else connections times the target's pipeline. A client that is due and finds no free connection queues for one.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_WORKERS))]
    pub workers: Option<u32>,
    /// When operations start.
    #[serde(default)]
    pub pace: PaceSpec,
    /// Seconds of load before the measurement starts.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = MAX_DURATION_S))]
    pub ramp_s: f64,
    /// Seconds of the measurement.
    #[serde(default = "default_duration_s")]
    #[schemars(range(max = MAX_DURATION_S), extend("exclusiveMinimum" = 0))]
    pub duration_s: f64,
    /// Stop after this many operations of all shards together, even before the duration ends.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub operations: Option<u64>,
    /// When the load starts, in milliseconds since the Unix epoch, so that several generators start together. Default:
    /// at once.
    #[serde(default)]
    pub start_at_unix_ms: Option<u64>,
    /// Seconds without an answer after which a connection counts as lost.
    #[serde(default = "default_answer_timeout_s")]
    #[schemars(range(max = MAX_DURATION_S), extend("exclusiveMinimum" = 0))]
    pub answer_timeout_s: f64,
    /// Seconds without success after which a client that has work sees an outage.
    #[serde(default = "default_outage_limit_s")]
    #[schemars(range(max = MAX_DURATION_S), extend("exclusiveMinimum" = 0))]
    pub outage_limit_s: f64,
    /// A lost connection may come back on another server of the target: on another of the DSN's hosts, or in a cluster
    /// of kind resp on the server that has the keys by then.
    #[serde(default)]
    pub failover: bool,
    /// Seconds to reconnect a lost connection before the load gives up.
    #[serde(default = "default_reconnect_timeout_s")]
    #[schemars(range(max = MAX_DURATION_S), extend("exclusiveMinimum" = 0))]
    pub reconnect_timeout_s: f64,
    /// Retries of one operation after SQLSTATE 40001 or 40P01, with the same inputs.
    #[serde(default = "default_max_retries")]
    #[schemars(range(max = MAX_RETRIES))]
    pub max_retries: u32,
    /// Percentage of the measured operations that may fail: above it the exit code is 7.
    #[serde(default = "default_max_failed_percent")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub max_failed_percent: f64,
    /// What to verify after the action.
    #[serde(default)]
    pub check: CheckSpec,
    /// Which part of a load to do, and whether to resume one.
    #[serde(default)]
    pub load: LoadSpec,
    /// After a load, or in a check: compare every table with what its seed produces. Only a freshly loaded data set
    /// passes.
    #[serde(default)]
    pub fingerprint: bool,
    /// Which share of the work this process does.
    #[serde(default)]
    pub shard: ShardSpec,
}

/// How to do a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Which part of the load.
    #[serde(default)]
    pub part: LoadPart,
    /// Continue an earlier load of the same data set where it stopped; only with part = all.
    #[serde(default)]
    pub resume: bool,
}

/// Parts of a load, in order. Several processes can share a load: one creates, each writes the rows of its shard, one
/// finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LoadPart {
    /// All of them.
    #[default]
    All,
    /// Drop old tables and create empty ones.
    Create,
    /// Write the missing rows of this process's shard.
    Rows,
    /// After every shard wrote its rows: statistics, keys, indexes, constants, checks.
    Finish,
}

/// The only version of the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Schema {
    /// Version 1.
    #[default]
    #[serde(rename = "nephoscope/load-spec/1")]
    V1,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Create and fill the tables, then check.
    Load,
    /// Drive the workload, then check.
    Run,
    /// Only check the data set.
    Check,
}

/// When operations start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PaceSpec {
    /// Each client starts its next operation when its last one ended.
    Closed {},
    /// At equal intervals, whether or not earlier operations have ended.
    Constant {
        /// Operations per second of all shards together.
        #[schemars(range(max = MAX_RATE_PER_S), extend("exclusiveMinimum" = 0))]
        rate_per_s: f64,
    },
    /// At random, exponentially distributed intervals, whether or not earlier operations have ended.
    Poisson {
        /// Operations per second of all shards together.
        #[schemars(range(max = MAX_RATE_PER_S), extend("exclusiveMinimum" = 0))]
        rate_per_s: f64,
    },
}

impl Default for PaceSpec {
    fn default() -> Self {
        Self::Closed {}
    }
}

/// What to verify after the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum CheckSpec {
    /// Nothing.
    None,
    /// The consistency conditions of the workload, and the counters of the server.
    #[default]
    Conditions,
}

pub(crate) fn default_connections() -> u32 {
    1
}

pub(crate) fn default_answer_timeout_s() -> f64 {
    60.0
}

pub(crate) fn default_reconnect_timeout_s() -> f64 {
    5.0
}

pub(crate) fn default_outage_limit_s() -> f64 {
    1.0
}

pub(crate) fn default_duration_s() -> f64 {
    10.0
}

pub(crate) fn default_max_retries() -> u32 {
    10
}

pub(crate) fn default_max_failed_percent() -> f64 {
    limits::MAX_FAILED_PERCENT
}

impl Spec {
    /// A spec with the default of everything else.
    #[must_use]
    pub fn new(action: Action, dsn: &str, workload: WorkloadSpec, seed: u64) -> Self {
        Self {
            schema: Schema::V1,
            action,
            target: TargetSpec::at(dsn),
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
            outage_limit_s: default_outage_limit_s(),
            failover: false,
            max_retries: default_max_retries(),
            max_failed_percent: default_max_failed_percent(),
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
            match workload::error(json).filter(|_| path == "workload") {
                Some(inside) => inside,
                None if path == "." => SpecError(error.inner().to_string()),
                None => SpecError(format!("{path}: {}", error.inner())),
            }
        })?;
        document.end().map_err(|error| SpecError(format!("after the document: {error}")))?;
        spec.validate()?;
        Ok(spec)
    }

    /// Clients of the run, all shards together: by default as many as operations can be under way on the connections,
    /// but with waits one a terminal.
    fn clients(&self) -> u64 {
        let each = |clients: u32| u64::from(clients) * u64::from(self.shard.count);
        match (self.workers, self.workload.terminals()) {
            (Some(workers), _) => each(workers),
            (None, Some(terminals)) => terminals,
            (None, None) => each(self.connections.saturating_mul(self.target.pipeline)),
        }
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

    /// The spec as it may be shown: no password in it.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        Self { target: self.target.redacted(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
