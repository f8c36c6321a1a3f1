//! Closes an interval every second while the threads run, then waits for them.

use super::evidence::{Evidence, Shown};
use super::timeline::{Span, Timeline};
use super::watch::Watch;
use crate::clock::{Clock, process_cpu_s};
use crate::engine::pace::Arrivals;
use crate::exit::Failure;
use crate::output::{ClientUse, Interval, Phase};
use crate::record::{Books, Lanes, Ledger};
use crate::stop::Stop;
use crate::workload::Draws;
use std::iter::Peekable;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long operations in flight may take after an interruption.
const STOP_GRACE: Duration = Duration::from_secs(3);
/// How often it looks whether a stop was requested, and takes what the threads have recorded: half a million operations
/// a second leave a megabyte meanwhile.
const LOOK: Duration = Duration::from_millis(50);
const NS_PER_S: f64 = 1e9;

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

/// Counts what an open pace offers, by copies of the generators that run ahead of those that drive.
pub(super) struct Offers(Vec<Due>);

/// Arrivals of one thread.
struct Due {
    arrivals: Peekable<Arrivals>,
    /// Due so far.
    all: u64,
    /// Due in the measurement interval so far.
    measured: u64,
}

impl Offers {
    /// Of the threads, in the order of their lanes.
    pub(super) fn new(arrivals: impl Iterator<Item = Arrivals>) -> Self {
        Self(arrivals.map(|arrivals| Due { arrivals: arrivals.peekable(), all: 0, measured: 0 }).collect())
    }

    /// Arrivals due before `end_ns` that were not counted before.
    pub(super) fn until(&mut self, end_ns: u64, phase: Phase) -> u64 {
        let mut count = 0;
        for due in &mut self.0 {
            let before = due.all;
            while due.arrivals.next_if(|arrival| arrival.due_ns < end_ns).is_some() {
                due.all += 1;
            }
            due.measured += if phase == Phase::Measure { due.all - before } else { 0 };
            count += due.all - before;
        }
        count
    }

    pub(super) fn all(&self) -> u64 {
        self.0.iter().map(|due| due.all).sum()
    }

    /// Those of the measurement interval, and how many of them never started when each thread began so many: a thread
    /// begins them in the order in which they are due, so whoever is missing is among its last.
    pub(super) fn in_measurement(&self, begun: impl Iterator<Item = u64>) -> (u64, u64) {
        self.0.iter().zip(begun).fold((0, 0), |(measured, not_sent), (due, begun)| {
            (measured + due.measured, not_sent + due.all.saturating_sub(begun).min(due.measured))
        })
    }
}

pub(super) struct Coordinator<'a> {
    pub(super) clock: Clock,
    pub(super) stop: &'a Stop,
    pub(super) ledger: Ledger,
    /// `None` in the closed pace.
    pub(super) offers: Option<Offers>,
    evidence: Evidence,
    pub(super) watch: Watch,
    /// CPU of this process when the last interval was closed.
    cpu_s: f64,
    pub(super) measured_s: f64,
    pub(super) measured_cpu_s: f64,
    connections_lost: u64,
    endings: Receiver<Draws>,
    /// Threads that have not ended.
    running: usize,
    draws: Draws,
}

impl<'a> Coordinator<'a> {
    /// Of this many threads, each of which sends what it drew when it ends.
    pub(super) fn new(
        clock: Clock,
        stop: &'a Stop,
        ledger: Ledger,
        offers: Option<Offers>,
        endings: Receiver<Draws>,
        threads: Vec<i32>,
    ) -> Self {
        Self {
            clock,
            stop,
            ledger,
            offers,
            running: threads.len(),
            evidence: Evidence::of(threads),
            watch: Watch::start(clock),
            cpu_s: process_cpu_s(),
            measured_s: 0.0,
            measured_cpu_s: 0.0,
            connections_lost: 0,
            endings,
            draws: Draws::default(),
        }
    }

    pub(super) fn keep_books(&mut self, timeline: Timeline, lanes: &mut Lanes, on_interval: OnInterval<'_>) {
        for planned in timeline.spans() {
            let early = self.collect_until_end(planned, lanes);
            // Ended early: the interval ends now, and what is still under way belongs to no interval.
            let end_ns = planned.end_ns.min(self.clock.now_ns()).max(planned.start_ns);
            let (interval, books) = self.close(Span { end_ns, ..planned }, lanes);
            let (measured_s, measured_cpu_s) = (self.measured_s, self.measured_cpu_s);
            let known = Known { books: &books, ledger: &self.ledger, measured_s, measured_cpu_s };
            if let Err(failure) = on_interval(interval, known) {
                self.stop.request(failure);
            }
            if early {
                return;
            }
        }
    }

