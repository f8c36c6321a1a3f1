//! The command line: it builds a spec and wires the parts together; it decides nothing.

use crate::exit::{ExitCode, Failure};
use crate::fake_target::{FakeTarget, Listen, Plan};
use crate::output::Output;
use crate::session;
use crate::spec::{
    Action, CheckSpec, IsolationSpec, LoadPart, LoadSpec, NullSpec, PaceSpec, PointSelectSpec, PostgresTarget,
    RetrySpec, ShardSpec, Spec, TpccDelivery, TpccMix, TpccProfile, TpccSpec, TpccTimestamps, TpccWait, WorkloadSpec,
};
use crate::sql::{self, SqlPart};
use crate::stop::Stop;
use crate::target::Dialect;
use crate::{merge, telemetry, tell};
use clap::{Args, Parser, Subcommand, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  export PGPASSWORD=...
  DSN=postgresql://bench@10.0.0.5:5432/bench

  nephoscope-load point-select load  --dsn $DSN --rows 1000000 --connections 8
  nephoscope-load point-select run   --dsn $DSN --rows 1000000 --ramp-s 10 --duration-s 60
  nephoscope-load point-select check --dsn $DSN --rows 1000000
  nephoscope-load tpcc load  --dsn $DSN --warehouses 100 --connections 8
  nephoscope-load tpcc run   --dsn $DSN --warehouses 100 --connections 64 --duration-s 600
  nephoscope-load tpcc run   --dsn $DSN --warehouses 100 --wait spec --connections 64 --ramp-s 60 --duration-s 600
  nephoscope-load tpcc run   --dsn $DSN --warehouses 100 --pace poisson --rate-per-s 500 --connections 64
  nephoscope-load tpcc check --dsn $DSN --warehouses 100
  nephoscope-load tpcc load  --dsn $DSN --warehouses 100 --connections 8 --resume
  nephoscope-load tpcc check --dsn $DSN --warehouses 100 --fingerprint
  nephoscope-load tpcc run   --dsn $DSN --warehouses 100 --shard 1/2 --start-at-unix-ms $T > 1.jsonl
  nephoscope-load merge 0.jsonl 1.jsonl
  nephoscope-load sql --workload tpcc --dialect cockroachdb
  nephoscope-load null run   --dsn $DSN --connections 8 --duration-s 3
  nephoscope-load exec < spec.json
  nephoscope-load telemetry --interval-ms 1000
  nephoscope-load fake-target --listen 127.0.0.1:6000 --freeze-at-s 3 --freeze-for-s 2

Results are JSON lines on stdout: `started`, an `interval` a second, `finished`. Text for people is on stderr.

Exit codes:
  0    finished
  2    the spec or the command line is wrong
  3    the server cannot be reached, or refuses us
  4    the rate asked for was not kept (the data is complete)
  5    the data is inconsistent: a condition is broken, a row is missing, a counter disagrees
  6    the server went away, or would not do what was asked
  130  interrupted";

/// Loads a database correctly and says exactly what happened: fills tables, drives a workload with exact latency
/// histograms, and checks that the data still makes sense afterwards.
#[derive(Debug, Parser)]
#[command(name = "nephoscope-load", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Carry out a JSON spec (nephoscope/load-spec/1) from stdin or a file.
    Exec {
        /// Read the spec from this file instead of stdin.
        #[arg(long)]
        spec: Option<PathBuf>,
    },
    /// TPC-C 5.11: orders of a wholesale supplier.
    #[command(subcommand)]
    Tpcc(ActionCommand<TpccArgs>),
    /// One row by its primary key, uniform over the table (sysbench oltp_point_select).
    #[command(subcommand)]
    PointSelect(ActionCommand<PointSelectArgs>),
    /// Be a server that only looks like PostgreSQL: it answers the workloads null, point-select and tpcc (profile proc)
    /// from memory, as late as it is told. For tests and calibration; prints a JSON line a second, until SIGTERM.
    FakeTarget(FakeTargetArgs),
    /// Put the outputs of all shards of one run into one, on stdout; the exit code is the worst of theirs.
    Merge {
        /// What each shard wrote.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print every statement that can be sent, one a line: nothing is connected to.
    Sql(SqlArgs),
    /// Round trips and nothing else: one empty Sync each. What it reaches is the most that any workload could.
    #[command(subcommand)]
    Null(NullCommand),
    /// Print counters of this machine (CPU, disks, network) as JSON lines, until SIGTERM or a closed stdin.
    Telemetry {
        /// Milliseconds between two lines.
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..))]
        interval_ms: u64,
    },
}

