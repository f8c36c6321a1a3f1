//! Parameters of TPC-C.

use super::error::{SpecError, require};
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::terminals::{Mix, TERMINALS};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// 100 TB of data.
const MAX_WAREHOUSES: u32 = 1_000_000;

/// Parameters of TPC-C.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    /// Size of the data set: about 100 MB each.
    #[arg(long)]
    pub warehouses: u32,
    /// How many of them terminals are bound to; all when absent.
    #[arg(long)]
    #[serde(default)]
    pub active_warehouses: Option<u32>,
    /// How transactions are cut into round trips.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub profile: Profile,
    /// Who does Deliveries.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub delivery: TpccDelivery,
    /// Where the timestamps of new rows come from.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub timestamps: TpccTimestamps,
    /// All transactions by the deck, or nothing but New-Orders (for comparisons; it is not TPC-C).
    #[arg(long, value_enum, default_value_t)]
    #[serde(default, skip_serializing_if = "is_standard")]
    pub mix: Mix,
    /// Keying and think times of the specification, or none.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub wait: TpccWait,
    /// Multiply both by this.
    #[arg(long, default_value_t = default_wait_factor())]
    #[serde(default = "default_wait_factor")]
    pub wait_factor: f64,
}

fn default_wait_factor() -> f64 {
    1.0
}

fn is_standard(mix: &Mix) -> bool {
    *mix == Mix::Standard
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TpccWait {
    /// None at all.
    #[default]
    None,
    /// Those of clauses 5.2.5.4 and 5.2.5.7.
    Spec,
}

/// Where the timestamps of TPC-C's new rows come from. Those of the load are always of one fixed moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TpccTimestamps {
    /// The system's time, as the specification asks.
    #[default]
    Wall,
    /// A millisecond an operation of the run, so that runs of one seed on one connection leave equal rows.
    Logical,
}

impl TpccSpec {
    /// A data set of so many warehouses, and the default of everything else.
    #[must_use]
    pub fn new(warehouses: u32) -> Self {
        Self {
            warehouses,
            active_warehouses: None,
            profile: Profile::default(),
            delivery: TpccDelivery::default(),
            timestamps: TpccTimestamps::default(),
            mix: Mix::default(),
            wait: TpccWait::default(),
            wait_factor: default_wait_factor(),
        }
    }

    /// How many warehouses are used.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.active_warehouses.unwrap_or(self.warehouses)
    }

    /// With waits, ten terminals for each active warehouse (clause 4.2.2).
    pub(super) fn terminals(&self) -> Option<u64> {
        (self.wait == TpccWait::Spec).then(|| u64::from(self.active()) * TERMINALS)
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let warehouses = (1..=MAX_WAREHOUSES).contains(&self.warehouses);
        require(warehouses, &format!("workload.warehouses: must be 1 to {MAX_WAREHOUSES}"))?;
        require(
            (1..=self.warehouses).contains(&self.active()),
            "workload.active_warehouses: must be 1 to the number of warehouses",
        )?;
        let factor = self.wait_factor > 0.0 && self.wait_factor <= 1_000.0;
        require(factor, "workload.wait_factor: must be above 0 and at most 1000")?;
        let useful = self.wait == TpccWait::Spec || self.wait_factor == default_wait_factor();
        require(useful, "workload.wait_factor: means nothing without \"wait\": \"spec\"")
    }
}
