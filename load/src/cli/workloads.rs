//! The commands of the workloads.

use super::options::{CommonArgs, DataArgs, DriveArgs, LoadArgs};
use crate::spec::{Action, NullSpec, PointSelectSpec, Spec, TpccSpec, WorkloadSpec};
use crate::workload::kv::KvOptions;
use crate::workload::sysbench::{OltpInsertOptions, OltpTransactionOptions};
use crate::workload::tpcb::TpcbOptions;
use crate::workload::ycsb::YcsbOptions;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(super) enum WorkloadCommand {
    /// TPC-C 5.11: order processing of a wholesale supplier.
    #[command(subcommand)]
    Tpcc(ActionCommand<TpccSpec>),
    /// Read one row by its primary key, uniformly distributed over the table (sysbench oltp_point_select).
    #[command(subcommand)]
    PointSelect(ActionCommand<PointSelectSpec>),
    /// Insert one row of random numbers and texts (sysbench oltp_insert).
    #[command(subcommand)]
    OltpInsert(ActionCommand<OltpInsertOptions>),
    /// Run transactions of 14 reads and 4 writes (sysbench oltp_read_write).
    #[command(subcommand)]
    OltpReadWrite(ActionCommand<OltpTransactionOptions>),
    /// Run transactions of 14 reads (sysbench oltp_read_only).
    #[command(subcommand)]
    OltpReadOnly(ActionCommand<OltpTransactionOptions>),
    /// Deposit money in an account through a teller of a branch (pgbench's default transaction, "TPC-B (sort of)").
    #[command(subcommand)]
    Tpcb(ActionCommand<TpcbOptions>),
    /// Read and write rows by key (CockroachDB's kv0 to kv100), on servers with PostgreSQL's protocol, Redis and Valkey
    /// (--dsn redis://...), and Aerospike (--dsn aerospike://...).
    #[command(subcommand)]
    Kv(ActionCommand<KvOptions>),
    /// YCSB's core workloads A to F, on servers with PostgreSQL's protocol, and all but E on Redis, Valkey and
    /// Aerospike.
    #[command(subcommand)]
    Ycsb(ActionCommand<YcsbOptions>),
    /// Empty round trips, one Sync each: an upper bound for the rate of any workload.
    #[command(subcommand)]
    Null(NullCommand),
}

impl WorkloadCommand {
    pub(super) fn into_spec(self) -> Spec {
        match self {
            Self::Tpcc(action) => action.into_spec(WorkloadSpec::Tpcc),
            Self::PointSelect(action) => action.into_spec(WorkloadSpec::PointSelect),
            Self::OltpInsert(action) => action.into_spec(WorkloadSpec::OltpInsert),
            Self::OltpReadWrite(action) => action.into_spec(WorkloadSpec::OltpReadWrite),
            Self::OltpReadOnly(action) => action.into_spec(WorkloadSpec::OltpReadOnly),
            Self::Tpcb(action) => action.into_spec(WorkloadSpec::Tpcb),
            Self::Kv(action) => action.into_spec(WorkloadSpec::Kv),
            Self::Ycsb(action) => action.into_spec(WorkloadSpec::Ycsb),
            Self::Null(NullCommand::Run { common, drive }) => {
                drive.apply(common.spec(Action::Run, WorkloadSpec::Null(NullSpec {})))
            }
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ActionCommand<W: Args> {
    /// Create and fill the tables, dropping old ones, then check them.
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
    /// Run the workload, then check the tables.
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
    /// Run it; there is nothing to load or check.
    Run {
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        drive: DriveArgs,
    },
}

impl<W: Args> ActionCommand<W> {
    fn into_spec(self, of: impl FnOnce(W) -> WorkloadSpec) -> Spec {
        match self {
            Self::Load { workload, common, load, data } => {
                data.apply(load.apply(common.spec(Action::Load, of(workload))))
            }
            Self::Run { workload, common, drive } => drive.apply(common.spec(Action::Run, of(workload))),
            Self::Check { workload, common, data } => data.apply(common.spec(Action::Check, of(workload))),
        }
    }
}
