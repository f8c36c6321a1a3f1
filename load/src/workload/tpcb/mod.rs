//! pgbench's default transaction, "TPC-B (sort of)", on its own tables: a deposit at a branch, by a teller, for an
//! account. It is not TPC-B, which asks for more.
//!
//! With fewer branches than clients, they wait for each other at the branches; pgbench says the same of its scale.

mod data;
mod plan;
mod worker;

pub use data::TpcbData;

use super::keys::{Bins, Ranks, Shape};
use super::transaction::Trips;
use super::{AuditLine, Condition, Draws, Effect, Effects, ServerCounter, Streams, Times, Worker, Workload, statistic};
use crate::target::{Dialect, SqlSession, Statement};
use clap::Args;
use plan::{DEPOSIT, DRAWN, MAX_DELTA, MEAN_DELTA, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use worker::{NONE_FOUND, TpcbWorker};

/// Tellers of a branch.
const TELLERS: u32 = 10;
/// Accounts of a branch.
const ACCOUNTS: u32 = 100_000;
/// The account numbers of more branches are no int4.
pub const MAX_BRANCHES: u32 = 21_000;
/// Disk to plan for a branch with its indexes in PostgreSQL, with room to grow.
const BRANCH_BYTES: u64 = 16_000_000;

/// Parameters of the workload: keys of a spec, and options on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct TpcbOptions {
    /// Branches, each with 10 tellers and 100,000 accounts; plan 16 MB of disk for each.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_BRANCHES), extend("x-fixture-bytes" = BRANCH_BYTES))]
    pub scale: u32,
    /// How to split transactions into round trips.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub profile: Trips,
}

/// The workload.
#[derive(Debug)]
pub struct Tpcb {
    options: TpcbOptions,
    plan: Arc<Plan>,
    statements: Vec<Statement>,
    dialect: Dialect,
}

impl Tpcb {
    /// With these options.
    #[must_use]
    pub fn new(options: TpcbOptions, seed: u64, dialect: Dialect) -> Self {
        let ranks = [ACCOUNTS, TELLERS, 1]
            .map(|of_a_branch| Ranks::new(Shape::Uniform, u64::from(options.scale) * u64::from(of_a_branch)));
        let bins = ranks.each_ref().map(Bins::of);
        let plan = Arc::new(Plan { streams: Streams::new(seed), ranks, bins });
        Self { options, plan, statements: worker::statements(options.profile, dialect), dialect }
    }
}

impl<S: SqlSession> Workload<S> for Tpcb {
    fn operations(&self) -> &'static [&'static str] {
        &["deposit"]
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn missing_rows(&self) -> &'static [&'static str] {
        match self.options.profile {
            Trips::Chatty => &[],
            Trips::Pipelined => &[NONE_FOUND],
        }
    }

    fn worker(&self, _: u32) -> Box<dyn Worker<S>> {
        Box::new(TpcbWorker::new(Arc::clone(&self.plan), self.options.profile))
    }

    fn audit(&self, _: u32, draws: &Draws) -> Vec<AuditLine> {
        let of = |(bins, name): (&Bins, &'static str)| bins.audit(name, draws.bins.get(name));
        let drawn = self.plan.bins.iter().zip(DRAWN).filter(|(_, name)| draws.bins.contains_key(name));
        let values = f64::from(2 * MAX_DELTA + 1);
        let deviation = ((values * values - 1.0) / 12.0).sqrt();
        let delta = draws.tallies.get(MEAN_DELTA).map(|tally| statistic::mean(MEAN_DELTA, *tally, 0.0, deviation));
        drawn.map(of).chain(delta).collect()
    }

    fn conditions(&self) -> Vec<Condition> {
        data::conditions(self.options.scale, self.dialect)
    }

    fn server_counters(&self) -> Vec<ServerCounter> {
        let sql = "SELECT count(*) FROM pgbench_history".to_owned();
        vec![ServerCounter { name: "history_rows", sql, operation: DEPOSIT, each: 1 }]
    }

    fn effects(&self) -> Option<Effects> {
        let [inserted, updated, scans] = [1, 3, 4].map(Times::exactly);
        let deposit = Effect { inserted, updated, ..Effect::of_reading(DEPOSIT, scans) };
        Some(Effects { tables: data::names().to_vec(), each: vec![deposit], missed: None })
    }
}

#[cfg(test)]
mod tests;
