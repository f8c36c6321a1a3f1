//! The workload of a spec. Each workload has its parameters in its own file; they are also its options on the command
//! line, and their comments are its help.

use super::error::SpecError;
use super::point_select::PointSelectSpec;
use super::tpcc::TpccSpec;
use crate::workload::kv::KvOptions;
use crate::workload::sysbench::{OltpInsertOptions, OltpTransactionOptions};
use crate::workload::tpcb::TpcbOptions;
use crate::workload::ycsb::YcsbOptions;
use clap::Args;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The workload and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    /// TPC-C 5.11.
    Tpcc(TpccSpec),
    /// One row by its primary key per operation (sysbench oltp_point_select).
    PointSelect(PointSelectSpec),
    /// One new row per operation (sysbench oltp_insert).
    OltpInsert(OltpInsertOptions),
    /// A transaction of 14 reads and 4 writes (sysbench oltp_read_write).
    OltpReadWrite(OltpTransactionOptions),
    /// A transaction of 14 reads (sysbench oltp_read_only).
    OltpReadOnly(OltpTransactionOptions),
    /// A deposit at a bank (pgbench's default transaction).
    Tpcb(TpcbOptions),
    /// Rows of a key and a block of bytes, read and written by key (CockroachDB's kv).
    Kv(KvOptions),
    /// YCSB's core workloads.
    Ycsb(YcsbOptions),
    /// Empty round trips without a data set.
    Null(NullSpec),
}

/// Parameters of the null workload: there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct NullSpec {}

impl WorkloadSpec {
    /// Checks what types cannot say.
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        match self {
            Self::Tpcc(tpcc) => tpcc.validate(),
            Self::PointSelect(select) => select.validate(),
            Self::OltpInsert(insert) => super::sysbench::validate(insert.tables, insert.rows),
            Self::OltpReadWrite(both) | Self::OltpReadOnly(both) => super::sysbench::validate(both.tables, both.rows),
            Self::Tpcb(tpcb) => super::tpcb::validate(tpcb),
            Self::Kv(kv) => super::kv::validate(kv),
            Self::Ycsb(ycsb) => super::ycsb::validate(ycsb),
            Self::Null(_) => Ok(()),
        }
    }

    /// Clients that wait between two operations, where the workload says how many; they are all it has.
    pub(super) fn terminals(&self) -> Option<u64> {
        match self {
            Self::Tpcc(tpcc) => tpcc.terminals(),
            _ => None,
        }
    }

    /// How it cuts transactions into round trips, by its name in a spec; `None`: it does not.
    #[must_use]
    pub fn profile(&self) -> Option<&'static str> {
        match self {
            Self::Tpcc(tpcc) => Some(tpcc.profile.name()),
            Self::OltpReadWrite(both) | Self::OltpReadOnly(both) => Some(both.profile.name()),
            Self::Tpcb(tpcb) => Some(tpcb.profile.name()),
            _ => None,
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
        "oltp_insert" => of::<OltpInsertOptions>(parameters),
        "oltp_read_write" | "oltp_read_only" => of::<OltpTransactionOptions>(parameters),
        "tpcb" => of::<TpcbOptions>(parameters),
        "kv" => of::<KvOptions>(parameters),
        "ycsb" => of::<YcsbOptions>(parameters),
        "null" => of::<NullSpec>(parameters),
        _ => None,
    }
}
