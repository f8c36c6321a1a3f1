//! Runs one spec, from the first line of output to the last.

use crate::agent::telemetry::parse::kib_line;
use crate::clock::{Clock, process_cpu_s, unix_ms};
use crate::engine::{self, Dial, Dialer, Driven, Known, Load, Timeline};
use crate::exit::{ExitCode, Failure, worst};
use crate::fill::admin::Admin;
use crate::fill::rows::Numbers;
use crate::output::headline;
use crate::output::outcome::Outcome;
use crate::output::{
    AuditLine, ErrorKind, Finished, Gap, GapKind, Interval, Line, OperationTotal, Output, Phase, SCHEMA, Started,
};
use crate::record::Ledger;
use crate::spec::{Spec, SpecError, TargetKind};
use crate::stop::Stop;
use crate::target::aerospike::Place;
use crate::target::resp::Url;
use crate::target::{Session, mysql as mysql_target};
use crate::tell;
use crate::verify::check;
use crate::verify::writes;
use crate::words::counted;
use crate::workload::{self, Workload};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

mod aerospike;
pub mod merge;
mod mysql;
mod pooler;
pub mod query;
pub mod registry;
mod resp;
mod rows;
mod sql;
pub mod statements;

/// A server may take this long to come back, or servers to agree on who has the rows, before these are read after a run.
const COME_BACK_TIMEOUT: Duration = Duration::from_secs(15);

