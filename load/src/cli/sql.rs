//! `sql`: prints statements, and connects to nothing.

use crate::exit::{ExitCode, Failure};
use crate::session::statements::{self, SqlPart};
use crate::spec::{Action, PointSelectSpec, Spec, TargetSpec, TpccSpec, WorkloadSpec};
use crate::target::Dialect;
use crate::workload::Trips;
use crate::workload::kv::KvOptions;
use crate::workload::sysbench::{Distribution, OltpInsertOptions, OltpTransactionOptions};
use crate::workload::tpcb::TpcbOptions;
use crate::workload::tpcc::profile::Profile;
use crate::workload::ycsb::{Mix, YcsbOptions};
use clap::{Args, ValueEnum};
use std::io::{self, Write};

#[derive(Debug, Args)]
pub(super) struct SqlArgs {
    /// The workload whose statements to print.
    #[arg(long, value_enum)]
    workload: SqlWorkload,
    /// SQL dialect of the server.
    #[arg(long, value_enum, default_value_t)]
    dialect: Dialect,
    /// Profile of TPC-C. Default: all profiles of the dialect.
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Warehouses of tpcc; conditions and constants contain the number.
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
    /// Rows per table of workloads other than tpcc.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Branches of tpcb.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=21_000))]
    scale: u32,
    /// Tables of oltp-insert, oltp-read-write and oltp-read-only.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tables: u32,
    /// Rows per operation of kv.
    #[arg(long, default_value_t = 1)]
    batch: u32,
    /// Seed of the data set; constants and the journal contain it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Group of statements. Default: all.
    #[arg(long, value_enum)]
    part: Option<SqlPart>,
    /// Add a comment to each statement that says what it is.
    #[arg(long)]
    names: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SqlWorkload {
    Tpcc,
    PointSelect,
    OltpInsert,
    OltpReadWrite,
    OltpReadOnly,
    Tpcb,
    Kv,
    Ycsb,
}

impl SqlArgs {
    fn workload(&self) -> WorkloadSpec {
        // No distribution changes a statement, and no profile but those of tpcc and tpcb.
        let (tables, rows, distribution) = (self.tables, self.rows, Distribution::Uniform);
        let transactions = OltpTransactionOptions { tables, rows, distribution, profile: Trips::default() };
        match self.workload {
            SqlWorkload::Tpcc => {
                let profile = self.profile.unwrap_or_default();
                WorkloadSpec::Tpcc(TpccSpec { profile, ..TpccSpec::new(self.warehouses) })
            }
            SqlWorkload::PointSelect => WorkloadSpec::PointSelect(PointSelectSpec { rows }),
            SqlWorkload::OltpInsert => WorkloadSpec::OltpInsert(OltpInsertOptions { tables, rows, distribution }),
            SqlWorkload::OltpReadWrite => WorkloadSpec::OltpReadWrite(transactions),
            SqlWorkload::OltpReadOnly => WorkloadSpec::OltpReadOnly(transactions),
            SqlWorkload::Tpcb => WorkloadSpec::Tpcb(TpcbOptions { scale: self.scale, profile: Trips::default() }),
            // Every core workload prepares the same statements.
            SqlWorkload::Ycsb => WorkloadSpec::Ycsb(YcsbOptions::new(u64::from(rows), Mix::A)),
            SqlWorkload::Kv => WorkloadSpec::Kv(KvOptions { batch: self.batch, ..KvOptions::new(u64::from(rows)) }),
        }
    }

    pub(super) fn print(self) -> Result<ExitCode, Failure> {
        let spec = Spec::new(Action::Run, "", self.workload(), self.seed);
        let spec = Spec { target: TargetSpec { dialect: self.dialect, ..spec.target }, ..spec };
        spec.validate_dialect().map_err(|error| Failure::new(ExitCode::BadSpec, error.to_string()))?;
        let lines = statements::lines(&spec, self.profile.is_none(), self.part, self.names)?;
        // Whoever closed the pipe has read enough.
        let _ = io::stdout().lock().write_all(lines.as_bytes());
        Ok(ExitCode::Finished)
    }
}
