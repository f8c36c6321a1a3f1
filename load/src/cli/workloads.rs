//! The commands of the workloads: what to do, with what.

use super::options::{CommonArgs, DataArgs, DriveArgs, LoadArgs};
use crate::spec::{Action, NullSpec, PointSelectSpec, Spec, TpccSpec, WorkloadSpec};
use crate::workload::kv::KvOptions;
use crate::workload::sysbench::{OltpInsertOptions, OltpReadWriteOptions};
use crate::workload::tpcb::TpcbOptions;
use crate::workload::ycsb::YcsbOptions;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(super) enum WorkloadCommand {
    /// TPC-C 5.11: orders of a wholesale supplier.
    #[command(subcommand)]
    Tpcc(ActionCommand<TpccSpec>),
    /// One row by its primary key, uniform over the table (sysbench oltp_point_select).
    #[command(subcommand)]
    PointSelect(ActionCommand<PointSelectSpec>),
    /// A new row of random numbers and texts (sysbench oltp_insert).
    #[command(subcommand)]
    OltpInsert(ActionCommand<OltpInsertOptions>),
    /// A transaction of 14 statements that read and 4 that write (sysbench oltp_read_write).
    #[command(subcommand)]
    OltpReadWrite(ActionCommand<OltpReadWriteOptions>),
    /// A deposit for an account, by a teller, at a branch (pgbench's default transaction, "TPC-B (sort of)").
    #[command(subcommand)]
    Tpcb(ActionCommand<TpcbOptions>),
    /// Rows of a key and a block of bytes, read and written by key (CockroachDB's kv0 to kv100), on PostgreSQL's wire or,
    /// with --dsn redis://..., on Redis and Valkey, or, with --dsn aerospike://..., on Aerospike.
    #[command(subcommand)]
    Kv(ActionCommand<KvOptions>),
    /// YCSB's core workloads A to F, on PostgreSQL's wire or, but for E, on Redis and Valkey, and on Aerospike.
    #[command(subcommand)]
    Ycsb(ActionCommand<YcsbOptions>),
    /// Round trips and nothing else: one empty Sync each. What it reaches is the most that any workload could.
    #[command(subcommand)]
    Null(NullCommand),
}

impl WorkloadCommand {
    pub(super) fn into_spec(self) -> Spec {
        match self {
            Self::Tpcc(action) => action.into_spec(),
            Self::PointSelect(action) => action.into_spec(),
            Self::OltpInsert(action) => action.into_spec(),
            Self::OltpReadWrite(action) => action.into_spec(),
            Self::Tpcb(action) => action.into_spec(),
            Self::Kv(action) => action.into_spec(),
            Self::Ycsb(action) => action.into_spec(),
            Self::Null(NullCommand::Run { common, drive }) => drive.apply(common.spec(Action::Run, NullSpec {})),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ActionCommand<W: Args> {
    /// Create and fill the tables (dropping older ones), then check them.
    Load {
        #[command(flatten)]
        workload: W,
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        load: LoadArgs,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Drive the workload, then check the tables.
    Run {
        #[command(flatten)]
        workload: W,
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        drive: DriveArgs,
    },
    /// Only check the tables.
    Check {
        #[command(flatten)]
        workload: W,
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        data: DataArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum NullCommand {
    /// Drive it; there is nothing to load or check.
    Run {
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        drive: DriveArgs,
    },
}

impl<W: Args + Into<WorkloadSpec>> ActionCommand<W> {
    fn into_spec(self) -> Spec {
        match self {
            Self::Load { workload, common, load, data } => data.apply(load.apply(common.spec(Action::Load, workload))),
            Self::Run { workload, common, drive } => drive.apply(common.spec(Action::Run, workload)),
            Self::Check { workload, common, data } => data.apply(common.spec(Action::Check, workload)),
        }
    }
}
