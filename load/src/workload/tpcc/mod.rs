//! TPC-C 5.11 in four profiles, which cut the same transactions into round trips ([`profile`]).
//!
//! | round trips | New-Order | Payment | Order-Status | Delivery | Stock-Level | mean over the deck |
//! |---|---|---|---|---|---|---|
//! | `chatty` | 10, and 1 a line: 20 | 9, by name 10, bad credit 1 more: 9.7 | 5, by name 6: 5.6 | 27 | 4 | 14.50 |
//! | `batched` | 11 | 6, by name 7: 6.6 | 5 | 8 | 4 | 8.39 |
//! | `pipelined` | 1 | 1 | 1 | 1 | 1 | 1.00 |
//! | `proc` | 1 | 1 | 1 | 1 | 1 | 1.00 |
//!
//! BEGIN, COMMIT and ROLLBACK are round trips of their own in the first two. The mean is that of 23 cards: for
//! `batched` (10 x 11 + 10 x 6.6 + 5 + 8 + 4) / 23 = 8.39. A New-Order that must be rolled back does all its work
//! first, as clause 2.4.2.3 demands, and so costs as much as any other (in `chatty` one less: the line that finds no
//! item has no stock).
//!
//! What differs from the letter of the specification: no screens and no think times (a pace of its own would add
//! them), Delivery inline unless it is asked to be queued, an item drawn twice for one order is drawn again, a client
//! may serve several terminals in turn (see [`terminals`]), and after ten terminals of a warehouse the districts of
//! Stock-Level repeat.

pub mod audit;
pub mod conditions;
pub mod constants;
pub mod input;
mod operations;
pub mod population;
pub mod profile;
pub mod random;
pub mod schema;
pub mod statements;
pub mod tally;
pub mod terminals;
pub mod transactions;
pub mod waits;
pub mod worker;

pub use operations::{
    DELIVERY, DELIVERY_DEFERRED, NEW_ORDER, OPERATIONS, OPERATIONS_DEFERRED, ORDER_STATUS, PAYMENT, STOCK_LEVEL,
};

use super::{AuditLine, Condition, Draws, ServerCounter, Waits, Worker, Workload};
use crate::target::{Dialect, SqlSession, Statement};
use constants::{RunConstants, StoredConstants};
use profile::Profile;
use std::collections::BTreeMap;
use tally::Tallies;
use terminals::{Layout, Mix, Terminals};
use waits::TpccWaits;
use worker::{Clock, TpccWorker};

/// How a data set is to be driven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TpccOptions {
    /// Warehouses that must be loaded.
    pub warehouses: u32,
    /// How many of them are used, evenly spread; `None`: all.
    pub active_warehouses: Option<u32>,
    /// The run's seed, which need not be the data's.
    pub seed: u64,
    /// Timestamps of new rows.
    pub clock: Clock,
    /// How transactions are cut into round trips.
    pub profile: Profile,
    /// Which transactions.
    pub mix: Mix,
    /// Keying and think times are multiplied by it; `None`: there are none.
    pub wait_factor: Option<f64>,
    /// What the server speaks.
    pub dialect: Dialect,
}

/// The workload.
#[derive(Debug)]
pub struct Tpcc {
    warehouses: u32,
    active_warehouses: u32,
    seed: u64,
    clock: Clock,
    profile: Profile,
    mix: Mix,
    wait_factor: Option<f64>,
    dialect: Dialect,
    defers: bool,
    constants: RunConstants,
    data_seed: u64,
    statements: Vec<Statement>,
}

impl Tpcc {
    /// The workload on the data set that says `stored` of itself (see [`constants::STORED_CONSTANTS_QUERY`]).
    ///
    /// # Errors
    /// Says why this data set cannot be driven so.
    pub fn new(options: TpccOptions, stored: &StoredConstants) -> Result<Self, String> {
        if stored.warehouses != options.warehouses {
            let plural = if stored.warehouses == 1 { "" } else { "s" };
            return Err(format!(
                "the data set has {} warehouse{plural}, the spec says {}: change the spec to {0}, or load again",
                stored.warehouses, options.warehouses
            ));
        }
        let active_warehouses = options.active_warehouses.unwrap_or(options.warehouses);
        if !(1..=options.warehouses).contains(&active_warehouses) {
            return Err(format!(
                "workload.active_warehouses: {active_warehouses} is not from 1 to {}",
                options.warehouses
            ));
        }
        Ok(Self {
            warehouses: options.warehouses,
            active_warehouses,
            seed: options.seed,
            clock: options.clock,
            profile: options.profile,
            mix: options.mix,
            wait_factor: options.wait_factor,
            dialect: options.dialect,
            defers: false,
            constants: RunConstants::draw(options.seed, stored.c_load),
            data_seed: stored.seed,
            statements: statements::all(options.profile, options.dialect),
        })
    }

