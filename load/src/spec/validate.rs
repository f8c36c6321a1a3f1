//! Validates a spec beyond its types.

use super::error::{SpecError, require};
use super::limits::{MAX_CONNECTIONS, MAX_DURATION_S, MAX_RATE_PER_S, MAX_RETRIES, MAX_SEED, MAX_THREADS, MAX_WORKERS};
use super::{Action, LoadPart, PaceSpec, ShardSpec, Spec, TargetKind, WorkloadSpec};
use crate::target::Dialect;
use crate::workload::{MAX_SHARDS, Trips};

/// What targets of kind resp have.
pub const RESP_WORKLOADS: &str = "workload.kind: targets of kind resp support kv, ycsb and null";

/// What targets of kind aerospike have.
pub const AEROSPIKE_WORKLOADS: &str = "workload.kind: targets of kind aerospike support kv, ycsb and null";

/// An error there does not stop what was sent behind it.
const PIPELINED_ON_MYSQL: &str = "workload.profile: on MySQL and MariaDB an error does not stop the statements sent behind \
                                  it, so that COMMIT would commit half of a transaction: use chatty";

impl Spec {
    /// Checks what types cannot say.
    ///
    /// # Errors
    /// [`SpecError`] naming the key.
    pub fn validate(&self) -> Result<(), SpecError> {
        require(self.seed <= MAX_SEED, "seed: must be below 2^63")?;
        let connections = (1..=MAX_CONNECTIONS).contains(&self.connections);
        require(connections, &format!("connections: must be 1 to {MAX_CONNECTIONS}"))?;
        require(self.max_retries <= MAX_RETRIES, &format!("max_retries: must be at most {MAX_RETRIES}"))?;
        let percent = (0.0..=100.0).contains(&self.max_failed_percent);
        require(percent, "max_failed_percent: must be from 0 to 100")?;
        require((0.0..=MAX_DURATION_S).contains(&self.ramp_s), "ramp_s: must be from 0 seconds to a year")?;
        let lasts = self.duration_s > 0.0 && self.duration_s <= MAX_DURATION_S;
        require(lasts, "duration_s: must be above 0 seconds, and at most a year")?;
        self.validate_shares()?;
        self.validate_dialect()?;
        self.validate_drive()?;
        self.workload.validate()?;
        let has_tables = !matches!(self.workload, WorkloadSpec::Null(_));
        require(has_tables || self.action == Action::Run, "action: the null workload has no tables to load or check")?;
        self.validate_resp()?;
        self.validate_aerospike()?;
        self.validate_mysql()?;
        self.target.validate()
    }

