//! Carries one spec out, from the first line of output to the last.

use crate::check::{self, Moment};
use crate::engine::{self, Clock, Dial, Driven, Load, Timeline, cannot_connect, process_cpu_s};
use crate::exit::{ExitCode, Failure};
use crate::loader::Loader;
use crate::output::{AuditLine, Finished, Interval, Line, Output, Phase, SCHEMA, Started};
use crate::record::Books;
use crate::spec::{Action, CheckSpec, Spec};
use crate::stop::Stop;
use crate::target::postgres::{Connection, Dsn};
use crate::workload::{self, Parts, Workload};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A server that is silent for so long while an operation waits is gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// A server may take so long to come back before the load gives up.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After an interruption, an action that waits for the server (an index, a check) is left behind after so long.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// Carries the spec out and writes every line. The code is what the process must exit with.
#[must_use]
pub fn execute(spec: Spec, output: &Arc<Output>, stop: &Arc<Stop>) -> ExitCode {
    let mut session = Session {
        spec,
        output: Arc::clone(output),
        stop: Arc::clone(stop),
        clock: Clock::start(),
        finished: Finished::default(),
    };
    let clock = session.clock;
    let (done, ending) = mpsc::channel();
    thread::spawn(move || {
        let outcome = session.act();
        let code = session.finish(outcome.err());
        let _ = done.send(code);
    });
    let mut give_up_at = None;
    loop {
        match ending.recv_timeout(POLL) {
            Ok(code) => return code,
            Err(RecvTimeoutError::Disconnected) => return abandoned(output, clock, "a defect ended the action"),
            Err(RecvTimeoutError::Timeout) if stop.requested() => {
                let give_up_at = *give_up_at.get_or_insert_with(|| Instant::now() + INTERRUPT_GRACE);
                if Instant::now() >= give_up_at {
                    return abandoned(output, clock, "interrupted; a statement was left running on the server");
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The last line of an action that did not come to its own.
fn abandoned(output: &Output, clock: Clock, message: &str) -> ExitCode {
    let finished = Finished {
        exit_code: ExitCode::Interrupted as u8,
        message: message.to_owned(),
        elapsed_s: clock.now_s(),
        client_cpu_s: process_cpu_s(),
        peak_memory_bytes: peak_memory_bytes(),
        ..Finished::default()
    };
    eprintln!("nephoscope-load: {message}");
    let _ = output.write(&Line::Finished(finished));
    ExitCode::Interrupted
}

struct Session {
    spec: Spec,
    output: Arc<Output>,
    stop: Arc<Stop>,
    clock: Clock,
    /// Filled as the action goes on, so that the last line tells all that is known, however it ends.
    finished: Finished,
}

impl Session {
    fn act(&mut self) -> Result<(), Failure> {
        let dsn = self.spec.dsn().map_err(|error| Failure::new(ExitCode::BadSpec, error.to_string()))?;
        let parts = workload::parts(&self.spec);
        let connected = connect(&dsn);
        self.start(connected.as_ref().ok().and_then(|connection| connection.server_version()))?;
        let connection = connected?;
        match self.spec.action {
            Action::Load => self.load(&dsn, &parts, connection),
            Action::Run => self.run(&dsn, &parts, connection),
            Action::Check => self.check(&parts, connection),
        }
    }

    fn load(&mut self, dsn: &Dsn, parts: &Parts, mut connection: Connection) -> Result<(), Failure> {
        self.finished.tables = Loader {
            dataset: parts.dataset.as_ref(),
            dsn,
            connections: self.spec.connections,
            stop: &self.stop,
            progress: &progress,
        }
        .run()?;
        let workload = self.workload(parts, &mut connection)?;
        if self.spec.check == CheckSpec::Conditions {
            self.check_conditions(workload.as_ref(), &mut connection, Moment::AfterLoad)?;
        }
        Ok(())
    }

    fn check(&mut self, parts: &Parts, mut connection: Connection) -> Result<(), Failure> {
        let workload = self.workload(parts, &mut connection)?;
        self.check_conditions(workload.as_ref(), &mut connection, Moment::Later)
    }

    fn run(&mut self, dsn: &Dsn, parts: &Parts, mut connection: Connection) -> Result<(), Failure> {
        let workload = self.workload(parts, &mut connection)?;
        let checked = self.spec.check == CheckSpec::Conditions;
        let counters = if checked { workload.server_counters() } else { Vec::new() };
        let before = check::read_counters(&mut connection, &counters)?;
        // Its session must not take one of the server's places from the load.
        drop(connection);

        let driven = self.drive(dsn, &workload)?;
        self.finished.audit = audit(workload.as_ref(), &driven);
        // A lost server cannot be asked, and who interrupted does not want to wait. Damaged data is looked at.
        let asked_to_stop = self.stop.reason().is_some_and(|reason| reason.code != ExitCode::ConsistencyBroken);
        if !checked || asked_to_stop {
            return Ok(());
        }
        let mut connection = connect(dsn).map_err(|failure| Failure::new(ExitCode::TargetLost, failure.message))?;
        let after = check::read_counters(&mut connection, &counters)?;
        self.finished.counters = check::compare_counters(&counters, &before, &after, &driven.ledger);
        let disagreement = check::judge_counters(&self.finished.counters);
        self.check_conditions(workload.as_ref(), &mut connection, Moment::Later)?;
        disagreement.map_or(Ok(()), Err)
    }

    fn drive(&mut self, dsn: &Dsn, workload: &Arc<dyn Workload>) -> Result<Driven, Failure> {
        let timeline = Timeline {
            ramp: Duration::from_secs_f64(self.spec.ramp_s),
            measure: Duration::from_secs_f64(self.spec.duration_s),
        };
        let load = Load {
            workload: Arc::clone(workload),
            connections: self.spec.connections,
            timeline,
            max_retries: self.spec.max_retries,
            dial: Dial {
                dsn: dsn.clone(),
                isolation: self.spec.target.isolation.into(),
                statements: workload.statements().to_vec(),
                answer_timeout: ANSWER_TIMEOUT,
                reconnect_timeout: RECONNECT_TIMEOUT,
            },
            stop: Arc::clone(&self.stop),
        };
        let output = Arc::clone(&self.output);
        let driven = engine::run(load, &mut |interval, books| {
            tell(&interval, books);
            write(&output, &Line::Interval(interval))
        })?;
        self.finished.operations = driven.ledger.totals();
        self.finished.errors = driven.ledger.errors();
        self.finished.round_trips = driven.ledger.round_trips();
        self.finished.measured_s = Some(driven.measured_s);
        self.finished.client_cpu_s = driven.measured_cpu_s;
        Ok(driven)
    }

    fn check_conditions(
        &mut self,
        workload: &dyn Workload,
        connection: &mut Connection,
        moment: Moment,
    ) -> Result<(), Failure> {
        progress("checking conditions");
        self.finished.conditions = check::conditions(connection, &workload.conditions(), moment)?;
        check::judge_conditions(&self.finished.conditions).map_or(Ok(()), Err)
    }

    /// Builds the workload, on the constants that the data set was loaded with.
    fn workload(&mut self, parts: &Parts, connection: &mut Connection) -> Result<Arc<dyn Workload>, Failure> {
        let read = |sql: &str| {
            connection
                .query(sql)
                .map_err(|error| Failure::target("the constants of the data set cannot be read", &error))
        };
        let stored = parts.stored_constants.map_or(Ok(Vec::new()), read)?;
        let workload = parts.workload(&stored).map_err(|error| Failure::data(&error))?;
        self.finished.constants = workload.constants();
        Ok(workload)
    }

    fn start(&self, server_version: Option<&str>) -> Result<(), Failure> {
        let at_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let started = Started {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            spec: self.spec.without_secrets(),
            at_unix_ms,
            server_version: server_version.map(str::to_owned),
        };
        write(&self.output, &Line::Started(started))
    }

    /// Writes the last line: the worst of how the action ended and why anybody asked to stop.
    fn finish(mut self, ended: Option<Failure>) -> ExitCode {
        let failure = match (self.stop.reason(), ended) {
            (Some(stopped), Some(ended)) => Some(stopped.or_worse(ended)),
            (stopped, ended) => stopped.or(ended),
        };
        let code = failure.as_ref().map_or(ExitCode::Finished, |failure| failure.code);
        if let Some(failure) = failure {
            eprintln!("nephoscope-load: {failure}");
            self.finished.message = failure.message;
        }
        self.finished.exit_code = code as u8;
        self.finished.elapsed_s = self.clock.now_s();
        if self.finished.measured_s.is_none() {
            self.finished.client_cpu_s = process_cpu_s();
        }
        self.finished.peak_memory_bytes = peak_memory_bytes();
        match write(&self.output, &Line::Finished(self.finished)) {
            Ok(()) => code,
            Err(failure) if code == ExitCode::Finished => failure.code,
            Err(_) => code,
        }
    }
}

/// The session for set-up and checks: it waits for ever, a check of a large data set takes its time.
fn connect(dsn: &Dsn) -> Result<Connection, Failure> {
    Connection::open(dsn, None).map_err(|error| cannot_connect(dsn, &error))
}

fn write(output: &Output, line: &Line) -> Result<(), Failure> {
    output.write(line).map_err(|error| {
        Failure::new(ExitCode::Interrupted, format!("the output cannot be written (its reader went away?): {error}"))
    })
}

fn audit(workload: &dyn Workload, driven: &Driven) -> Vec<AuditLine> {
    let line = |line: workload::AuditLine| AuditLine {
        name: line.name,
        observed: line.observed,
        low: line.low,
        high: line.high,
        draws: line.draws,
        passed: line.passed,
    };
    workload.audit(&driven.draws).into_iter().map(line).collect()
}

/// A step, for people who watch.
fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("{text}");
    }
}

/// An interval, for people who watch.
fn tell(interval: &Interval, books: &Books) {
    let phase = if interval.phase == Phase::Ramp { "ramp" } else { "measure" };
    let seconds = interval.end_s - interval.start_s;
    let errors: u64 = interval.errors.iter().map(|error| error.count).sum();
    progress(&format!(
        "{:6.0} s {phase}: {:.0} operations/s, slowest p99 of service {:.3} ms, {errors} errors and retries",
        interval.end_s,
        books.count as f64 / seconds.max(1e-9),
        books.service_p99_ns as f64 / 1e6,
    ));
}

/// The largest resident set so far; 0 where the kernel does not tell.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
