//! The command line: builds a spec and wires the parts together.

mod options;
mod sql;
mod workloads;

use crate::agent::telemetry::accounts::Trial;
use crate::agent::telemetry::{self, OfTrial};
use crate::agent::wire::{self, Wire};
use crate::agent::{kernel, memory};
use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::session;
use crate::session::merge;
use crate::session::query::Query;
use crate::spec::{Spec, json_schema};
use crate::stop::Stop;
use crate::tell;
#[cfg(feature = "testkit")]
use crate::testkit::command::{FakeAerospikeArgs, FakeTargetArgs};
use clap::{Parser, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sql::SqlArgs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use workloads::WorkloadCommand;

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
  nephoscope-load kv load    --dsn $DSN --rows 1000000 --min-block-bytes 256 --connections 8
  nephoscope-load kv run     --dsn $DSN --rows 1000000 --min-block-bytes 256 --read-percent 95 --connections 64
  nephoscope-load kv run     --dsn redis://10.0.0.6:6379 --rows 1000000 --connections 16 --pipeline 16
  nephoscope-load oltp-read-write load --dsn $DSN --tables 10 --rows 100000 --distribution uniform --connections 8
  nephoscope-load oltp-read-write run  --dsn $DSN --tables 10 --rows 100000 --distribution uniform --connections 64
  nephoscope-load tpcb run   --dsn $DSN --scale 100 --connections 64
  nephoscope-load ycsb load  --dsn $DSN --rows 1000000 --mix a --connections 8
  nephoscope-load ycsb run   --dsn $DSN --rows 1000000 --mix a --connections 64
  nephoscope-load null run   --dsn $DSN --connections 8 --duration-s 3
  nephoscope-load exec < spec.json
  nephoscope-load telemetry --interval-ms 1000
  nephoscope-load kernel --threads 2 --duration-s 10
  nephoscope-load memory

Results are JSON lines on stdout: `started`, one `interval` per second, `finished`. Messages for people go to stderr.

Exit codes:
  0    finished
  2    the spec or the command line is wrong
  3    cannot connect or log in to the server
  4    the requested rate was not kept (the data is complete)
  5    the data is inconsistent: a condition is broken, a row is missing, a counter disagrees
  6    the server went away, or refused a required command
  7    more operations failed than --max-failed-percent allows (the data is complete)
  130  interrupted";

/// Load generator for databases: fills tables, runs a workload with exact latency histograms, and then checks that the
/// data is consistent.
#[derive(Debug, Parser)]
#[command(name = "nephoscope-load", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a JSON spec (nephoscope/load-spec/1) from stdin or a file.
    Exec {
        /// Read the spec from this file instead of stdin.
        #[arg(long)]
        spec: Option<PathBuf>,
    },
    #[command(flatten)]
    Workload(WorkloadCommand),
    /// Imitate a PostgreSQL server until SIGTERM, for tests and calibration: answers the workloads null, point-select
    /// and tpcc (profile proc) from memory, after a fixed time. Prints a JSON line per second.
    #[cfg(feature = "testkit")]
    FakeTarget(FakeTargetArgs),
    /// Imitate an Aerospike cluster until SIGTERM, for tests: nodes keep written records in memory. Prints a JSON line
    /// once the nodes listen.
    #[cfg(feature = "testkit")]
    FakeAerospike(FakeAerospikeArgs),
    /// Measure this machine's CPUs with a CoreMark-like kernel (a Rust port), where EEMBC's original is not available.
    /// Prints one JSON line, which is not an EEMBC score.
    Kernel {
        /// Parallel threads; each runs the whole kernel.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
        threads: u16,
        /// Minimum duration in seconds; the last round runs to its end.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=86_400))]
        duration_s: u32,
    },
    /// Measure this machine's memory: bytes read, written and copied per second over working sets from 16 KiB to four
    /// times the last cache, the time of a load with small and large pages, and the way from core to core. Prints JSON
    /// lines.
    Memory {
        /// Milliseconds of a sample; each point has five to twenty, until they differ by at most 2 %.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=60_000))]
        sample_ms: u64,
        /// Largest working set of a thread in bytes; by default four times the last level's caches.
        #[arg(long, value_parser = clap::value_parser!(u64).range(1 << 14..=1 << 40))]
        largest_bytes: Option<u64>,
        /// Smallest working set of a thread in bytes; the next ones double.
        #[arg(long, default_value_t = 1 << 14, value_parser = clap::value_parser!(u64).range(1 << 14..=1 << 40))]
        smallest_bytes: u64,
    },
    /// Print the JSON Schema of a spec (nephoscope/load-spec/1).
    Schema,
    /// Merge the outputs of all shards of one run and print the result. The exit code is that of the worst shard.
    Merge {
        /// Output files, one per shard.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print every SQL statement that the program can send, one per line, without connecting to a server.
    Sql(SqlArgs),
    /// Run SQL statements that stdin names (JSON: dsn, statements, settings) on a PostgreSQL server, and print the rows
    /// of the last as JSON: reached as a load reaches it.
    Query,
    /// Print this machine's counters (CPU, disks, network) as JSON lines until SIGTERM or the end of stdin.
    Telemetry {
        /// Milliseconds between lines.
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..))]
        interval_ms: u64,
        /// Which processes are the trial's, so that the CPU time of all others is known: `parent` (whoever started
        /// this program, and everything below it), `jobs:FOLDER` (nephoscope's jobs over SSH) or
        /// `group:FOLDER` (a control group).
        #[arg(long, value_parser = parse_trial)]
        trial: Option<Trial>,
        /// CPUs that others may use before their processes are read.
        #[arg(long, default_value_t = 0.05, requires = "trial", allow_negative_numbers = true)]
        limit_cpus: f64,
        /// Names of the measured server's program, between commas: what its processes among the trial's use is
        /// written, too.
        #[arg(long, value_delimiter = ',', env = "NEPHOSCOPE_SERVER")]
        server: Vec<String>,
    },
    /// Relay packets between TAP devices with delay and loss, in both directions, until a device disappears. The
    /// devices are stdin and stdout. For emulated hosts.
    Wire {
        /// Delay of each packet in microseconds.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=60_000_000))]
        delay_us: u64,
        /// Maximum deviation from the delay, uniformly distributed, in microseconds.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=60_000_000))]
        jitter_us: u64,
        /// Percentage of packets to drop.
        #[arg(long, default_value_t = 0.0)]
        loss_percent: f64,
    },
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

