//! What the machine does during a load: one JSON line of raw counters per interval. Readers take differences; this
//! program computes none, so that a lost line costs one interval and nothing else.

pub mod accounts;
pub mod energy;
pub mod group;
pub mod kept;
pub mod limits;
pub mod parse;
pub mod process;
pub mod quota;
pub mod server;

use crate::clock::{Clock, process_cpu_s};
use crate::exit::ExitCode;
use crate::stop::Stop;
use accounts::{Accounts, Machine, Trial, Used};
use energy::{Energy, Packages};
use kept::Kept;
use limits::Limits;
use parse::{CpuTimes, DiskCounters, NetworkCounters, QuotaPeriods, Stat};
use serde::Serialize;
use server::{Served, Server};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One line.
#[derive(Debug, Serialize)]
struct Reading {
    /// Wall clock, milliseconds since the Unix epoch.
    at_unix_ms: u64,
    /// Monotonic, since the start of this program.
    elapsed_s: f64,
    cpu: Vec<CpuTimes>,
    jiffies_per_s: u64,
    disks: Vec<DiskCounters>,
    network: Vec<NetworkCounters>,
    load_1m: Option<f64>,
    procs_running: Option<u64>,
    /// `None` where the kernel keeps no pressure counters.
    psi_cpu_some_us: Option<u64>,
    /// Of the control groups that this program and the trial's are in, as an emulated machine or a container is one.
    cpu_quota: Option<QuotaPeriods>,
    /// One of these groups is frozen.
    frozen: bool,
    disk_limits: Vec<String>,
    /// How much longer than it wanted this program slept before, without having waited for a CPU: it was stopped or
    /// frozen, or its machine was. `None`: the kernel does not count such waits.
    stood_still_s: Option<f64>,
    /// What the trial has used of the CPUs; `None`: not known, or not read this time.
    trial: Option<Used>,
    /// What the measured server has used; `None`: as `trial`, or none of its processes is here.
    server: Option<Served>,
    /// Of the packages of CPUs; empty: the machine does not show it.
    energy: Vec<Energy>,
    /// What reading all this has cost so far.
    own_cpu_us: u64,
}

/// Whose CPU time to tell apart.
#[derive(Debug)]
pub struct OfTrial {
    /// The processes of the trial.
    pub trial: Trial,
    /// CPUs that others may use before their processes are read.
    pub limit_cpus: f64,
    /// Names of the measured server's program.
    pub server: Vec<String>,
}

/// The processes of the trial, and among them the server's.
struct Watched {
    accounts: Accounts,
    server: Server,
}

/// Writes a line every `interval` until a stop is requested, the reader or the parent goes away, or stdin (when it
/// is a pipe or a socket) is closed.
pub fn run(interval: Duration, trial: Option<OfTrial>, mut sink: impl Write, stop: &Arc<Stop>) -> ExitCode {
    let clock = Clock::start();
    let parent = rustix::process::getppid();
    let mut counters = Counters::of_this_machine();
    let mut limits = Limits::of_this_process();
    let root = parent.map_or(0, |pid| pid.as_raw_nonzero().get());
    let ticks_per_s = rustix::param::clock_ticks_per_second();
    let proc = Path::new("/proc");
    let mut watched = trial.map(|OfTrial { trial, limit_cpus, server }| Watched {
        accounts: Accounts::open(trial, limit_cpus, proc, root, clock.now_s(), ticks_per_s),
        server: Server::of(&server, proc.to_owned(), ticks_per_s),
    });
    let packages = Packages::of_this_machine();
    let (mut scheduled, mut stood_still_s) = (Kept::at("/proc/thread-self/schedstat"), None);
    stop_when_stdin_closes(stop);
    for tick in 1_u32.. {
        let taken = Reading::take(clock, &mut counters, &mut limits, &packages, watched.as_mut());
        let reading = Reading { stood_still_s, ..taken };
        let line = serde_json::to_vec(&reading).unwrap_or_default();
        if sink.write_all(&line).and_then(|()| sink.write_all(b"\n")).and_then(|()| sink.flush()).is_err() {
            break;
        }
        // On the grid, not "interval after the last": the readings of several machines stay comparable.
        let due_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).saturating_mul(u64::from(tick));
        let (waits_ns, wanted_ns) = (run_queue_ns(&mut scheduled), clock.now_ns().max(due_ns));
        if stop.wait_until(clock.instant(due_ns)) || rustix::process::getppid() != parent {
            break;
        }
        let late_ns = clock.now_ns().saturating_sub(wanted_ns);
        let waited_ns = run_queue_ns(&mut scheduled).zip(waits_ns).map(|(now, then)| now.saturating_sub(then));
        stood_still_s = waited_ns.map(|waited_ns| late_ns.saturating_sub(waited_ns) as f64 / 1e9);
    }
    ExitCode::Finished
}

