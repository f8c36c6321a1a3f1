//! What the program is asked to do: a JSON document, `nephoscope/load-spec/1`.
//!
//! The field names are a contract with `nephoscope.benchmarks.load_spec`. An unknown key is an error, never
//! ignored: a misspelt key would silently measure something else.

mod error;
mod kv;
mod point_select;
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
pub use share::Share;
pub use target::{TargetKind, TargetSpec};
pub use tpcc::{TpccDelivery, TpccSpec, TpccTimestamps, TpccWait};
pub use validate::{AEROSPIKE_WORKLOADS, RESP_WORKLOADS};
pub use workload::{NullSpec, WorkloadSpec};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

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
    pub target: TargetSpec,
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

/// What is verified after the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
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

    /// Clients of the run, all shards together: by default as many as operations can be under way on the connections, but
    /// with waits one a terminal.
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
