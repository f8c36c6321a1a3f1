//! `sql`: prints statements, and connects to nothing.

use crate::exit::{ExitCode, Failure};
use crate::spec::{Action, PointSelectSpec, Spec, TargetSpec, TpccSpec, WorkloadSpec};
use crate::sql::{self, SqlPart};
use crate::target::Dialect;
use crate::workload::kv::KvOptions;
use crate::workload::tpcc::profile::Profile;
use clap::{Args, ValueEnum};
use std::io::{self, Write};

#[derive(Debug, Args)]
pub(super) struct SqlArgs {
    /// Whose statements.
    #[arg(long, value_enum)]
    workload: SqlWorkload,
    /// Whose SQL.
    #[arg(long, value_enum, default_value_t)]
    dialect: Dialect,
    /// Only of this profile of TPC-C; all that the dialect has when absent.
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// Size of the data set, which conditions and constants hold.
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
    /// Rows of the table of point-select and kv.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u32,
    /// Rows of an operation of kv.
    #[arg(long, default_value_t = 1)]
    batch: u32,
    /// Of the data set, which constants and notes hold.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these; `settings` are for the user to apply, and never sent.
    #[arg(long, value_enum)]
    part: Option<SqlPart>,
    /// Say behind each statement what it is.
    #[arg(long)]
    names: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SqlWorkload {
    Tpcc,
    PointSelect,
    Kv,
}

impl SqlArgs {
    fn workload(&self) -> WorkloadSpec {
        match self.workload {
            SqlWorkload::Tpcc => {
                TpccSpec { profile: self.profile.unwrap_or_default(), ..TpccSpec::new(self.warehouses) }.into()
            }
            SqlWorkload::PointSelect => PointSelectSpec { rows: self.rows }.into(),
            SqlWorkload::Kv => KvOptions { batch: self.batch, ..KvOptions::new(u64::from(self.rows)) }.into(),
        }
    }

    pub(super) fn print(self) -> Result<ExitCode, Failure> {
        let spec = Spec::new(Action::Run, "", self.workload(), self.seed);
        let spec = Spec { target: TargetSpec { dialect: self.dialect, ..spec.target }, ..spec };
        spec.validate_dialect().map_err(|error| Failure::new(ExitCode::BadSpec, error.to_string()))?;
        let lines = sql::lines(&spec, self.profile.is_none(), self.part, self.names)?;
        // Whoever closed the pipe has read enough.
        let _ = io::stdout().lock().write_all(lines.as_bytes());
        Ok(ExitCode::Finished)
    }
}