/// How long this thread has been ready without a CPU.
fn run_queue_ns(scheduled: &mut Kept) -> Option<u64> {
    parse::schedstat(&scheduled.text()?).map(|(_, waits_ns, _)| waits_ns)
}

/// Whoever started us through a pipe stops us by closing it. A terminal or `/dev/null` says nothing.
fn stop_when_stdin_closes(stop: &Arc<Stop>) {
    let is_pipe = fs::metadata("/proc/self/fd/0").is_ok_and(|stdin| {
        let kind = stdin.file_type();
        kind.is_fifo() || kind.is_socket()
    });
    if is_pipe {
        let stop = Arc::clone(stop);
        thread::spawn(move || {
            let mut ignored = [0; 512];
            while matches!(io::stdin().read(&mut ignored), Ok(count) if count > 0) {}
            stop.request(crate::exit::Failure::interrupted());
        });
    }
}

/// Where the kernel counts for all of the machine.
struct Counters {
    stat: Kept,
    disks: Kept,
    network: Kept,
    load: Kept,
    pressure: Kept,
}

impl Counters {
    fn of_this_machine() -> Self {
        let [stat, disks, network, load, pressure] =
            ["stat", "diskstats", "net/dev", "loadavg", "pressure/cpu"].map(|name| Kept::at(format!("/proc/{name}")));
        Self { stat, disks, network, load, pressure }
    }
}

impl Reading {
    fn take(
        clock: Clock,
        counters: &mut Counters,
        limits: &mut Limits,
        packages: &Packages,
        mut watched: Option<&mut Watched>,
    ) -> Self {
        let read = |file: &mut Kept| file.text().unwrap_or_default();
        let Stat { cpus: cpu, running: procs_running, forks } = parse::stat(&read(&mut counters.stat));
        let load = read(&mut counters.load);
        // Right after the counters that they are compared with.
        let trial = watched.as_mut().zip(cpu.first()).and_then(|(watched, all)| {
            let busy = all.user + all.nice + all.system;
            watched.accounts.read(clock.now_s(), Machine { busy, forks, last_pid: parse::last_pid(&load) })
        });
        let server = watched.filter(|_| trial.is_some()).and_then(|Watched { accounts, server }| {
            accounts.groups(|text| limits.meet(text));
            let (processes, fresh) = accounts.processes();
            server.read(processes, fresh)
        });
        Self {
            at_unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            elapsed_s: clock.now_s(),
            cpu,
            jiffies_per_s: rustix::param::clock_ticks_per_second(),
            disks: parse::diskstats(&read(&mut counters.disks)),
            network: parse::net_dev(&read(&mut counters.network)),
            load_1m: parse::load_1m(&load),
            procs_running,
            psi_cpu_some_us: parse::pressure_some_us(&read(&mut counters.pressure)),
            cpu_quota: limits.periods(),
            frozen: limits.frozen(),
            disk_limits: limits.of_disks(),
            stood_still_s: None,
            trial,
            server,
            energy: packages.read(),
            own_cpu_us: (process_cpu_s() * 1e6) as u64,
        }
    }
}