    /// The same, with Deliveries that are queued (2.7.2), or done by the terminal itself.
    #[must_use]
    pub fn with_deferred(self, defers: bool) -> Self {
        Self { defers, ..self }
    }

    /// Which terminals are whose, in a run of this many clients.
    #[must_use]
    pub fn layout(&self, clients: u32) -> Layout {
        Layout::new(clients, self.active_warehouses, self.warehouses)
    }

    /// An executor in a run of this many clients, whose inputs and outputs can be seen.
    #[must_use]
    pub fn tpcc_worker(&self, clients: u32) -> TpccWorker {
        let layout = self.layout(clients);
        let terminals = Terminals::new(self.seed, layout, &self.constants).with_mix(self.mix);
        let tallies = Tallies::new(layout, self.constants);
        TpccWorker::new(layout, terminals, tallies, self.clock, (self.profile, self.dialect)).with_deferred(self.defers)
    }
}

impl<S: SqlSession> Workload<S> for Tpcc {
    fn operations(&self) -> &'static [&'static str] {
        if self.defers { &OPERATIONS_DEFERRED } else { &OPERATIONS }
    }

    fn prepare(&self) -> Vec<String> {
        statements::prepare(self.profile, self.dialect)
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn missing_rows(&self) -> &'static [&'static str] {
        statements::missing_rows(self.profile, self.dialect)
    }

    fn worker(&self, clients: u32) -> Box<dyn Worker<S>> {
        Box::new(self.tpcc_worker(clients))
    }

    fn waits(&self, clients: u32) -> Option<Box<dyn Waits>> {
        let factor = self.wait_factor?;
        Some(Box::new(TpccWaits::new(self.seed, self.layout(clients), factor)))
    }

    fn part(&self, clients: u32, client: u32, turn: u64, parts: usize) -> usize {
        let home = self.layout(clients).home(client, turn) as usize - 1;
        home * parts / self.warehouses as usize
    }

    fn audit(&self, clients: u32, draws: &Draws) -> Vec<AuditLine> {
        let mut lines = audit::audit(draws, self.layout(clients), &self.constants);
        if self.mix != Mix::Standard {
            lines.retain(|line| !audit::is_of_the_deck(&line.name)); // there is no deck
        }
        lines.extend(self.wait_factor.into_iter().flat_map(|factor| waits::audit(draws, factor)));
        if self.defers {
            lines.extend(audit::deferred(draws));
        }
        lines
    }

    fn conditions(&self) -> Vec<Condition> {
        conditions::conditions(self.warehouses, self.dialect)
    }

    fn server_counters(&self) -> Vec<ServerCounter> {
        vec![
            ServerCounter {
                name: "sum_d_next_o_id",
                sql: format!("SELECT {} FROM district", self.dialect.integer("sum(d_next_o_id)")),
                operation: NEW_ORDER,
                each: 1,
            },
            ServerCounter {
                name: "count_history",
                sql: "SELECT count(*) FROM history".to_owned(),
                operation: PAYMENT,
                each: 1,
            },
        ]
    }

    fn constants(&self) -> BTreeMap<&'static str, i64> {
        let RunConstants { c_load, c_last, c_customer, c_item } = self.constants;
        let mut constants = BTreeMap::from(
            [("c_load", c_load), ("c_run", c_last), ("c_customer", c_customer), ("c_item", c_item)]
                .map(|(name, value)| (name, i64::from(value))),
        );
        constants.insert("data_seed", i64::try_from(self.data_seed).unwrap_or(i64::MAX));
        constants
    }
}
