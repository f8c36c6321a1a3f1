//! One thread of a load: an epoll instance, its connections, its clients. It shares nothing with other threads except
//! the lane, which the coordinator empties every second.

use super::channels::{Channel, Channels, State};
use super::deferred::Deferred;
use super::dial::Dialer;
use super::redial::{Exchange, Redial};
use super::roster::Roster;
use super::seat::{Ended, Next};
use super::shared::Shared;
use crate::engine::pace::Arrival;
use crate::exit::{ExitCode, Failure};
use crate::output::outcome::Outcome;
use crate::record::Lane;
use crate::target::Session;
use crate::workload::{Draws, Waits, Worker};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Pauses before a retry, and after an operation that failed, grow from here …
const FIRST_BACK_OFF: Duration = Duration::from_micros(500);
/// … to here, doubling; each is drawn uniformly below that, so that two which collided do not meet again.
const LONGEST_BACK_OFF: Duration = Duration::from_millis(50);
/// No thread sleeps longer: a stop may have been requested.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Less than this before something is due in an open pace, sleeping would be too coarse.
const SPIN_NS: u64 = 50_000;
/// How long queued work may take after an interruption: less than the coordinator's grace period, so that what
/// threads drew is counted.
const QUEUED_GRACE_NS: u64 = 2_000_000_000;
/// How often to check for overdue answers.
const SCAN_NS: u64 = 250_000_000;
const EVENTS: usize = 256;
/// The epoll token that says that a lost connection is back; smaller tokens are channels.
const WAKE_TOKEN: u64 = u64::MAX;
const SILENT: &str = "waiting for an answer: the server did not answer within the timeout";
const SHARED_LOSS: &str = "the connection was lost while other operations were on it";

pub(super) struct Reactor<D: Dialer> {
    exchange: Arc<Exchange<D>>,
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    roster: Roster,
    waits: Option<Box<dyn Waits>>,
    channels: Channels<D::Session>,
    busy: usize,
    /// When seats that pause go on.
    pauses: BinaryHeap<Reverse<(u64, usize)>>,
    deferred: Deferred,
    /// When queued work is given up; only after an interruption.
    gives_up_ns: Option<u64>,
    redial: Redial<D::Session>,
    epoll: OwnedFd,
    scan: u32,
    next_scan_ns: u64,
    /// For back-off only: the workload's draws must not depend on how often it was retried.
    jitter: Xoshiro256PlusPlus,
}

/// A connection to drive, of a group, with who executes operations on it: as many as it carries at a time.
pub(super) type Equipment<S> = (usize, S, Vec<Box<dyn Worker<S>>>);

impl<D: Dialer> Reactor<D> {
    pub(super) fn new(
        exchange: &Arc<Exchange<D>>,
        lane: Arc<Lane>,
        roster: Roster,
        waits: Option<Box<dyn Waits>>,
        equipment: Vec<Equipment<D::Session>>,
    ) -> Result<Self, Failure> {
        let failure = |error: Errno| {
            Failure::new(ExitCode::BadSpec, format!("threads: cannot create an epoll instance: {error}"))
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failure)?;
        let redial = Redial::new().map_err(failure)?;
        epoll::add(&epoll, &redial, epoll::EventData::new_u64(WAKE_TOKEN), epoll::EventFlags::IN).map_err(failure)?;
        let groups = exchange.dial.groups();
        let mut reactor = Self {
            exchange: Arc::clone(exchange),
            shared: Arc::clone(&exchange.shared),
            lane,
            roster,
            waits,
            channels: Channels::new(groups),
            busy: 0,
            pauses: BinaryHeap::new(),
            deferred: Deferred::new(groups),
            gives_up_ns: None,
            redial,
            epoll,
            scan: 0,
            next_scan_ns: SCAN_NS,
            jitter: Xoshiro256PlusPlus::seed_from_u64(u64::from(std::process::id())),
        };
        for (group, session, workers) in equipment {
            let seats = workers.into_iter().map(|worker| (worker, exchange.dial.dialer.request()));
            let channel = reactor.channels.add(group, session, seats);
            reactor.watch(channel)?;
        }
        Ok(reactor)
    }

    /// Drives until the end of the load, until nothing is left to do, or until a stop is requested, and then carries
    /// what is in flight to its end; answers what was drawn. Damaged data, a target that is lost for good, or a defect
    /// ends the load of everybody.
    pub(super) fn run(mut self) -> Draws {
        if let Err(failure) = self.drive() {
            self.shared.stop.request(failure);
        }
        self.tell();
        let end_ns = self.shared.end_ns.min(self.shared.clock.now_ns());
        self.lane.owe(self.roster.take_owed(end_ns));
        self.lane.gauges().ended_ns.store(self.shared.clock.now_ns().max(1), Ordering::Relaxed);
        let mut draws = Draws::default();
        self.channels.workers().for_each(|worker| draws.merge(&worker.draws()));
        self.waits.iter().for_each(|waits| draws.merge(&waits.draws()));
        draws.merge(&self.deferred.draws());
        draws
    }

