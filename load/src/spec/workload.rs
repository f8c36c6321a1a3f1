//! With what a target is loaded. Each workload has its parameters in a file of its own; they are its options on the
//! command line too, and their texts are its help.

use super::SpecError;
use super::point_select::PointSelectSpec;
use super::tpcc::TpccSpec;
use crate::workload::kv::KvOptions;
use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// With what to load the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    /// TPC-C 5.11.
    Tpcc(TpccSpec),
    /// One row by its primary key.
    PointSelect(PointSelectSpec),
    /// Rows of a key and a block of bytes.
    Kv(KvOptions),
    /// Nothing at all, a round trip each.
    Null(NullSpec),
}

/// Parameters of the null workload: there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct NullSpec {}

impl From<TpccSpec> for WorkloadSpec {
    fn from(spec: TpccSpec) -> Self {
        Self::Tpcc(spec)
    }
}

impl From<PointSelectSpec> for WorkloadSpec {
    fn from(spec: PointSelectSpec) -> Self {
        Self::PointSelect(spec)
    }
}

impl From<KvOptions> for WorkloadSpec {
    fn from(spec: KvOptions) -> Self {
        Self::Kv(spec)
    }
}

impl From<NullSpec> for WorkloadSpec {
    fn from(spec: NullSpec) -> Self {
        Self::Null(spec)
    }
}

impl WorkloadSpec {
    /// Checks what types cannot say.
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        match self {
            Self::Tpcc(tpcc) => tpcc.validate(),
            Self::PointSelect(select) => select.validate(),
            Self::Kv(kv) => super::kv::validate(kv),
            Self::Null(_) => Ok(()),
        }
    }

    /// Clients that wait between two operations, where the workload says how many; they are all it has.
    pub(super) fn terminals(&self) -> Option<u64> {
        match self {
            Self::Tpcc(tpcc) => tpcc.terminals(),
            Self::PointSelect(_) | Self::Kv(_) | Self::Null(_) => None,
        }
    }

    /// How it cuts transactions into round trips, by its name in a spec; `None`: it does not.
    #[must_use]
    pub fn profile(&self) -> Option<&'static str> {
        match self {
            Self::Tpcc(tpcc) => Some(tpcc.profile.name()),
            Self::PointSelect(_) | Self::Kv(_) | Self::Null(_) => None,
        }
    }
}

/// The key inside `workload` that is wrong: a tagged enum hides the path of what it holds, so that is read once more.
pub(super) fn error(json: &str) -> Option<SpecError> {
    fn of<T: DeserializeOwned>(parameters: Value) -> Option<SpecError> {
        let error = serde_path_to_error::deserialize::<_, T>(parameters).err()?;
        Some(SpecError(format!("workload.{}: {}", error.path(), error.inner())))
    }
    let mut document: Value = serde_json::from_str(json).ok()?;
    let workload = document.get_mut("workload")?.as_object_mut()?;
    let kind = workload.remove("kind")?;
    let parameters = Value::Object(workload.clone());
    match kind.as_str()? {
        "tpcc" => of::<TpccSpec>(parameters),
        "point_select" => of::<PointSelectSpec>(parameters),
        "kv" => of::<KvOptions>(parameters),
        "null" => of::<NullSpec>(parameters),
        _ => None,
    }
}
