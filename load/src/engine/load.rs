//! A load: its threads, from the first connection to the last operation.

use super::coordinator::{Coordinator, Offers, OnInterval};
use super::dial::{Dial, Dialer};
use super::pace::{Arrivals, Pace};
use super::reactor::{Equipment, Reactor};
use super::redial::Exchange;
use super::roster::Roster;
use super::shared::Shared;
use super::timeline::Timeline;
use crate::clock::{Clock, at_unix_ms};
use crate::exit::{ExitCode, Failure};
use crate::output::{Gap, Phase};
use crate::record::{Lane, Lanes, Ledger, OutageWatch};
use crate::spec::Share;
use crate::stop::Stop;
use crate::workload::{Draws, Workload};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Barrier};
use std::thread;

/// Connections that one thread drives without being pressed, as the default number of threads has it.
const CONNECTIONS_PER_THREAD: u32 = 8;

/// A load to drive.
pub struct Load<D: Dialer> {
    /// What to draw operations from.
    pub workload: Arc<dyn Workload<D::Session>>,
    /// Sessions with the server.
    pub connections: u32,
    /// Threads that drive; `None`: as many as the CPUs allow and the connections need.
    pub threads: Option<u32>,
    /// Whether each thread stays on a CPU of its own.
    pub pin: bool,
    /// Clients of the whole run, and which of them are this generator's.
    pub share: Share,
    /// When operations are due.
    pub pace: Pace,
    /// Schedules are functions of it.
    pub seed: u64,
    /// Ramp and measurement.
    pub timeline: Timeline,
    /// When to begin, if not at once.
    pub start_at_unix_ms: Option<u64>,
    /// A client that has work and is without success for longer sees an outage.
    pub outage_limit_s: f64,
    /// How often one operation is retried.
    pub max_retries: u32,
    /// Opens connections.
    pub dial: Dial<D>,
    /// Watched by all threads.
    pub stop: Arc<Stop>,
}

/// The result.
#[derive(Debug)]
pub struct Driven {
    /// Counts of the whole action.
    pub ledger: Ledger,
    /// Of all threads that came to their end.
    pub draws: Draws,
    /// Length of the measurement interval really driven, in seconds.
    pub measured_s: f64,
    /// CPU of this process in it, in seconds.
    pub measured_cpu_s: f64,
    /// What an open pace offered.
    pub offered: Option<Offered>,
    /// When this process itself stood still, or was late.
    pub gaps: Vec<Gap>,
}

/// Arrivals of an open pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// Due in the measurement interval.
    pub measured: u64,
    /// Of these, never started.
    pub not_sent: u64,
}

/// Connects, drives the load to its end or until a stop is requested, and collects every operation. Why it
/// stopped early, if it did, is in `load.stop`.
///
/// # Errors
/// [`Failure`] when the load cannot start.
pub fn run<D: Dialer>(load: Load<D>, on_interval: OnInterval<'_>) -> Result<Driven, Failure> {
    let sessions = load.dial.open_all(load.connections as usize, &load.stop)?;
    let threads = threads(&load);
    if let Some(start) = load.start_at_unix_ms {
        let _ = load.stop.wait_until(at_unix_ms(start));
    }
    let shared = Arc::new(Shared {
        clock: Clock::start(),
        end_ns: load.timeline.end_ns(),
        pace: load.pace,
        max_retries: load.max_retries,
        retried: load.workload.retried(),
        missing_rows: load.workload.missing_rows(),
        failover: load.dial.failover,
        stop: Arc::clone(&load.stop),
    });
    let team = Team {
        exchange: Arc::new(Exchange::new(&shared, load.dial)),
        workload: &load.workload,
        pace: load.pace,
        seed: load.seed,
        pin: load.pin,
        shares: (0..threads).map(|thread| part(load.share, thread, threads)).collect(),
    };
    let mut lanes = Lanes::new(threads as usize);
    let (done, endings) = mpsc::channel();
    let numbers = team.start(sessions, &lanes, &done)?;
    drop(done);
    let paced = load.pace.is_open() || load.workload.waits(load.share.clients).is_some();
    let ledger = Ledger::new(load.workload.operations(), paced, OutageWatch::new(load.share, load.outage_limit_s));
    let offers = load.pace.is_open().then(|| Offers::new(team.arrivals()));
    let mut coordinator = Coordinator::new(shared.clock, &load.stop, ledger, offers, endings, numbers);
    coordinator.keep_books(load.timeline, &mut lanes, on_interval);
    let draws = coordinator.wait_for_threads();
    coordinator.ledger.collect(&mut lanes, Phase::Measure, 0); // of no interval
    coordinator.ledger.close_tail();
    let Coordinator { ledger, measured_s, measured_cpu_s, offers, watch, .. } = coordinator;
    let offered = offers.map(|offers| {
        let (measured, not_sent) = offers.in_measurement(lanes.gauges().map(|one| one.begun.load(Ordering::Relaxed)));
        Offered { measured, not_sent }
    });
    Ok(Driven { ledger, draws, measured_s, measured_cpu_s, offered, gaps: watch.end(&lanes) })
}