    /// Takes what the threads record until the span is over; true when a stop was requested, or nothing is left to do,
    /// before that.
    fn collect_until_end(&mut self, span: Span, lanes: &mut Lanes) -> bool {
        let mut now_ns = self.clock.now_ns();
        loop {
            let sleep = Duration::from_nanos(span.end_ns.saturating_sub(now_ns)).min(LOOK);
            if self.stop.requested() || self.running == 0 {
                return true;
            }
            if sleep.is_zero() {
                return false;
            }
            self.hear_endings(sleep);
            now_ns = self.clock.now_ns();
            self.watch.woke(now_ns, sleep.as_nanos() as u64, lanes, || self.evidence.taken());
            self.ledger.collect(lanes, span.phase, span.end_ns);
        }
    }

    fn hear_endings(&mut self, patience: Duration) {
        match self.endings.recv_timeout(patience) {
            Ok(theirs) => {
                self.draws.merge(&theirs);
                self.running -= 1;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.running = 0,
        }
    }

    fn close(&mut self, span: Span, lanes: &mut Lanes) -> (Interval, Books) {
        let sum = |gauge: fn(&crate::record::Gauges) -> u64| lanes.gauges().map(gauge).sum::<u64>();
        let in_flight = sum(|gauges| gauges.in_flight.load(Ordering::Relaxed));
        let waiting = sum(|gauges| gauges.queued.load(Ordering::Relaxed));
        let begun = sum(|gauges| gauges.begun.load(Ordering::Relaxed));
        let lost = sum(|gauges| gauges.connections_lost.load(Ordering::Relaxed));
        let lost_before = std::mem::replace(&mut self.connections_lost, lost);
        self.ledger.collect(lanes, span.phase, span.end_ns);
        let mut books = self.ledger.close(span.phase, span.end_ns);
        let offered = self.offers.as_mut().map(|offers| offers.until(span.end_ns, span.phase));
        // In an open pace, whoever was due and has not begun waits, wherever that is.
        let queued = self.offers.as_ref().map_or(waiting, |offers| offers.all().saturating_sub(begun));
        let now_s = process_cpu_s();
        let cpu_s = now_s - std::mem::replace(&mut self.cpu_s, now_s);
        if span.phase == Phase::Measure {
            self.measured_s += (span.end_ns - span.start_ns) as f64 / NS_PER_S;
            self.measured_cpu_s += cpu_s;
        }
        let Shown { threads, steal_s, machine_cpus, throttled, network } = self.evidence.since();
        let interval = Interval {
            index: span.index,
            phase: span.phase,
            at_unix_ms: self.clock.unix_ms(span.start_ns),
            start_s: span.start_ns as f64 / NS_PER_S,
            end_s: span.end_ns as f64 / NS_PER_S,
            operations: std::mem::take(&mut books.operations),
            ended_per_100_ms: std::mem::take(&mut books.ended_per_100_ms),
            longest_gap_s: books.longest_gap_s,
            errors: std::mem::take(&mut books.errors),
            attempts: std::mem::take(&mut books.attempts),
            offered,
            client: ClientUse {
                cpu_s,
                in_flight,
                threads,
                steal_s,
                machine_cpus,
                throttled,
                pacing_error: books.pacing_error.take(),
                queued,
                queued_while_idle: books.late,
                connections_lost: lost - lost_before,
                network,
            },
        };
        (interval, books)
    }

    /// Waits for every operation in flight, as long as it takes (the target's timeouts bound it): what follows reads
    /// what they leave behind. Only who interrupted does not want to wait: a short grace. Answers what was drawn.
    pub(super) fn wait_for_threads(&mut self) -> Draws {
        let mut deadline = None;
        while self.running > 0 {
            self.hear_endings(LOOK);
            if self.stop.interrupted() {
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + STOP_GRACE);
                if Instant::now() >= deadline {
                    break;
                }
            }
        }
        std::mem::take(&mut self.draws)
    }
}