    fn drive(&mut self) -> Result<(), Failure> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut now_ns = self.shared.clock.now_ns();
        loop {
            let over = self.shared.is_over(now_ns);
            for event in &events {
                self.hear(event)?;
                if !over {
                    self.dispatch(now_ns)?;
                }
                self.flush()?;
            }
            self.end_pauses(now_ns)?;
            if !over {
                self.roster.fire(now_ns);
                self.dispatch(now_ns)?;
            }
            if self.shared.stop.interrupted() {
                self.gives_up_ns.get_or_insert(now_ns + QUEUED_GRACE_NS);
            }
            let gives_up = self.gives_up(now_ns);
            if !gives_up {
                self.dispatch_deferred()?;
            }
            self.flush()?;
            if self.busy == 0 && (over || self.roster.is_empty()) && (gives_up || !self.can_do_deferred()) {
                return Ok(());
            }
            self.give_up_on_silence(now_ns)?;
            self.tell();
            self.wait(over, &mut events)?;
            let woke_ns = self.shared.clock.now_ns();
            self.note_silence(woke_ns - now_ns);
            now_ns = woke_ns;
        }
    }

    /// Tells the coordinator how things stand.
    fn tell(&self) {
        let gauges = self.lane.gauges();
        gauges.in_flight.store(self.busy as u64, Ordering::Relaxed);
        gauges.queued.store(self.roster.queued() as u64, Ordering::Relaxed);
    }

    /// Tells the coordinator for how long nothing was heard from this thread, if for longer than ever.
    fn note_silence(&self, ns: u64) {
        let longest_ns = &self.lane.gauges().silent_ns;
        if ns > longest_ns.load(Ordering::Relaxed) {
            longest_ns.store(ns, Ordering::Relaxed);
        }
    }

    /// Gives free seats to whoever is due.
    fn dispatch(&mut self, now_ns: u64) -> Result<(), Failure> {
        for group in 0..self.channels.groups() {
            while let Some(index) = self.channels.longest_free(group) {
                let Some(arrival) = self.roster.next(group, now_ns) else { break };
                // Who became due by an operation's end may be due after the end of the load.
                if arrival.due_ns >= self.shared.end_ns {
                    continue;
                }
                self.channels.occupy(group);
                self.busy += 1;
                // The one that has been free longest: if it was not free then, nobody was.
                let unhindered = self.channels.free_since_ns(index) <= arrival.due_ns;
                let begun = &self.lane.gauges().begun;
                begun.store(begun.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                let (seat, mut context) = self.channels.seat(index, &self.shared, &self.lane);
                let next = seat.start(&mut context, arrival, unhindered);
                self.follow(index, next)?;
            }
        }
        Ok(())
    }

    /// Gives connections that nobody due wants to work that was queued, even after the end of the load.
    fn dispatch_deferred(&mut self) -> Result<(), Failure> {
        for group in 0..self.channels.groups() {
            while !self.deferred.is_empty(group) {
                let Some(index) = self.channels.occupy(group) else { break };
                let Some(arrival) = self.deferred.next(group) else { break };
                self.busy += 1;
                let (seat, mut context) = self.channels.seat(index, &self.shared, &self.lane);
                let next = seat.start_deferred(&mut context, arrival);
                self.follow(index, next)?;
            }
        }
        Ok(())
    }

    /// Whether queued work is left undone: the load ended by a failure, or an interruption has left time enough.
    fn gives_up(&self, now_ns: u64) -> bool {
        let stop = &self.shared.stop;
        stop.requested() && (!stop.interrupted() || self.gives_up_ns.is_some_and(|at_ns| now_ns >= at_ns))
    }

    /// Whether work is queued for which there is, or will be, a connection: after the end, a lost one does not come
    /// back.
    fn can_do_deferred(&self) -> bool {
        let is_served = |channel: &Channel<D::Session>| !channel.dialing && !self.deferred.is_empty(channel.group);
        self.channels.iter().any(is_served)
    }

    /// Does what comes next for a seat.
    fn follow(&mut self, index: usize, next: Next) -> Result<(), Failure> {
        match next {
            Next::Wait => {
                self.channels.expect(index, self.scan);
                Ok(())
            }
            Next::BackOff(failed) => {
                let until_ns = self.shared.clock.now_ns() + self.back_off_ns(failed);
                self.pauses.push(Reverse((until_ns, index)));
                Ok(())
            }
            Next::Ended(ended) => self.release(index, ended),
        }
    }

    /// Frees a seat, and schedules the client's next turn.
    fn release(&mut self, index: usize, ended: Ended) -> Result<(), Failure> {
        self.busy -= 1;
        let Ended { arrival, at_ns, outcome, queues, deferred, fatal } = ended;
        let mut rest_ns = 0;
        if outcome == Outcome::Failed {
            // A server that refuses everything is not to be asked as fast as it can refuse.
            let failed = self.channels.failed(index);
            rest_ns = self.back_off_ns(failed);
        } else {
            self.channels.succeeded(index);
        }
        if deferred {
            self.deferred.done(arrival, at_ns, outcome);
        } else {
            let pause_ns = self.waits.as_mut().map_or(0, |waits| waits.pause_ns(arrival.client, arrival.turn));
            let due_ns = at_ns + rest_ns + pause_ns;
            self.roster.done(arrival.client, due_ns, rest_ns + pause_ns == 0);
        }
        if queues {
            self.deferred.queue(self.channels.of(index).group, Arrival { due_ns: at_ns, ..arrival });
        }
        if self.channels.of(index).session.is_none() {
            let channel = self.channels.channel_of(index);
            self.channels.set(index, State::Dialing);
            self.lose(channel)?;
        } else if rest_ns > 0 {
            self.channels.set(index, State::Resting);
            self.pauses.push(Reverse((at_ns + rest_ns, index)));
        } else {
            self.channels.make_free(index, at_ns);
        }
        // The others' operations come to their end all the same.
        fatal.into_iter().for_each(|failure| self.shared.stop.request(failure));
        Ok(())
    }

    /// Ends what else was on a connection that is gone, and asks for another.
    fn lose(&mut self, channel: usize) -> Result<(), Failure> {
        self.channels.strand(channel);
        while let Some(index) = self.channels.get_mut(channel).waiting.pop_front() {
            let (seat, mut context) = self.channels.seat(index, &self.shared, &self.lane);
            let next = seat.give_up(&mut context, SHARED_LOSS);
            self.follow(index, next)?;
        }
        let lost = self.channels.get_mut(channel);
        if !std::mem::replace(&mut lost.dialing, true) {
            self.lane.gauges().connections_lost.fetch_add(1, Ordering::Relaxed);
            self.redial.request(&self.exchange, lost.group, channel);
        }
        Ok(())
    }

    fn back_off_ns(&mut self, failed: u32) -> u64 {
        let longest = LONGEST_BACK_OFF.min(FIRST_BACK_OFF * 2_u32.saturating_pow(failed.min(16)));
        self.jitter.next_u64() % longest.as_nanos() as u64
    }

    fn end_pauses(&mut self, now_ns: u64) -> Result<(), Failure> {
        while let Some(&Reverse((until_ns, index))) = self.pauses.peek() {
            if until_ns > now_ns {
                break;
            }
            self.pauses.pop();
            match self.channels.state(index) {
                State::Busy => {
                    let (seat, mut context) = self.channels.seat(index, &self.shared, &self.lane);
                    let next = seat.attempt(&mut context);
                    self.follow(index, next)?;
                }
                State::Resting => self.channels.make_free(index, now_ns),
                State::Free | State::Dialing => {}
            }
        }
        Ok(())
    }

    /// A server that owes an answer for too long is lost.
    fn give_up_on_silence(&mut self, now_ns: u64) -> Result<(), Failure> {
        if now_ns < self.next_scan_ns {
            return Ok(());
        }
        self.next_scan_ns = now_ns + SCAN_NS;
        self.scan += 1;
        let patience = (self.exchange.dial.answer_timeout.as_nanos() / u128::from(SCAN_NS)) as u32 + 1;
        for channel in 0..self.channels.len() {
            let waits_since = self.channels.get(channel).scan;
            if self.scan - waits_since <= patience {
                continue;
            }
            if let Some(index) = self.channels.get_mut(channel).waiting.pop_front() {
                let (seat, mut context) = self.channels.seat(index, &self.shared, &self.lane);
                let next = seat.give_up(&mut context, SILENT);
                self.follow(index, next)?;
                self.lose_after_the_end(channel, now_ns);
            }
        }
        Ok(())
    }

    /// Ends the action: nobody connects any more to find out whether a silent server is back.
    fn lose_after_the_end(&self, channel: usize, now_ns: u64) {
        if now_ns < self.shared.end_ns || self.shared.stop.requested() {
            return;
        }
        let dial = &self.exchange.dial;
        let server = dial.dialer.server(self.channels.get(channel).group);
        let seconds = dial.answer_timeout.as_secs_f64();
        let message = format!("{server} was silent for {seconds} s, and the load ended meanwhile");
        self.shared.stop.request(Failure::new(ExitCode::TargetLost, message));
    }

    /// Sends what was started since the last time, each connection's requests together.
    fn flush(&mut self) -> Result<(), Failure> {
        while let Some(channel) = self.channels.next_unsent() {
            let unsent = self.channels.get_mut(channel);
            let Some(session) = unsent.session.as_mut() else { continue };
            if session.flush().is_err() {
                unsent.session = None;
                self.lose(channel)?;
            } else if self.channels.wants_other_watch(channel) {
                self.watch_again(channel)?;
            }
        }
        Ok(())
    }

    /// Waits for sockets until the next thing is due.
    fn wait(&mut self, over: bool, events: &mut Vec<epoll::Event>) -> Result<(), Failure> {
        let pause = self.pauses.peek().map(|Reverse((until_ns, _))| *until_ns);
        let due = if !over && self.channels.has_free() { self.roster.next_due_ns() } else { None };
        let mut left_ns = LONGEST_WAIT_NS;
        if let Some(next_ns) = pause.into_iter().chain(due).min() {
            left_ns = next_ns.saturating_sub(self.shared.clock.now_ns()).min(LONGEST_WAIT_NS);
            if self.shared.pace.is_open() {
                left_ns = left_ns.saturating_sub(SPIN_NS);
            }
        }
        // epoll counts milliseconds, ppoll nanoseconds.
        if left_ns > 0 && left_ns < LONGEST_WAIT_NS {
            let timeout = Timespec { tv_sec: 0, tv_nsec: left_ns as i64 };
            let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
            interruptible(poll(&mut fds, Some(&timeout)))?;
            left_ns = 0;
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: left_ns as i64 };
        events.clear();
        interruptible(epoll::wait(&self.epoll, spare_capacity(events), Some(&timeout)))
    }

    /// Resumes the channel that has an event.
    fn hear(&mut self, event: &epoll::Event) -> Result<(), Failure> {
        let token = event.data.u64();
        if token == WAKE_TOKEN {
            return self.seat_the_redialed();
        }
        let channel = token as usize;
        if self.channels.get(channel).waiting.is_empty() {
            // Nobody asked: the server said something in general, or farewell.
            let said = self.channels.get_mut(channel).session.as_mut().map(Session::listen);
            if matches!(said, Some(Err(_))) {
                self.channels.get_mut(channel).session = None;
                self.lose(channel)?;
            }
            return Ok(());
        }
        self.advance(channel)
    }

    /// Takes the answers that are there, in the order of the exchanges.
    fn advance(&mut self, channel: usize) -> Result<(), Failure> {
        while let Some(&index) = self.channels.get(channel).waiting.front() {
            let (seat, mut context) = self.channels.seat(index, &self.shared, &self.lane);
            let Some(next) = seat.advance(&mut context) else { break };
            let scan = self.scan;
            let heard = self.channels.get_mut(channel);
            heard.scan = scan;
            heard.waiting.pop_front();
            self.follow(index, next)?;
        }
        if self.channels.wants_other_watch(channel) { self.watch_again(channel) } else { Ok(()) }
    }

    fn seat_the_redialed(&mut self) -> Result<(), Failure> {
        let redialed: Vec<_> = self.redial.take().collect();
        for (channel, outcome) in redialed {
            match outcome {
                Ok(Some(session)) => {
                    self.channels.connect(channel, session, self.shared.clock.now_ns());
                    self.watch(channel)?;
                }
                Ok(None) => {}
                Err(failure) => self.shared.stop.request(failure),
            }
        }
        Ok(())
    }

    /// Begins to watch the channel's new connection.
    fn watch(&mut self, channel: usize) -> Result<(), Failure> {
        let Some(session) = self.channels.get_mut(channel).session.as_mut() else { return Ok(()) };
        session.set_nonblocking().map_err(|error| Failure::target("cannot use a connection", &error))?;
        let token = epoll::EventData::new_u64(channel as u64);
        epoll::add(&self.epoll, &*session, token, epoll::EventFlags::IN).map_err(watching)
    }

    fn watch_again(&mut self, channel: usize) -> Result<(), Failure> {
        let watched = self.channels.get_mut(channel);
        watched.watches_write = !watched.watches_write;
        let write = if watched.watches_write { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
        let Some(session) = watched.session.as_ref() else { return Ok(()) };
        let token = epoll::EventData::new_u64(channel as u64);
        epoll::modify(&self.epoll, session, token, epoll::EventFlags::IN | write).map_err(watching)
    }
}

fn watching(error: Errno) -> Failure {
    Failure::new(ExitCode::TargetLost, format!("cannot watch a connection: {error}"))
}

/// A signal that ends a wait is no failure.
fn interruptible<T>(outcome: Result<T, Errno>) -> Result<(), Failure> {
    match outcome {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(watching(error)),
    }
}
