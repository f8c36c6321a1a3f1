//! Options that the workloads share, and what they add to a spec.

use crate::spec::{Action, CheckSpec, LoadPart, LoadSpec, PaceSpec, ShardSpec, Spec, TargetSpec, WorkloadSpec};
use crate::target::Dialect;
use crate::target::postgres::{Isolation, Retry};
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(super) struct CommonArgs {
    /// postgresql://user@host:port/database, or ?host=/socket/directory; the password comes from PGPASSWORD. For kv and ycsb
    /// also redis://host:port/number; the password comes from REDISCLI_AUTH. Or aerospike://host:port,host:port/namespace/set.
    #[arg(long)]
    dsn: String,
    /// Data and operations are functions of it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sessions; when loading, parallel COPY streams.
    #[arg(long, default_value_t = 1)]
    connections: u32,
    /// What is verified afterwards.
    #[arg(long, value_enum, default_value_t)]
    check: CheckSpec,
    /// Whose SQL the server speaks.
    #[arg(long, value_enum, default_value_t)]
    dialect: Dialect,
    /// The server at redis://... is one of a cluster, whose masters share the keys.
    #[arg(long)]
    cluster: bool,
}

impl CommonArgs {
    pub(super) fn spec(self, action: Action, workload: impl Into<WorkloadSpec>) -> Spec {
        let spec = Spec::new(action, &self.dsn, workload.into(), self.seed);
        let target = TargetSpec { dialect: self.dialect, cluster: self.cluster, ..spec.target };
        Spec { connections: self.connections, check: self.check, target, ..spec }
    }
}

#[derive(Debug, Args)]
pub(super) struct LoadArgs {
    /// Several machines share a load: `create` once, then `rows` on each with its own --shard, then `finish` once.
    #[arg(long, value_enum, default_value_t)]
    part: LoadPart,
    /// Go on where an earlier load of the same data set ended, instead of dropping its tables.
    #[arg(long)]
    resume: bool,
    /// Whose rows `--part rows` writes: I/N is share I of N, from 0.
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
    /// Compare every table with what its seed makes; it holds only right after a load.
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
    /// Length of the measurement interval, in seconds.
    #[arg(long, default_value_t = 10.0)]
    duration_s: f64,
    /// Driven before it and not measured, in seconds.
    #[arg(long, default_value_t = 0.0)]
    ramp_s: f64,
    /// How often one operation is tried again after a serialisation failure or a deadlock.
    #[arg(long, default_value_t = 10)]
    max_retries: u32,
    /// Isolation level of the transactions.
    #[arg(long, value_enum, default_value_t)]
    isolation: Isolation,
    /// How a transaction is tried again: anew, or from CockroachDB's savepoint.
    #[arg(long, value_enum, default_value_t)]
    retry: Retry,
    /// How many operations may be under way on one connection to redis://...
    #[arg(long, default_value_t = 1)]
    pipeline: u32,
    /// When operations are due: each when the one before ended, or by a schedule (with --rate-per-s), whatever became of
    /// the ones before.
    #[arg(long, value_enum, default_value_t = PaceArg::Closed)]
    pace: PaceArg,
    /// Arrivals per second, of all shards together.
    #[arg(long, required_if_eq_any([("pace", "constant"), ("pace", "poisson")]))]
    rate_per_s: Option<f64>,
    /// Concurrent clients; as many as connections (times --pipeline) by default, with --wait spec ten for each active warehouse. A client
    /// that is due takes a free connection, or queues for one.
    #[arg(long)]
    workers: Option<u32>,
    /// Threads that drive; by default as many as there are CPUs, but no more than one for 8 connections.
    #[arg(long)]
    threads: Option<u32>,
    /// Keep each thread on a CPU of its own.
    #[arg(long)]
    pin: bool,
    /// Stop after so many operations, of all shards together.
    #[arg(long)]
    operations: Option<u64>,
    /// Drive part I of a load that N generators share (I from 0); `merge` puts their outputs together.
    #[arg(long, value_name = "I/N", value_parser = parse_shard, default_value = "0/1")]
    shard: ShardSpec,
    /// Begin at this time, in milliseconds since the Unix epoch.
    #[arg(long)]
    start_at_unix_ms: Option<u64>,
    /// A server that owes an answer for longer is lost, in seconds.
    #[arg(long, default_value_t = 60.0)]
    answer_timeout_s: f64,
    /// Give up when a lost connection is not back after so long, in seconds.
    #[arg(long, default_value_t = 5.0)]
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
            target: TargetSpec { isolation: self.isolation, retry: self.retry, pipeline: self.pipeline, ..spec.target },
            pace: self.pace(),
            workers: self.workers,
            threads: self.threads,
            pin: self.pin,
            operations: self.operations,
            shard: self.shard,
            start_at_unix_ms: self.start_at_unix_ms,
            answer_timeout_s: self.answer_timeout_s,
            reconnect_timeout_s: self.reconnect_timeout_s,
            ramp_s: self.ramp_s,
            duration_s: self.duration_s,
            max_retries: self.max_retries,
            ..spec
        }
    }
}

fn parse_shard(text: &str) -> Result<ShardSpec, String> {
    let parse = || -> Option<ShardSpec> {
        let (index, count) = text.split_once('/')?;
        Some(ShardSpec { index: index.parse().ok()?, count: count.parse().ok()? })
    };
    parse().ok_or_else(|| "must be I/N, for example 0/4".to_owned())
}