    /// Checks that the dialect has what the workload sends.
    ///
    /// # Errors
    /// [`SpecError`] naming the key.
    pub fn validate_dialect(&self) -> Result<(), SpecError> {
        let dialect = self.target.dialect();
        match &self.workload {
            WorkloadSpec::Tpcc(tpcc) if !tpcc.profile.is_of(dialect) => {
                let instead = if dialect == Dialect::Mysql { "chatty or proc" } else { "another" };
                let message = format!("workload.profile: {} is for other servers: use {instead}", tpcc.profile);
                Err(SpecError(message))
            }
            workload if dialect == Dialect::Mysql && workload.profile() == Some(Trips::Pipelined.name()) => {
                Err(SpecError(PIPELINED_ON_MYSQL.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Checks what a target of MySQL's protocol can do.
    fn validate_mysql(&self) -> Result<(), SpecError> {
        let transactions = self.workload.profile().is_some();
        let one = self.target.kind != TargetKind::Mysql || !transactions || self.target.pipeline == 1;
        require(one, "target.pipeline: must be 1 for workloads of transactions: a connection has one at a time")
    }

    /// Checks what a target of RESP can do.
    fn validate_resp(&self) -> Result<(), SpecError> {
        if self.target.kind != TargetKind::Resp {
            return Ok(());
        }
        let batch = match &self.workload {
            WorkloadSpec::Kv(kv) => kv.batch,
            WorkloadSpec::Null(_) => 1,
            WorkloadSpec::Ycsb(ycsb) => {
                super::ycsb::validate_resp(ycsb)?;
                1
            }
            _ => return Err(SpecError(RESP_WORKLOADS.to_owned())),
        };
        let one_slot = !self.target.cluster || batch == 1;
        require(one_slot, "workload.batch: must be 1 on a cluster, where one command cannot span slots")?;
        require(!self.load.resume, "load.resume: only for targets that speak SQL")?;
        require(!self.fingerprint, "fingerprint: only for targets that speak SQL")
    }

    /// Checks what a target of Aerospike can do.
    fn validate_aerospike(&self) -> Result<(), SpecError> {
        if self.target.kind != TargetKind::Aerospike {
            return Ok(());
        }
        match &self.workload {
            WorkloadSpec::Kv(kv) => {
                require(kv.batch == 1, "workload.batch: must be 1 on targets of kind aerospike")?;
                super::kv::validate_aerospike(kv)?;
            }
            WorkloadSpec::Null(_) => {}
            WorkloadSpec::Ycsb(ycsb) => super::ycsb::validate_aerospike(ycsb)?,
            _ => return Err(SpecError(AEROSPIKE_WORKLOADS.to_owned())),
        }
        require(!self.load.resume, "load.resume: only for targets that speak SQL")?;
        require(!self.fingerprint, "fingerprint: only for targets that speak SQL")
    }

    fn validate_shares(&self) -> Result<(), SpecError> {
        let ShardSpec { index, count } = self.shard;
        require((1..=MAX_SHARDS).contains(&count), &format!("shard.count: must be 1 to {MAX_SHARDS}"))?;
        require(index < count, "shard.index: must be below shard.count")?;
        let whole = self.action != Action::Load || count == 1 || self.load.part == LoadPart::Rows;
        require(
            whole,
            "load.part: a shard can only load rows: create once, then load rows on each shard, then finish once",
        )?;
        let alone = count == 1 || !matches!(&self.workload, WorkloadSpec::Kv(kv) if kv.ledger);
        require(alone, "workload.ledger: only for a load of one generator, which knows all writes")?;
        let fresh = !self.load.resume || self.load.part == LoadPart::All;
        require(fresh, "load.resume: only with part \"all\"; rows and finish always resume")
    }

    /// Checks how the load is to be driven.
    fn validate_drive(&self) -> Result<(), SpecError> {
        let threads = self.threads.is_none_or(|threads| (1..=MAX_THREADS).contains(&threads));
        require(threads, &format!("threads: must be 1 to {MAX_THREADS}"))?;
        let workers = self.workers.is_none_or(|workers| workers > 0) && self.clients() <= MAX_WORKERS;
        require(workers, &format!("workers: must be 1 to {MAX_WORKERS}, of all shards together"))?;
        require(self.operations.is_none_or(|operations| operations > 0), "operations: must be at least 1")?;
        if let PaceSpec::Constant { rate_per_s } | PaceSpec::Poisson { rate_per_s } = self.pace {
            let rate = rate_per_s > 0.0 && rate_per_s <= MAX_RATE_PER_S;
            require(rate, &format!("pace.rate_per_s: must be above 0 and at most {MAX_RATE_PER_S}"))?;
            let waits = self.workload.terminals().is_some();
            require(!waits, "pace: an open pace and the waits of terminals exclude each other")?;
        }
        let some_time = |seconds: f64| seconds > 0.0 && seconds <= MAX_DURATION_S;
        require(some_time(self.answer_timeout_s), "answer_timeout_s: must be above 0 seconds, and at most a year")?;
        require(some_time(self.outage_limit_s), "outage_limit_s: must be above 0 seconds, and at most a year")?;
        require(some_time(self.reconnect_timeout_s), "reconnect_timeout_s: must be above 0 seconds, and at most a year")
    }
}
