//! Options that the workloads share, and what they add to a spec.

use crate::spec::{self, Action, CheckSpec, LoadPart, LoadSpec, PaceSpec, ShardSpec, Spec, TargetSpec, WorkloadSpec};
use crate::target::Dialect;
use crate::target::postgres::{Isolation, Prepared, Retry};
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(super) struct CommonArgs {
    /// postgresql://user@host:port/database (or ?host=/socket/directory), with the password in PGPASSWORD. For kv and
    /// ycsb also redis://host:port/number, with the password in REDISCLI_AUTH, or
    /// aerospike://host:port,host:port/namespace/set. Also mysql://user@host:port/database (or ?socket=/path), with the
    /// password in MYSQL_PWD.
    #[arg(long)]
    dsn: String,
    /// Seed of data and operations: the same seed gives the same data and operations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Connections to the server; for a load, parallel COPY streams.
    #[arg(long, default_value_t = spec::default_connections())]
    connections: u32,
    /// What to verify afterwards.
    #[arg(long, value_enum, default_value_t)]
    check: CheckSpec,
    /// SQL dialect of the server.
    #[arg(long, value_enum, default_value_t)]
    dialect: Dialect,
    /// Use all masters of the cluster to which the server at redis://... belongs.
    #[arg(long)]
    cluster: bool,
}

impl CommonArgs {
    pub(super) fn spec(self, action: Action, workload: WorkloadSpec) -> Spec {
        let spec = Spec::new(action, &self.dsn, workload, self.seed);
        let target = TargetSpec { dialect: self.dialect, cluster: self.cluster, ..spec.target };
        Spec { connections: self.connections, check: self.check, target, ..spec }
    }
}

#[derive(Debug, Args)]
pub(super) struct LoadArgs {
    /// Part of the load. To load from several machines: `create` once, then `rows` on each with its own --shard, then
    /// `finish` once.
    #[arg(long, value_enum, default_value_t)]
    part: LoadPart,
    /// Resume an earlier load of the same data set where it stopped, instead of dropping its tables.
    #[arg(long)]
    resume: bool,
    /// Share of the rows that `--part rows` writes: share I of N, counted from 0.
    #[arg(long, value_name = "I/N", default_value = "0/1", value_parser = parse_shard)]
    shard: ShardSpec,
}

impl LoadArgs {
    /// Adds what this says to a spec.
    pub(super) fn apply(self, spec: Spec) -> Spec {
        Spec { load: LoadSpec { part: self.part, resume: self.resume }, shard: self.shard, ..spec }
    }
}

#[derive(Debug, Args)]
pub(super) struct DataArgs {
    /// Compare every table with what its seed produces. Only a freshly loaded data set passes.
    #[arg(long)]
    fingerprint: bool,
}

impl DataArgs {
    /// Adds what this says to a spec.
    pub(super) fn apply(self, spec: Spec) -> Spec {
        Spec { fingerprint: self.fingerprint, ..spec }
    }
}