#[derive(Debug, Subcommand)]
enum ActionCommand<W: Args> {
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
enum NullCommand {
    /// Drive it; there is nothing to load or check.
    Run {
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        drive: DriveArgs,
    },
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// postgresql://user@host:port/database, or ?host=/socket/directory; the password comes from PGPASSWORD.
    #[arg(long)]
    dsn: String,
    /// Data and operations are functions of it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sessions; when loading, parallel COPY streams.
    #[arg(long, default_value_t = 1)]
    connections: u32,
    /// What is verified afterwards.
    #[arg(long, value_enum, default_value_t = CheckArg::Conditions)]
    check: CheckArg,
    /// Whose SQL the server speaks.
    #[arg(long, value_enum, default_value_t = Dialect::Postgres)]
    dialect: Dialect,
}

impl Default for CommonArgs {
    fn default() -> Self {
        Self { dsn: String::new(), seed: 1, connections: 1, check: CheckArg::Conditions, dialect: Dialect::Postgres }
    }
}

#[derive(Debug, Args)]
struct LoadArgs {
    /// Several machines share a load: `create` once, then `rows` on each with its own --shard, then `finish` once.
    #[arg(long, value_enum, default_value_t = LoadPart::All)]
    part: LoadPart,
    /// Go on where an earlier load of the same data set ended, instead of dropping its tables.
    #[arg(long)]
    resume: bool,
    /// Whose rows `--part rows` writes: I/N is share I of N, from 0.
    #[arg(long, value_name = "I/N", default_value = "0/1", value_parser = parse_shard)]
    shard: ShardSpec,
}

impl Default for LoadArgs {
    fn default() -> Self {
        Self { part: LoadPart::All, resume: false, shard: ShardSpec::default() }
    }
}

fn parse_shard(text: &str) -> Result<ShardSpec, String> {
    let parse = || -> Option<ShardSpec> {
        let (index, count) = text.split_once('/')?;
        Some(ShardSpec { index: index.parse().ok()?, count: count.parse().ok()? })
    };
    parse().ok_or_else(|| "must be I/N, for example 0/4".to_owned())
}

#[derive(Debug, Default, Args)]
struct DataArgs {
    /// Compare every table with what its seed makes; it holds only right after a load.
    #[arg(long)]
    fingerprint: bool,
}

#[derive(Debug, Args)]
struct SqlArgs {
    /// Whose statements.
    #[arg(long, value_enum)]
    workload: SqlWorkload,
    /// Whose SQL.
    #[arg(long, value_enum, default_value_t = Dialect::Postgres)]
    dialect: Dialect,
    /// Only of this profile of TPC-C; all that the dialect has when absent.
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,
    /// Size of the data set, which conditions and constants hold.
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
    /// Rows of the table of point-select.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u32,
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
}

impl SqlArgs {
    fn workload(&self) -> WorkloadSpec {
        match self.workload {
            SqlWorkload::Tpcc => TpccArgs {
                warehouses: self.warehouses,
                active_warehouses: None,
                profile: self.profile.unwrap_or(ProfileArg::Batched),
                delivery: TpccDelivery::Inline,
                timestamps: TimestampsArg::Wall,
                mix: TpccMix::Standard,
                wait: WaitArg::None,
                wait_factor: 1.0,
            }
            .into(),
            SqlWorkload::PointSelect => PointSelectArgs { rows: self.rows }.into(),
        }
    }

