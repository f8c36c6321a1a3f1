//! Parameters of TPC-C.

use super::error::{SpecError, require};
use crate::workload::tpcc::profile::Profile;
use crate::workload::tpcc::terminals::{Mix, TERMINALS};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// 130 TB of data.
const MAX_WAREHOUSES: u32 = 1_000_000;
/// Disk to plan for a warehouse with its indexes in PostgreSQL, with room to grow.
const WAREHOUSE_BYTES: u64 = 130 << 20;
const MAX_WAIT_FACTOR: f64 = 1_000.0;

/// Parameters of TPC-C.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    /// Warehouses of the data set; plan 130 MiB of disk for each.
    #[arg(long)]
    #[schemars(range(min = 1, max = MAX_WAREHOUSES), extend("x-fixture-bytes" = WAREHOUSE_BYTES))]
    pub warehouses: u32,
    /// Warehouses that have terminals. Default: all.
    #[arg(long)]
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub active_warehouses: Option<u32>,
    /// How to split transactions into round trips.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub profile: Profile,
    /// Whether the terminal runs Delivery transactions or only queues them.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub delivery: TpccDelivery,
    /// Where the timestamps of new rows come from.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub timestamps: TpccTimestamps,
    /// Which transactions to run.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default, skip_serializing_if = "is_standard")]
    #[schemars(extend("default" = Mix::default()))]
    pub mix: Mix,
    /// Whether terminals wait as the TPC-C specification says.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub wait: TpccWait,
    /// Factor for keying and think times; only with wait = spec.
    #[arg(long, default_value_t = default_wait_factor())]
    #[schemars(range(max = MAX_WAIT_FACTOR), extend("exclusiveMinimum" = 0))]
    #[serde(default = "default_wait_factor")]
    pub wait_factor: f64,
}

fn default_wait_factor() -> f64 {
    1.0
}

fn is_standard(mix: &Mix) -> bool {
    *mix == Mix::Standard
}

/// Who runs TPC-C's Delivery transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TpccDelivery {
    /// The terminal runs them itself.
    #[default]
    Inline,
    /// The terminal only queues them; they run later as the operation `delivery_deferred` (clause 2.7.2).
    Deferred,
}

/// Keying and think times of TPC-C's terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TpccWait {
    /// No waits.
    #[default]
    None,
    /// Keying and think times of clauses 5.2.5.4 and 5.2.5.7.
    Spec,
}

/// Where the timestamps of TPC-C's new rows come from. Those of the load are always of one fixed moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TpccTimestamps {
    /// From the system clock, as the TPC-C specification requires.
    #[default]
    Wall,
    /// One millisecond per operation, so that two runs with the same seed on one connection write the same rows.
    Logical,
}

impl TpccSpec {
    /// A data set of this many warehouses, and the default of everything else.
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
        let factor = self.wait_factor > 0.0 && self.wait_factor <= MAX_WAIT_FACTOR;
        require(factor, "workload.wait_factor: must be above 0 and at most 1000")?;
        let useful = self.wait == TpccWait::Spec || self.wait_factor == default_wait_factor();
        require(useful, "workload.wait_factor: needs \"wait\": \"spec\"")
    }
}