#[derive(Debug, Args)]
pub(super) struct DriveArgs {
    /// Duration of the measurement in seconds.
    #[arg(long, default_value_t = spec::default_duration_s())]
    duration_s: f64,
    /// Duration in seconds of the load before the measurement starts.
    #[arg(long, default_value_t = 0.0)]
    ramp_s: f64,
    /// Maximum number of retries of one operation after serialization failures and deadlocks.
    #[arg(long, default_value_t = spec::default_max_retries())]
    max_retries: u32,
    /// Percentage of the measured operations that may fail; above it the exit code is 7.
    #[arg(long, default_value_t = spec::default_max_failed_percent())]
    max_failed_percent: f64,
    /// Isolation level of transactions. A run ends at once if the server runs them at another one.
    #[arg(long, value_enum, default_value_t)]
    isolation: Isolation,
    /// How to retry a transaction.
    #[arg(long, value_enum, default_value_t)]
    retry: Retry,
    /// How statements are prepared: under names, once per connection, or unnamed with each execution. auto: named,
    /// unless a connection pooler answers that does not keep names apart.
    #[arg(long, value_enum, default_value_t)]
    prepared: Prepared,
    /// Maximum number of operations in flight on one connection to redis://... or mysql://....
    #[arg(long, default_value_t = 1)]
    pipeline: u32,
    /// When operations start: when the client's last one ended (closed), or on a schedule with --rate-per-s, whether or
    /// not earlier operations have ended.
    #[arg(long, value_enum, default_value_t = PaceArg::Closed)]
    pace: PaceArg,
    /// Operations per second of all shards together.
    #[arg(long, required_if_eq_any([("pace", "constant"), ("pace", "poisson")]))]
    rate_per_s: Option<f64>,
    /// Concurrent clients. Default: connections times --pipeline; with --wait spec, 10 per active warehouse. A client
    /// that is due takes a free connection or queues for one.
    #[arg(long)]
    workers: Option<u32>,
    /// Threads of the generator. Default: one for every 8 connections, at most one per CPU.
    #[arg(long)]
    threads: Option<u32>,
    /// Pin each thread to its own CPU.
    #[arg(long)]
    pin: bool,
    /// Stop after this many operations of all shards together.
    #[arg(long)]
    operations: Option<u64>,
    /// Run share I of N of the load, counted from 0; `merge` merges the outputs.
    #[arg(long, value_name = "I/N", value_parser = parse_shard, default_value = "0/1")]
    shard: ShardSpec,
    /// When to start the load, in milliseconds since the Unix epoch. Default: at once.
    #[arg(long)]
    start_at_unix_ms: Option<u64>,
    /// Seconds without an answer after which a connection counts as lost.
    #[arg(long, default_value_t = spec::default_answer_timeout_s())]
    answer_timeout_s: f64,
    /// Seconds without success after which a client that has work sees an outage.
    #[arg(long, default_value_t = spec::default_outage_limit_s())]
    outage_limit_s: f64,
    /// Let a lost connection come back on another server of the target: on another of the DSN's hosts, or in a cluster
    /// at redis://... on the server that has the keys by then.
    #[arg(long)]
    failover: bool,
    /// Seconds to try to reconnect a lost connection before the load gives up.
    #[arg(long, default_value_t = spec::default_reconnect_timeout_s())]
    reconnect_timeout_s: f64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PaceArg {
    Closed,
    Constant,
    Poisson,
}

impl DriveArgs {
    fn pace(&self) -> PaceSpec {
        let rate_per_s = self.rate_per_s.unwrap_or(0.0); // clap asks for it where it is needed
        match self.pace {
            PaceArg::Closed => PaceSpec::Closed {},
            PaceArg::Constant => PaceSpec::Constant { rate_per_s },
            PaceArg::Poisson => PaceSpec::Poisson { rate_per_s },
        }
    }

    /// Adds what this says to a spec.
    pub(super) fn apply(self, spec: Spec) -> Spec {
        Spec {
            target: TargetSpec {
                isolation: self.isolation,
                retry: self.retry,
                prepared: self.prepared,
                pipeline: self.pipeline,
                ..spec.target
            },
            pace: self.pace(),
            workers: self.workers,
            threads: self.threads,
            pin: self.pin,
            operations: self.operations,
            shard: self.shard,
            start_at_unix_ms: self.start_at_unix_ms,
            answer_timeout_s: self.answer_timeout_s,
            reconnect_timeout_s: self.reconnect_timeout_s,
            outage_limit_s: self.outage_limit_s,
            failover: self.failover,
            ramp_s: self.ramp_s,
            duration_s: self.duration_s,
            max_retries: self.max_retries,
            max_failed_percent: self.max_failed_percent,
            ..spec
        }
    }
}

fn parse_shard(text: &str) -> Result<ShardSpec, String> {
    let parse = || -> Option<ShardSpec> {
        let (index, count) = text.split_once('/')?;
        Some(ShardSpec { index: index.parse().ok()?, count: count.parse().ok()? })
    };
    parse().ok_or_else(|| "must be I/N with I from 0, for example 0/4".to_owned())
}