/// An open pace of which less than this share was done was not kept.
const MIN_KEPT: f64 = 0.99;
/// After an interruption, an action that waits for the server (an index, a check) is abandoned after this long.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// Carries the spec out and writes every line. The code is what the process must exit with.
#[must_use]
pub fn execute(spec: Spec, output: &Arc<Output>, stop: &Arc<Stop>) -> ExitCode {
    // A spec has been validated before it comes here; its DSN parses.
    let server = match Server::of(&spec) {
        Ok(server) => server,
        Err(error) => {
            tell::complain(error);
            return ExitCode::BadSpec;
        }
    };
    let session = Execution {
        spec,
        server,
        output: Arc::clone(output),
        stop: Arc::clone(stop),
        clock: Clock::start(),
        known: Arc::default(),
    };
    let watcher = session.clone();
    let (done, ending) = mpsc::channel();
    thread::spawn(move || {
        let outcome = session.act();
        let _ = done.send(session.finish(outcome.err()));
    });
    let mut give_up_at = None;
    loop {
        match ending.recv_timeout(POLL) {
            Ok(code) => return code,
            Err(RecvTimeoutError::Disconnected) => {
                return watcher
                    .finish(Some(Failure::new(ExitCode::TargetLost, "the action crashed (a bug in nephoscope-load)")));
            }
            Err(RecvTimeoutError::Timeout) if stop.interrupted() => {
                let give_up_at = *give_up_at.get_or_insert_with(|| {
                    watcher.server.cancel_all();
                    Instant::now() + INTERRUPT_GRACE
                });
                if Instant::now() >= give_up_at {
                    return watcher.abandon();
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The target, as the action reaches it beside the sessions that the load drives.
#[derive(Clone)]
enum Server {
    Sql(Arc<Admin>),
    Mysql(Arc<Admin<mysql_target::Connection>>),
    Resp(Url),
    Aerospike(Place),
}

impl Server {
    fn of(spec: &Spec) -> Result<Self, SpecError> {
        Ok(match spec.target.kind {
            TargetKind::Postgres => Self::Sql(Arc::new(Admin::new(spec.target.dsn()?))),
            TargetKind::Mysql => Self::Mysql(Arc::new(Admin::new(spec.target.mysql_dsn()?))),
            TargetKind::Resp => Self::Resp(spec.target.url()?),
            TargetKind::Aerospike => Self::Aerospike(spec.target.place()?),
        })
    }

    /// Ends statements that may take long.
    fn cancel_all(&self) {
        match self {
            Self::Sql(admin) => admin.cancel_all(),
            Self::Mysql(admin) => admin.cancel_all(),
            Self::Resp(_) | Self::Aerospike(_) => {}
        }
    }
}

#[derive(Clone)]
struct Execution {
    spec: Spec,
    server: Server,
    output: Arc<Output>,
    stop: Arc<Stop>,
    clock: Clock,
    /// Filled as the action goes on, so that the last line tells all that is known, however the action ends and
    /// whoever writes it.
    known: Arc<Mutex<Finished>>,
}

impl Execution {
    fn act(&self) -> Result<(), Failure> {
        match &self.server {
            Server::Sql(admin) => sql::act(self, admin),
            Server::Mysql(admin) => mysql::act(self, admin),
            Server::Resp(url) => resp::act(self, url),
            Server::Aerospike(place) => aerospike::act(self, place),
        }
    }

    /// Notes what was drawn, judged.
    fn note_audit<S: Session>(&self, workload: &dyn Workload<S>, driven: &Driven) {
        let line = |line: workload::AuditLine| AuditLine {
            name: line.name,
            observed: line.observed,
            low: line.low,
            high: line.high,
            draws: line.draws,
            passed: line.passed,
        };
        let lines = workload.audit(self.spec.share().clients, &driven.draws);
        self.known().audit = lines.into_iter().map(line).collect();
    }

    /// Judges what was driven: operations that failed, the rate, and whether this process was there all the time.
    fn judge(&self, driven: &Driven) -> Result<(), Failure> {
        worst([self.judge_failed(), self.judge_rate(driven), judge_gaps(&driven.gaps)])
    }

    /// Compares the operations that failed with the limit: those of the measurement, or all when none was measured.
    fn judge_failed(&self) -> Result<(), Failure> {
        let known = self.known();
        let measured = known.operations.iter().any(|total| total.measured > 0);
        let of = |total: &OperationTotal| if measured { total.measured } else { total.all };
        let attempted: u64 = known.operations.iter().map(of).sum();
        let failed: u64 = known.operations.iter().filter(|total| total.outcome == Outcome::Failed).map(of).sum();
        let (percent, most) = (100.0 * failed as f64 / attempted.max(1) as f64, self.spec.max_failed_percent);
        if percent <= most {
            return Ok(());
        }
        let common = most_common_error(&known).map(|error| format!(", most of them {error}")).unwrap_or_default();
        let message = format!("{failed} of {attempted} operations failed{common}: {percent:.3} %, limit {most} %");
        Err(Failure::new(ExitCode::TooManyFailed, message))
    }

    /// Records what an open pace offered, and compares it with what was done.
    fn judge_rate(&self, driven: &Driven) -> Result<(), Failure> {
        let Some(offered) = driven.offered else { return Ok(()) };
        let mut known = self.known();
        known.offered = Some(offered.measured);
        known.not_sent = Some(offered.not_sent);
        let missed = offered.not_sent + driven.ledger.failed_in_measurement();
        let done = offered.measured.saturating_sub(missed);
        if done as f64 >= MIN_KEPT * offered.measured as f64 {
            return Ok(());
        }
        let message = format!(
            "the rate was not kept: of {} due in the measurement, {} never started and {} failed",
            counted(offered.measured, "operation"),
            offered.not_sent,
            missed - offered.not_sent
        );
        Err(Failure::new(ExitCode::RateNotKept, message))
    }

    fn drive<D: Dialer>(&self, workload: &Arc<dyn Workload<D::Session>>, dialer: D) -> Result<Driven, Failure> {
        let timeline = Timeline {
            ramp: Duration::from_secs_f64(self.spec.ramp_s),
            measure: Duration::from_secs_f64(self.spec.duration_s),
        };
        let load = Load {
            workload: Arc::clone(workload),
            connections: self.spec.connections,
            threads: self.spec.threads,
            pin: self.spec.pin,
            share: self.spec.share(),
            pace: self.spec.pace.into(),
            seed: self.spec.seed,
            timeline,
            start_at_unix_ms: self.spec.start_at_unix_ms,
            outage_limit_s: self.spec.outage_limit_s,
            max_retries: self.spec.max_retries,
            dial: Dial {
                dialer,
                answer_timeout: Duration::from_secs_f64(self.spec.answer_timeout_s),
                reconnect_timeout: Duration::from_secs_f64(self.spec.reconnect_timeout_s),
                failover: self.spec.failover,
            },
            stop: Arc::clone(&self.stop),
        };
        if let Some(log) = workload.writes() {
            log.begin(unix_ms());
        }
        let driven = engine::run(load, &mut |interval, known| {
            self.count(known.ledger, known.measured_s, known.measured_cpu_s);
            show_interval(&interval, known);
            self.write(&Line::Interval(interval))
        })?;
        self.count(&driven.ledger, driven.measured_s, driven.measured_cpu_s);
        let mut known = self.known();
        known.gaps.clone_from(&driven.gaps);
        known.outages = Some(driven.ledger.outages());
        drop(known);
        Ok(driven)
    }

    /// Reads what a run has written that numbers its writes, unless nobody wants to wait.
    fn compare_writes<S: Session>(
        &self,
        workload: &dyn Workload<S>,
        open: impl Fn() -> Result<Numbers, Failure>,
    ) -> Result<(), Failure> {
        let Some(log) = workload.writes().filter(|_| !self.stop.interrupted()) else { return Ok(()) };
        tell::progress("reading what was written");
        let patience = if self.spec.failover { COME_BACK_TIMEOUT } else { Duration::ZERO };
        let result = writes::compare(log.take(), writes::reopened(open, patience)?)?;
        let wrong = writes::judge(&result);
        self.known().ledger = Some(result);
        wrong.map_or(Ok(()), Err)
    }

    /// Notes what was done so far.
    fn count(&self, ledger: &Ledger, measured_s: f64, measured_cpu_s: f64) {
        let mut known = self.known();
        known.operations = ledger.totals();
        known.errors = ledger.errors();
        known.round_trips = ledger.round_trips();
        known.round_trips_by_operation = ledger.round_trips_by_operation();
        known.headline = headline::headline(&self.spec, &ledger.into(), measured_s);
        known.measured_s = Some(measured_s);
        known.client_cpu_s = measured_cpu_s;
        known.message = nothing_succeeded(&known).unwrap_or_default();
    }

    fn start(&self, server_version: Option<&str>) -> Result<(), Failure> {
        let started = Started {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            spec: self.spec.without_secrets(),
            at_unix_ms: unix_ms(),
            server_version: server_version.map(str::to_owned),
        };
        self.write(&Line::Started(started))
    }

    /// Writes the last line: the worst of how the action ended and why anybody asked to stop.
    fn finish(&self, ended: Option<Failure>) -> ExitCode {
        self.end(worst([self.stop.reason().map_or(Ok(()), Err), ended.map_or(Ok(()), Err)]).err())
    }

    fn end(&self, failure: Option<Failure>) -> ExitCode {
        let code = failure.as_ref().map_or(ExitCode::Finished, |failure| failure.code);
        let mut finished = self.known().clone();
        if let Some(failure) = failure {
            finished.message = failure.message;
        }
        let message = finished.message.clone();
        if let (Some(headline), Some(profile)) = (&finished.headline, &finished.profile) {
            tell::say(headline::sentence(profile, headline));
        }
        finished.exit_code = code as u8;
        finished.elapsed_s = self.clock.now_s();
        if finished.measured_s.is_none() {
            finished.client_cpu_s = process_cpu_s();
        }
        finished.peak_memory_bytes = peak_memory_bytes();
        // First the line, then the people: nobody may be left there.
        let written = self.write(&Line::Finished(Box::new(finished)));
        if !message.is_empty() {
            tell::complain(message);
        }
        match written {
            Ok(()) => code,
            Err(failure) if code == ExitCode::Finished => failure.code,
            Err(_) => code,
        }
    }

    /// Writes the last line for an action that does not come to its end: what is known, and why it was to stop.
    fn abandon(&self) -> ExitCode {
        // It is stopped, or nobody would abandon it. Broken data that were found before are the worse news.
        let stopped = self.stop.reason().unwrap_or_else(Failure::interrupted);
        let broken = check::judge_conditions(&self.known().conditions);
        let mut failure = match broken {
            Some(broken) => stopped.or_worse(broken),
            None => stopped,
        };
        failure.message.push_str("; a statement was left running on the server");
        self.end(Some(failure))
    }

    fn known(&self) -> MutexGuard<'_, Finished> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, line: &Line) -> Result<(), Failure> {
        self.output.write(line).map_err(|error| {
            let message = format!("cannot write the output (did its reader exit?): {error}");
            Failure::new(ExitCode::Interrupted, message)
        })
    }
}

/// An interval, for people who watch.
fn show_interval(interval: &Interval, known: Known<'_>) {
    let phase = if interval.phase == Phase::Ramp { "ramp" } else { "measure" };
    let seconds = interval.end_s - interval.start_s;
    let errors: u64 = interval.errors.iter().map(|error| error.count).sum();
    tell::progress(&format!(
        "{:6.0} s {phase}: {:.0} operations/s, slowest p99 of service {:.3} ms, {errors} errors and retries",
        interval.end_s,
        known.books.count as f64 / seconds.max(1e-9),
        known.books.service_p99_ns as f64 / 1e6,
    ));
}

/// A process that was stopped sent nothing meanwhile, and answers waited for it.
fn judge_gaps(gaps: &[Gap]) -> Result<(), Failure> {
    let mut stops = gaps.iter().filter(|gap| gap.kind == GapKind::Stopped);
    let Some(first) = stops.next() else { return Ok(()) };
    let all_s = first.length_s + stops.map(|gap| gap.length_s).sum::<f64>();
    let message = format!(
        "the load generator stood still for {all_s:.2} s, from {:.1} s after its start on: it was stopped or frozen, \
         or its machine was suspended, or paused by its host; run again, and leave it alone",
        first.at_s
    );
    Err(Failure::new(ExitCode::StoodStill, message))
}

/// What to say of a load of which no operation succeeded.
fn nothing_succeeded(known: &Finished) -> Option<String> {
    let all = |failed: bool| {
        let of = known.operations.iter().filter(move |total| (total.outcome == Outcome::Failed) == failed);
        of.map(|total| total.all).sum::<u64>()
    };
    let failed = all(true);
    let common = most_common_error(known)?;
    (failed > 0 && all(false) == 0).then(|| format!("all {failed} operations failed, most of them {common}"))
}

/// What most operations failed with: the operation, and the error.
fn most_common_error(known: &Finished) -> Option<String> {
    let failed = known.errors.iter().filter(|error| error.kind == ErrorKind::Failed);
    let most = failed.max_by_key(|error| error.count)?;
    Some(format!("{} with {}", most.operation, most.sqlstate))
}

/// The largest resident set so far; 0 where the kernel does not report it.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kib_line(&status, "VmHWM:").unwrap_or(0)
}
