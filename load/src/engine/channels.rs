//! The connections of a thread, and the seats on them.

use super::seat::{Seat, SeatContext};
use super::shared::Shared;
use crate::record::Lane;
use crate::target::Session;
use crate::workload::Worker;
use std::collections::VecDeque;

/// A connection as the loop sees it.
pub(super) struct Channel<S> {
    /// `None` between losing one and getting the next.
    pub(super) session: Option<S>,
    pub(super) group: usize,
    /// Whether another connection was asked for.
    pub(super) dialing: bool,
    /// Seats whose exchanges are in flight, the oldest first.
    pub(super) waiting: VecDeque<usize>,
    /// The scan before which an answer came, or began to be awaited.
    pub(super) scan: u32,
    /// Whether epoll watches for room to write.
    pub(super) watches_write: bool,
    /// Whether it is in the list of those with something to flush.
    unsent: bool,
    /// When the first of what is to be flushed was started: all of it travels together.
    sent_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// In the list of free seats.
    Free,
    /// Carries an operation.
    Busy,
    /// Pauses after an operation that failed.
    Resting,
    /// Has no connection.
    Dialing,
}

struct SeatEntry<S: Session> {
    seat: Seat<S>,
    channel: usize,
    state: State,
    /// Since when it has had nothing to do.
    free_since_ns: u64,
    failed_in_a_row: u32,
}

pub(super) struct Channels<S: Session> {
    channels: Vec<Channel<S>>,
    seats: Vec<SeatEntry<S>>,
    /// Free seats by group, the one that has been free longest first.
    free: Vec<VecDeque<usize>>,
    unsent: Vec<usize>,
    /// When the answers that were last read came.
    came_ns: Option<u64>,
}

impl<S: Session> Channels<S> {
    pub(super) fn new(groups: usize) -> Self {
        let free = vec![VecDeque::new(); groups];
        Self { channels: Vec::new(), seats: Vec::new(), free, unsent: Vec::new(), came_ns: None }
    }

    /// Adds a connection with its seats, all free; its number.
    pub(super) fn add(
        &mut self,
        group: usize,
        session: S,
        seats: impl Iterator<Item = (Box<dyn Worker<S>>, S::Request)>,
    ) -> usize {
        let channel = self.channels.len();
        for (worker, request) in seats {
            self.free[group].push_back(self.seats.len());
            let seat = Seat::new(worker, request);
            self.seats.push(SeatEntry { seat, channel, state: State::Free, free_since_ns: 0, failed_in_a_row: 0 });
        }
        let waiting = VecDeque::new();
        let session = Some(session);
        self.channels.push(Channel {
            session,
            group,
            dialing: false,
            waiting,
            scan: 0,
            watches_write: false,
            unsent: false,
            sent_ns: None,
        });
        channel
    }