/// As many threads as asked for, or as are of use; each has a connection of each group.
fn threads<D: Dialer>(load: &Load<D>) -> u32 {
    let cpus = sched_getaffinity(None).map_or(1, |cpus| cpus.count()).max(1);
    let wanted = load.threads.unwrap_or_else(|| cpus.min(load.connections.div_ceil(CONNECTIONS_PER_THREAD)));
    let most = load.connections / load.dial.groups() as u32;
    wanted.clamp(1, most.max(1))
}

/// The part of a generator's clients that one of its threads serves.
fn part(share: Share, thread: u32, threads: u32) -> Share {
    Share { first: share.first + thread * share.stride, stride: share.stride * threads, ..share }
}

/// The threads of a load, before they run.
struct Team<'a, D: Dialer> {
    exchange: Arc<Exchange<D>>,
    workload: &'a Arc<dyn Workload<D::Session>>,
    pace: Pace,
    seed: u64,
    pin: bool,
    shares: Vec<Share>,
}

impl<D: Dialer> Team<'_, D> {
    fn arrivals(&self) -> impl Iterator<Item = Arrivals> + '_ {
        self.shares.iter().filter_map(|&share| Arrivals::new(self.pace, share, self.seed))
    }

    /// Starts all threads; answers their numbers in the kernel.
    fn start(&self, sessions: Vec<D::Session>, lanes: &Lanes, done: &Sender<Draws>) -> Result<Vec<i32>, Failure> {
        let cpus = if self.pin { own_cpus() } else { Vec::new() };
        let ready = Arc::new(Barrier::new(self.shares.len() + 1));
        for (index, equipment) in self.equip(sessions).into_iter().enumerate() {
            let reactor = self.reactor(self.shares[index], lanes.lane(index), equipment)?;
            let cpu = cpus.get(index % cpus.len().max(1)).copied();
            spawn(reactor, lanes.lane(index), cpu, Arc::clone(&ready), done.clone())?;
        }
        ready.wait();
        Ok(lanes.gauges().map(|gauges| gauges.thread.load(Ordering::Relaxed)).collect())
    }

    /// Deals connections to threads: of each group, every thread gets its part.
    fn equip(&self, sessions: Vec<D::Session>) -> Vec<Vec<Equipment<D::Session>>> {
        let (groups, threads) = (self.exchange.dial.groups(), self.shares.len());
        let depth = self.exchange.dial.dialer.depth();
        let mut equipment: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for (index, session) in sessions.into_iter().enumerate() {
            let workers = (0..depth).map(|_| self.workload.worker(self.shares[0].clients)).collect();
            equipment[index / groups % threads].push((index % groups, session, workers));
        }
        equipment
    }

    fn reactor(
        &self,
        share: Share,
        lane: Arc<Lane>,
        equipment: Vec<Equipment<D::Session>>,
    ) -> Result<Reactor<D>, Failure> {
        let mut waits = if self.pace.is_open() { None } else { self.workload.waits(share.clients) };
        let arrivals = Arrivals::new(self.pace, share, self.seed);
        let groups = self.exchange.dial.groups();
        // Not `as_deref_mut`: the box's own lifetime bound would not fit.
        let waiting = waits.as_mut().map(|waits| &mut **waits as &mut dyn crate::workload::Waits);
        let workload = Arc::clone(self.workload);
        let home = move |client, turn| workload.part(share.clients, client, turn, groups);
        let roster = Roster::new(share, arrivals, waiting, Box::new(home), groups);
        Reactor::new(&self.exchange, lane, roster, waits, equipment)
    }
}

fn spawn<D: Dialer>(
    reactor: Reactor<D>,
    lane: Arc<Lane>,
    cpu: Option<usize>,
    ready: Arc<Barrier>,
    done: Sender<Draws>,
) -> Result<(), Failure> {
    let drive = move || {
        lane.gauges().thread.store(gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        if let Some(cpu) = cpu {
            let mut own = CpuSet::new();
            own.set(cpu);
            // Somewhere else it drives as well; only less evenly.
            let _ = sched_setaffinity(None, &own);
        }
        // The kernel may add 50 us to every sleep otherwise.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        ready.wait();
        // Nobody listens any more when the coordinator gave up waiting: then the process is ending.
        let _ = done.send(reactor.run());
    };
    let failure = |error| Failure::new(ExitCode::BadSpec, format!("threads: cannot start another thread: {error}"));
    thread::Builder::new().name("driver".to_owned()).spawn(drive).map(|_| ()).map_err(failure)
}

/// The CPUs that this process may use.
fn own_cpus() -> Vec<usize> {
    let mask = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}