fn parse_trial(text: &str) -> Result<Trial, String> {
    match text.split_once(':') {
        None if text == "parent" => Ok(Trial::Parent),
        Some(("jobs", folder)) => Ok(Trial::Jobs(folder.into())),
        Some(("group", folder)) => Ok(Trial::Group(folder.into())),
        _ => Err("expected parent, jobs:FOLDER or group:FOLDER".to_owned()),
    }
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    let spec = match command {
        Command::Telemetry { interval_ms, trial, limit_cpus, server } => {
            let stop = stop_on_signals()?;
            let trial = trial.map(|trial| OfTrial { trial, limit_cpus, server });
            return Ok(telemetry::run(Duration::from_millis(interval_ms), trial, io::stdout().lock(), &stop));
        }
        #[cfg(feature = "testkit")]
        Command::FakeTarget(args) => return args.serve(&*stop_on_signals()?),
        #[cfg(feature = "testkit")]
        Command::FakeAerospike(args) => return args.serve(&*stop_on_signals()?),
        Command::Kernel { threads, duration_s } => {
            return kernel::run(threads, f64::from(duration_s), io::stdout().lock());
        }
        Command::Memory { sample_ms, largest_bytes, smallest_bytes } => {
            let sample = Duration::from_millis(sample_ms);
            return memory::run(memory::Request { sample, largest_bytes, smallest_bytes }, io::stdout().lock());
        }
        Command::Merge { files } => return print_merged(&files),
        Command::Wire { delay_us, jitter_us, loss_percent } => {
            let [delay, jitter] = [delay_us, jitter_us].map(Duration::from_micros);
            return connect(Wire { delay, jitter, loss: loss_percent / 100.0 });
        }
        Command::Schema => {
            // Whoever closed the pipe has read enough.
            let _ = io::stdout().write_all(json_schema().as_bytes());
            return Ok(ExitCode::Finished);
        }
        Command::Query => return answer(),
        Command::Sql(args) => return args.print(),
        Command::Exec { spec } => read_spec(spec.as_deref())?,
        Command::Workload(workload) => validated(workload.into_spec())?,
    };
    let stop = stop_on_signals()?;
    Ok(session::execute(spec, &Arc::new(Output::new(io::stdout())), &stop))
}

fn answer() -> Result<ExitCode, Failure> {
    let (answer, code) = Query::parse(&read_stdin("a JSON query")?)?.run(&*stop_on_signals()?);
    // Whoever closed the pipe does not wait for it.
    let _ = writeln!(io::stdout().lock(), "{}", serde_json::json!(answer));
    Ok(code)
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
    written.map_err(|error| Failure::new(ExitCode::Interrupted, format!("cannot write the output: {error}")))?;
    Ok(merged.code)
}

/// Stdin and stdout are devices here: each is read and written.
fn connect(wire: Wire) -> Result<ExitCode, Failure> {
    let devices = (io::stdin().as_fd().try_clone_to_owned(), io::stdout().as_fd().try_clone_to_owned());
    let passed = match devices {
        (Ok(left), Ok(right)) => wire::connect(left.into(), right.into(), wire, u64::from(process::id())),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    let failed = |error| Failure::new(ExitCode::BadSpec, format!("stdin and stdout must be TAP devices: {error}"));
    passed.map(|()| ExitCode::Finished).map_err(failed)
}

fn read_spec(file: Option<&Path>) -> Result<Spec, Failure> {
    let bad = |message: String| Failure::new(ExitCode::BadSpec, message);
    let json = match file {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| bad(format!("cannot read {}: {error}", path.display())))?
        }
        None => read_stdin("a JSON spec")?,
    };
    Spec::parse(&json).map_err(|error| bad(error.to_string()))
}

fn read_stdin(what: &str) -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        tell::say(format_args!("reading {what} from the terminal; end it with Ctrl-D (see --help)"));
    }
    let failed = |error| Failure::new(ExitCode::BadSpec, format!("cannot read stdin: {error}"));
    io::read_to_string(io::stdin()).map_err(failed)
}

fn validated(spec: Spec) -> Result<Spec, Failure> {
    spec.validate().map_err(|error| Failure::new(ExitCode::BadSpec, error.to_string()))?;
    Ok(spec)
}

/// The first SIGINT or SIGTERM asks everybody to stop; the second ends the process.
fn stop_on_signals() -> Result<Arc<Stop>, Failure> {
    let stop = Arc::new(Stop::default());
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::new(ExitCode::BadSpec, format!("cannot handle signals: {error}")))?;
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
mod tests;