    pub(super) fn groups(&self) -> usize {
        self.free.len()
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Channel<S>> {
        self.channels.iter()
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = &dyn Worker<S>> {
        self.seats.iter().map(|entry| entry.seat.worker.as_ref())
    }

    pub(super) fn get(&self, channel: usize) -> &Channel<S> {
        &self.channels[channel]
    }

    pub(super) fn get_mut(&mut self, channel: usize) -> &mut Channel<S> {
        &mut self.channels[channel]
    }

    /// The channel of a seat.
    pub(super) fn channel_of(&self, seat: usize) -> usize {
        self.seats[seat].channel
    }

    pub(super) fn of(&self, seat: usize) -> &Channel<S> {
        &self.channels[self.seats[seat].channel]
    }

    /// A seat, and what it works with.
    pub(super) fn seat<'a>(
        &'a mut self,
        seat: usize,
        shared: &'a Shared,
        lane: &'a Lane,
    ) -> (&'a mut Seat<S>, SeatContext<'a, S>) {
        let entry = &mut self.seats[seat];
        let Channel { session, sent_ns, .. } = &mut self.channels[entry.channel];
        (
            &mut entry.seat,
            SeatContext { shared, lane, link: session, sent_ns, came_ns: &mut self.came_ns, together: false },
        )
    }

    pub(super) fn state(&self, seat: usize) -> State {
        self.seats[seat].state
    }

    pub(super) fn set(&mut self, seat: usize, state: State) {
        self.seats[seat].state = state;
    }

    pub(super) fn free_since_ns(&self, seat: usize) -> u64 {
        self.seats[seat].free_since_ns
    }

    pub(super) fn has_free(&self) -> bool {
        self.free.iter().any(|free| !free.is_empty())
    }

    pub(super) fn longest_free(&self, group: usize) -> Option<usize> {
        self.free[group].front().copied()
    }

    /// Takes the seat that has been free longest.
    pub(super) fn occupy(&mut self, group: usize) -> Option<usize> {
        let seat = self.free[group].pop_front()?;
        self.seats[seat].state = State::Busy;
        Some(seat)
    }

    pub(super) fn make_free(&mut self, seat: usize, now_ns: u64) {
        let entry = &mut self.seats[seat];
        if self.channels[entry.channel].session.is_none() {
            entry.state = State::Dialing;
            return;
        }
        (entry.state, entry.free_since_ns) = (State::Free, now_ns);
        self.free[self.channels[entry.channel].group].push_back(seat);
    }

    /// How often operations failed on a seat in a row, before this one.
    pub(super) fn failed(&mut self, seat: usize) -> u32 {
        let failed = &mut self.seats[seat].failed_in_a_row;
        *failed += 1;
        *failed - 1
    }

    pub(super) fn succeeded(&mut self, seat: usize) {
        self.seats[seat].failed_in_a_row = 0;
    }

    /// Notes that an exchange of this seat has started.
    pub(super) fn expect(&mut self, seat: usize, scan: u32) {
        let channel = &mut self.channels[self.seats[seat].channel];
        if channel.waiting.is_empty() {
            channel.scan = scan;
        }
        channel.waiting.push_back(seat);
        if !std::mem::replace(&mut channel.unsent, true) {
            self.unsent.push(self.seats[seat].channel);
        }
    }

    /// A channel on which exchanges have started since it was last asked for.
    pub(super) fn next_unsent(&mut self) -> Option<usize> {
        let channel = self.unsent.pop()?;
        (self.channels[channel].unsent, self.channels[channel].sent_ns) = (false, None);
        Some(channel)
    }

    /// Whether epoll must watch for room to write where it did not, or no longer.
    pub(super) fn wants_other_watch(&self, channel: usize) -> bool {
        let Channel { session, waiting, watches_write, .. } = &self.channels[channel];
        let wants = |seat: &usize| self.seats[*seat].seat.wants_write(session.as_ref());
        session.is_some() && waiting.front().is_some_and(wants) != *watches_write
    }

    /// The seats of a channel have no connection any more: nobody is to take a free one. One that rests looks itself,
    /// later.
    pub(super) fn strand(&mut self, channel: usize) {
        self.channels[channel].session = None;
        let (seats, group) = (&mut self.seats, self.channels[channel].group);
        self.free[group].retain(|&seat| seats[seat].channel != channel);
        let idle = |entry: &&mut SeatEntry<S>| entry.channel == channel && entry.state == State::Free;
        seats.iter_mut().filter(idle).for_each(|entry| entry.state = State::Dialing);
    }

    /// The channel has a connection again: its seats that wait for one are free.
    pub(super) fn connect(&mut self, channel: usize, session: S, now_ns: u64) {
        let back = &mut self.channels[channel];
        (back.session, back.dialing, back.watches_write, back.sent_ns) = (Some(session), false, false, None);
        for seat in 0..self.seats.len() {
            if self.seats[seat].channel == channel && self.seats[seat].state == State::Dialing {
                self.make_free(seat, now_ns);
            }
        }
    }
}
