//! Drives workers against a target and keeps the books.
//!
//! This engine is blocking: one thread, one connection, one worker. What it asks of the rest of the program (a
//! [`crate::workload::Worker`] as a state machine, [`Lanes`] to record in) is what an event loop would ask too.

mod clock;
mod dial;
mod driver;
mod timeline;

pub use clock::{Clock, process_cpu_s, unix_ms};
pub use dial::{Dial, cannot_connect};
pub use timeline::{Span, Timeline};

use crate::exit::{ExitCode, Failure};
use crate::output::{ClientUse, Interval, Phase};
use crate::pace::Closed;
use crate::record::{Books, Lanes, Ledger};
use crate::stop::Stop;
use crate::workload::{Draws, Workload};
use driver::{Driver, Shared};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// A worker's stack: it only encodes and decodes. Thousands of them must fit.
const STACK_BYTES: usize = 256 * 1024;
/// How long operations under way may take once somebody interrupted.
const STOP_GRACE: Duration = Duration::from_secs(3);
const NS_PER_S: f64 = 1e9;

/// A load to drive.
pub struct Load {
    /// What to draw operations from.
    pub workload: Arc<dyn Workload>,
    /// Number of workers, each with its connection.
    pub connections: u32,
    /// Ramp and measurement.
    pub timeline: Timeline,
    /// How often one operation is tried again.
    pub max_retries: u32,
    /// Makes connections.
    pub dial: Dial,
    /// Watched by everybody.
    pub stop: Arc<Stop>,
}

/// What came of it.
#[derive(Debug)]
pub struct Driven {
    /// Counts of the whole action.
    pub ledger: Ledger,
    /// Of all workers that came to their end.
    pub draws: Draws,
    /// Length of the measurement interval really driven, in seconds.
    pub measured_s: f64,
    /// CPU of this process in it, in seconds.
    pub measured_cpu_s: f64,
}

/// What is known when an interval was closed.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Of the interval.
    pub books: &'a Books,
    /// Of the whole action so far.
    pub ledger: &'a Ledger,
    /// Length of the measurement interval so far, in seconds.
    pub measured_s: f64,
    /// CPU of this process in it, in seconds.
    pub measured_cpu_s: f64,
}

/// Receives each closed interval; an error (nobody reads) stops the load.
pub type OnInterval<'a> = &'a mut dyn FnMut(Interval, Known<'_>) -> Result<(), Failure>;

/// Connects, drives the load to its end or until somebody asks to stop, and collects every operation. Why it
/// stopped early, if it did, is in `load.stop`.
///
/// # Errors
/// [`Failure`] when the load cannot start.
pub fn run(load: Load, on_interval: OnInterval<'_>) -> Result<Driven, Failure> {
    let count = load.connections as usize;
    let connections = load.dial.open_all(count, &load.stop)?;
    let clock = Clock::start();
    let shared = Arc::new(Shared {
        clock,
        end_ns: load.timeline.end_ns(),
        max_retries: load.max_retries,
        dial: load.dial,
        stop: Arc::clone(&load.stop),
    });
    let mut lanes = Lanes::new(count);
    let (done, endings) = mpsc::channel();
    for (index, connection) in (0..load.connections).zip(connections) {
        let lane = lanes.lane(index as usize);
        let worker = load.workload.worker(load.connections);
        let driver = Driver::new(Arc::clone(&shared), lane, worker, Box::new(Closed), connection, index);
        spawn(driver, done.clone())?;
    }
    drop(done);
    let mut coordinator = Coordinator {
        clock,
        stop: &load.stop,
        ledger: Ledger::new(load.workload.operations()),
        cpu_s: process_cpu_s(),
        measured_s: 0.0,
        measured_cpu_s: 0.0,
    };
    coordinator.keep_books(load.timeline, &mut lanes, on_interval);
    let draws = coordinator.wait_for_drivers(&endings, count);
    coordinator.ledger.collect(&mut lanes);
    coordinator.ledger.close_tail();
    let Coordinator { ledger, measured_s, measured_cpu_s, .. } = coordinator;
    Ok(Driven { ledger, draws, measured_s, measured_cpu_s })
}

fn spawn(driver: Driver, done: Sender<Draws>) -> Result<(), Failure> {
    thread::Builder::new()
        .name("worker".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nobody listens any more when the coordinator gave up waiting: then the process is ending.
            let _ = done.send(driver.run());
        })
        .map(|_| ())
        .map_err(|error| Failure::new(ExitCode::BadSpec, format!("connections: no thread for one more: {error}")))
}

/// Closes an interval each second while the drivers drive.
struct Coordinator<'a> {
    clock: Clock,
    stop: &'a Stop,
    ledger: Ledger,
    /// CPU of this process when the last interval was closed.
    cpu_s: f64,
    measured_s: f64,
    measured_cpu_s: f64,
}

impl Coordinator<'_> {
    fn keep_books(&mut self, timeline: Timeline, lanes: &mut Lanes, on_interval: OnInterval<'_>) {
        for planned in timeline.spans() {
            let stopped = self.stop.wait_until(self.clock.instant(planned.end_ns));
            // Stopped early: the interval ends now, and what is still under way belongs to no interval.
            let end_ns = planned.end_ns.min(self.clock.now_ns()).max(planned.start_ns);
            let (interval, books) = self.close(Span { end_ns, ..planned }, lanes);
            let (measured_s, measured_cpu_s) = (self.measured_s, self.measured_cpu_s);
            let known = Known { books: &books, ledger: &self.ledger, measured_s, measured_cpu_s };
            if let Err(failure) = on_interval(interval, known) {
                self.stop.request(failure);
            }
            if stopped {
                return;
            }
        }
    }

    fn close(&mut self, span: Span, lanes: &mut Lanes) -> (Interval, Books) {
        let in_flight = lanes.in_flight();
        self.ledger.collect(lanes);
        let mut books = self.ledger.close(span.phase, span.end_ns);
        let now_s = process_cpu_s();
        let cpu_s = now_s - std::mem::replace(&mut self.cpu_s, now_s);
        if span.phase == Phase::Measure {
            self.measured_s += (span.end_ns - span.start_ns) as f64 / NS_PER_S;
            self.measured_cpu_s += cpu_s;
        }
        let interval = Interval {
            index: span.index,
            phase: span.phase,
            at_unix_ms: self.clock.unix_ms(span.start_ns),
            start_s: span.start_ns as f64 / NS_PER_S,
            end_s: span.end_ns as f64 / NS_PER_S,
            operations: std::mem::take(&mut books.operations),
            errors: std::mem::take(&mut books.errors),
            client: ClientUse { cpu_s, in_flight },
        };
        (interval, books)
    }

    /// Waits for every operation under way, as long as it takes (the target's timeouts bound it): what follows reads
    /// what they leave behind. Only who interrupted does not want to wait: a short grace.
    fn wait_for_drivers(&self, endings: &Receiver<Draws>, count: usize) -> Draws {
        let mut draws = Draws::default();
        let mut deadline = None;
        let mut ended = 0;
        while ended < count {
            match endings.recv_timeout(Duration::from_millis(100)) {
                Ok(theirs) => {
                    draws.merge(&theirs);
                    ended += 1;
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if self.stop.interrupted() => {
                    let deadline = *deadline.get_or_insert_with(|| Instant::now() + STOP_GRACE);
                    if Instant::now() >= deadline {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        draws
    }
}