    fn print(self) -> Result<ExitCode, Failure> {
        let common = CommonArgs { dialect: self.dialect, seed: self.seed, ..CommonArgs::default() };
        let spec = common.spec(Action::Run, self.workload());
        spec.validate_dialect().map_err(|error| Failure::new(ExitCode::BadSpec, error.to_string()))?;
        let lines = sql::lines(&spec, self.profile.is_none(), self.part, self.names)?;
        // Whoever closed the pipe has read enough.
        let _ = io::stdout().lock().write_all(lines.as_bytes());
        Ok(ExitCode::Finished)
    }
}

#[derive(Debug, Args)]
struct DriveArgs {
    /// Length of the measurement interval, in seconds.
    #[arg(long, default_value_t = 10.0)]
    duration_s: f64,
    /// Driven before it and not measured, in seconds.
    #[arg(long, default_value_t = 0.0)]
    ramp_s: f64,
    /// How often one operation is tried again after a serialisation failure or a deadlock.
    #[arg(long, default_value_t = 10)]
    max_retries: u32,
    /// Isolation level of the transactions.
    #[arg(long, value_enum, default_value_t = IsolationArg::ReadCommitted)]
    isolation: IsolationArg,
    /// How a transaction is tried again: anew, or from CockroachDB's savepoint.
    #[arg(long, value_enum, default_value_t = RetryArg::Restart)]
    retry: RetryArg,
    /// When operations are due: each when the one before ended, or by a schedule (with --rate-per-s), whatever became of
    /// the ones before.
    #[arg(long, value_enum, default_value_t = PaceArg::Closed)]
    pace: PaceArg,
    /// Arrivals per second, of all shards together.
    #[arg(long, required_if_eq_any([("pace", "constant"), ("pace", "poisson")]))]
    rate_per_s: Option<f64>,
    /// Concurrent clients; as many as connections by default, with --wait spec ten for each active warehouse. A client
    /// that is due takes a free connection, or queues for one.
    #[arg(long)]
    workers: Option<u32>,
    /// Threads that drive; by default as many as there are CPUs, but no more than one for 8 connections.
    #[arg(long)]
    threads: Option<u32>,
    /// Keep each thread on a CPU of its own.
    #[arg(long)]
    pin: bool,
    /// Stop after so many operations, of all shards together.
    #[arg(long)]
    operations: Option<u64>,
    /// Drive part I of a load that N generators share (I from 0); `merge` puts their outputs together.
    #[arg(long, value_name = "I/N", value_parser = parse_shard, default_value = "0/1")]
    shard: ShardSpec,
    /// Begin at this time, in milliseconds since the Unix epoch.
    #[arg(long)]
    start_at_unix_ms: Option<u64>,
    /// A server that owes an answer for longer is lost, in seconds.
    #[arg(long, default_value_t = 60.0)]
    answer_timeout_s: f64,
    /// Give up when a lost connection is not back after so long, in seconds.
    #[arg(long, default_value_t = 5.0)]
    reconnect_timeout_s: f64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RetryArg {
    Restart,
    Savepoint,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PaceArg {
    Closed,
    Constant,
    Poisson,
}

impl DriveArgs {
    fn pace(&self) -> PaceSpec {
        let rate_per_s = self.rate_per_s.unwrap_or(0.0); // clap asks for it where it is needed
        match self.pace {
            PaceArg::Closed => PaceSpec::Closed {},
            PaceArg::Constant => PaceSpec::Constant { rate_per_s },
            PaceArg::Poisson => PaceSpec::Poisson { rate_per_s },
        }
    }

    /// Adds what this says to a spec.
    fn apply(self, spec: Spec) -> Spec {
        let isolation = match self.isolation {
            IsolationArg::ReadCommitted => IsolationSpec::ReadCommitted,
            IsolationArg::RepeatableRead => IsolationSpec::RepeatableRead,
            IsolationArg::Serializable => IsolationSpec::Serializable,
        };
        let retry = match self.retry {
            RetryArg::Restart => RetrySpec::Restart,
            RetryArg::Savepoint => RetrySpec::Savepoint,
        };
        Spec {
            target: PostgresTarget { isolation, retry, ..spec.target },
            pace: self.pace(),
            workers: self.workers,
            threads: self.threads,
            pin: self.pin,
            operations: self.operations,
            shard: self.shard,
            start_at_unix_ms: self.start_at_unix_ms,
            answer_timeout_s: self.answer_timeout_s,
            reconnect_timeout_s: self.reconnect_timeout_s,
            ramp_s: self.ramp_s,
            duration_s: self.duration_s,
            max_retries: self.max_retries,
            ..spec
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CheckArg {
    None,
    Conditions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum IsolationArg {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Debug, Args)]
struct TpccArgs {
    /// Size of the data set: about 100 MB each.
    #[arg(long)]
    warehouses: u32,
    /// How many of them terminals are bound to; all when absent.
    #[arg(long)]
    active_warehouses: Option<u32>,
    /// How transactions are cut into round trips.
    #[arg(long, value_enum, default_value_t = ProfileArg::Batched)]
    profile: ProfileArg,
    /// Who does Deliveries.
    #[arg(long, value_enum, default_value_t = TpccDelivery::Inline)]
    delivery: TpccDelivery,
    /// Where the timestamps of new rows come from.
    #[arg(long, value_enum, default_value_t = TimestampsArg::Wall)]
    timestamps: TimestampsArg,
    /// All transactions by the deck, or nothing but New-Orders (for comparisons; it is not TPC-C).
    #[arg(long, value_enum, default_value_t = TpccMix::Standard)]
    mix: TpccMix,
    /// Keying and think times of the specification, or none.
    #[arg(long, value_enum, default_value_t = WaitArg::None)]
    wait: WaitArg,
    /// Multiply both by this.
    #[arg(long, default_value_t = 1.0)]
    wait_factor: f64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileArg {
    /// A simple statement a round trip: 20 a New-Order.
    Chatty,
    /// A statement over a whole set of rows a round trip: 11 a New-Order.
    Batched,
    /// As few round trips as data dependencies allow: 2 a New-Order.
    Pipelined,
    /// A function of the server a transaction: 1 round trip (PostgreSQL only).
    Proc,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TimestampsArg {
    /// The system's time.
    Wall,
    /// A millisecond an operation, so that runs of one seed can be compared.
    Logical,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum WaitArg {
    None,
    Spec,
}

impl From<TpccArgs> for WorkloadSpec {
    fn from(args: TpccArgs) -> Self {
        Self::Tpcc(TpccSpec {
            warehouses: args.warehouses,
            active_warehouses: args.active_warehouses,
            profile: match args.profile {
                ProfileArg::Chatty => TpccProfile::Chatty,
                ProfileArg::Batched => TpccProfile::Batched,
                ProfileArg::Pipelined => TpccProfile::Pipelined,
                ProfileArg::Proc => TpccProfile::Proc,
            },
            delivery: args.delivery,
            timestamps: match args.timestamps {
                TimestampsArg::Wall => TpccTimestamps::Wall,
                TimestampsArg::Logical => TpccTimestamps::Logical,
            },
            mix: args.mix,
            wait: match args.wait {
                WaitArg::None => TpccWait::None,
                WaitArg::Spec => TpccWait::Spec,
            },
            wait_factor: args.wait_factor,
        })
    }
}

#[derive(Debug, Args)]
struct PointSelectArgs {
    /// Rows of the table: about 200 bytes each.
    #[arg(long)]
    rows: u32,
}

impl From<PointSelectArgs> for WorkloadSpec {
    fn from(args: PointSelectArgs) -> Self {
        Self::PointSelect(PointSelectSpec { rows: args.rows })
    }
}

#[derive(Debug, Args)]
struct FakeTargetArgs {
    /// ADDRESS:PORT (port 0 takes a free one), or the path of a unix socket, which clients find only as
    /// FOLDER/.s.PGSQL.PORT.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Answer each round trip so many microseconds after it was asked for.
    #[arg(long, default_value_t = 0)]
    service_us: u64,
    /// Stop doing anything so long after the first statement …
    #[arg(long, requires = "freeze_for_s", value_parser = seconds)]
    freeze_at_s: Option<Duration>,
    /// … for so long.
    #[arg(long, requires = "freeze_at_s", value_parser = seconds)]
    freeze_for_s: Option<Duration>,
    /// Size of the TPC-C data set that it says it holds.
    #[arg(long, default_value_t = 1)]
    warehouses: u32,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl FakeTargetArgs {
    fn serve(self, stop: &Stop) -> Result<ExitCode, Failure> {
        let listen = if self.listen.starts_with('/') {
            Listen::Unix(PathBuf::from(&self.listen))
        } else {
            Listen::Tcp(self.listen.clone())
        };
        let plan =
            Plan { service: Duration::from_micros(self.service_us), freeze: self.freeze_at_s.zip(self.freeze_for_s) };
        let failed = |error: io::Error| Failure::new(ExitCode::BadSpec, format!("{}: {error}", self.listen));
        let target = FakeTarget::bind(&listen, plan, self.warehouses).map_err(failed)?;
        target.serve(&mut io::stdout().lock(), || stop.requested()).map_err(failed)?;
        Ok(ExitCode::Finished)
    }
}

impl<W: Args + Into<WorkloadSpec>> ActionCommand<W> {
    fn into_spec(self) -> Spec {
        match self {
            Self::Load { workload, common, load: LoadArgs { part, resume, shard }, data } => Spec {
                load: LoadSpec { part, resume },
                shard,
                fingerprint: data.fingerprint,
                ..common.spec(Action::Load, workload.into())
            },
            Self::Run { workload, common, drive } => drive.apply(common.spec(Action::Run, workload.into())),
            Self::Check { workload, common, data } => {
                Spec { fingerprint: data.fingerprint, ..common.spec(Action::Check, workload.into()) }
            }
        }
    }
}

impl NullCommand {
    fn into_spec(self) -> Spec {
        let Self::Run { common, drive } = self;
        drive.apply(common.spec(Action::Run, WorkloadSpec::Null(NullSpec {})))
    }
}

impl CommonArgs {
    fn spec(self, action: Action, workload: WorkloadSpec) -> Spec {
        let check = match self.check {
            CheckArg::None => CheckSpec::None,
            CheckArg::Conditions => CheckSpec::Conditions,
        };
        let spec = Spec::new(action, &self.dsn, workload, self.seed);
        let target = PostgresTarget { dialect: self.dialect, ..spec.target };
        Spec { connections: self.connections, check, target, ..spec }
    }
}

/// Runs the program; the code is what the process must exit with.
#[must_use]
pub fn run() -> u8 {
    let outcome = dispatch(Cli::parse().command);
    let code = outcome.unwrap_or_else(|failure| {
        tell::complain(&failure);
        failure.code
    });
    code as u8
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    let spec = match command {
        Command::Telemetry { interval_ms } => {
            let stop = stop_on_signals()?;
            return Ok(telemetry::run(Duration::from_millis(interval_ms), io::stdout().lock(), &stop));
        }
        Command::FakeTarget(args) => return args.serve(&*stop_on_signals()?),
        Command::Merge { files } => return print_merged(&files),
        Command::Sql(args) => return args.print(),
        Command::Exec { spec } => read_spec(spec.as_deref())?,
        Command::Tpcc(action) => validated(action.into_spec())?,
        Command::PointSelect(action) => validated(action.into_spec())?,
        Command::Null(action) => validated(action.into_spec())?,
    };
    let stop = stop_on_signals()?;
    Ok(session::execute(spec, &Arc::new(Output::new(io::stdout())), &stop))
}

fn print_merged(files: &[PathBuf]) -> Result<ExitCode, Failure> {
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(ExitCode::BadSpec, format!("cannot read {}: {error}", path.display())))?;
        Ok((path.display().to_string(), text))
    };
    let merged = merge::merge(&files.iter().map(read).collect::<Result<Vec<_>, _>>()?)?;
    let mut stdout = io::stdout().lock();
    let written = merged.lines.iter().try_for_each(|line| writeln!(stdout, "{line}"));
    written.map_err(|error| Failure::new(ExitCode::Interrupted, format!("the output cannot be written: {error}")))?;
    Ok(merged.code)
}

fn read_spec(file: Option<&Path>) -> Result<Spec, Failure> {
    let bad = |message: String| Failure::new(ExitCode::BadSpec, message);
    let json = match file {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| bad(format!("cannot read {}: {error}", path.display())))?
        }
        None => {
            if io::stdin().is_terminal() {
                tell::say("reading a JSON spec from the terminal; end it with Ctrl-D (see --help)");
            }
            let mut json = String::new();
            io::stdin().read_to_string(&mut json).map_err(|error| bad(format!("cannot read stdin: {error}")))?;
            json
        }
    };
    Spec::parse(&json).map_err(|error| bad(error.to_string()))
}

fn validated(spec: Spec) -> Result<Spec, Failure> {
    spec.validate().map_err(|error| Failure::new(ExitCode::BadSpec, error.to_string()))?;
    Ok(spec)
}

/// The first SIGINT or SIGTERM asks everybody to stop; the second ends the process.
fn stop_on_signals() -> Result<Arc<Stop>, Failure> {
    let stop = Arc::new(Stop::default());
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::new(ExitCode::BadSpec, format!("signals cannot be watched: {error}")))?;
    let watched = Arc::clone(&stop);
    thread::spawn(move || {
        for count in signals.forever().scan(0_u32, |count, _| Some(std::mem::replace(count, *count + 1))) {
            if count > 0 {
                process::exit(i32::from(ExitCode::Interrupted as u8));
            }
            watched.request(Failure::interrupted());
        }
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound_and_its_help_teaches() {
        Cli::command().debug_assert();
        let help = Cli::command().render_long_help().to_string();
        for word in ["point-select load", "tpcc run", "exec < spec.json", "telemetry", "130"] {
            assert!(help.contains(word), "{word}");
        }
    }

    #[test]
    fn options_become_the_same_spec_as_json() {
        for (words, json) in [
            (
                "x point-select run --dsn postgresql://u@h/d --rows 5 --seed 3 --connections 2 --ramp-s 1.5 \
                 --duration-s 4 --isolation serializable --check none",
                r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d", "isolation": "serializable"},
                    "workload": {"kind": "point_select", "rows": 5}, "seed": 3, "connections": 2, "ramp_s": 1.5,
                    "duration_s": 4, "check": "none"}"#,
            ),
            (
                "x tpcc run --dsn postgresql://u@h/d --warehouses 5 --active-warehouses 2 --wait spec --wait-factor 0.5 \
                 --delivery deferred --workers 30 --threads 2 --pin --operations 99 --shard 1/2 --start-at-unix-ms 7 --retry savepoint \
                 --answer-timeout-s 2 --reconnect-timeout-s 3 --max-retries 4",
                r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d", "retry": "savepoint"}, "seed": 1,
                    "workload": {"kind": "tpcc", "warehouses": 5, "active_warehouses": 2, "wait": "spec",
                    "wait_factor": 0.5, "delivery": "deferred"}, "workers": 30, "threads": 2, "pin": true, "operations": 99,
                    "shard": {"index": 1, "count": 2}, "start_at_unix_ms": 7, "answer_timeout_s": 2,
                    "reconnect_timeout_s": 3, "max_retries": 4}"#,
            ),
            (
                "x null run --dsn postgresql://u@h/d --pace poisson --rate-per-s 50",
                r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d"}, "workload": {"kind": "null"}, "seed": 1,
                    "pace": {"kind": "poisson", "rate_per_s": 50}}"#,
            ),
        ] {
            let spec = match Cli::parse_from(words.split_ascii_whitespace()).command {
                Command::PointSelect(action) => action.into_spec(),
                Command::Tpcc(action) => action.into_spec(),
                Command::Null(action) => action.into_spec(),
                other => panic!("{other:?}"),
            };
            assert_eq!(spec, Spec::parse(json).unwrap());
        }
    }

    #[test]
    fn a_schedule_needs_a_rate() {
        let words = "x null run --dsn postgresql://u@h/d --pace constant";
        assert!(Cli::try_parse_from(words.split_ascii_whitespace()).is_err());
        let shard = "x null run --dsn postgresql://u@h/d --shard 3";
        assert!(Cli::try_parse_from(shard.split_ascii_whitespace()).unwrap_err().to_string().contains("I/N"));
    }

    #[test]
    fn every_profile_has_its_word() {
        for profile in TpccProfile::ALL {
            let words = format!(
                "x tpcc run --dsn postgresql://u@h/d --warehouses 3 --profile {profile} --timestamps logical --seed 3"
            );
            let Command::Tpcc(action) = Cli::parse_from(words.split_ascii_whitespace()).command else {
                panic!("another command");
            };
            let json = format!(
                r#"{{"action": "run", "target": {{"dsn": "postgresql://u@h/d"}}, "seed": 3,
                "workload": {{"kind": "tpcc", "warehouses": 3, "profile": "{profile}", "timestamps": "logical"}}}}"#
            );
            assert_eq!(action.into_spec(), Spec::parse(&json).unwrap());
        }
    }
}
