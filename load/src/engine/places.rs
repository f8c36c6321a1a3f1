//! The connections of a thread, and the seats on them.

use super::seat::{Desk, Seat};
use super::shared::Shared;
use crate::record::Lane;
use crate::target::Session;
use crate::workload::Worker;
use std::collections::VecDeque;

/// A connection as the loop sees it.
pub(super) struct Place<S> {
    /// `None` between losing one and getting the next.
    pub(super) session: Option<S>,
    pub(super) group: usize,
    /// Whether another connection was asked for.
    pub(super) dialing: bool,
    /// Seats whose exchanges are under way, the oldest first.
    pub(super) waiting: VecDeque<usize>,
    /// The scan before which an answer came, or began to be awaited.
    pub(super) scan: u32,
    /// Whether epoll watches for room to write.
    pub(super) watches_write: bool,
    /// Whether it is in the list of those with something to flush.
    unsent: bool,
    /// When the first of what is to be flushed was begun: all of it travels together.
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

struct Chair<S: Session> {
    seat: Seat<S>,
    place: usize,
    state: State,
    /// Since when it has had nothing to do.
    free_since_ns: u64,
    failed_in_a_row: u32,
}

pub(super) struct Places<S: Session> {
    places: Vec<Place<S>>,
    chairs: Vec<Chair<S>>,
    /// Free seats by group, the one that has been free longest first.
    free: Vec<VecDeque<usize>>,
    unsent: Vec<usize>,
    /// When the answers that were last read came.
    came_ns: Option<u64>,
}

impl<S: Session> Places<S> {
    pub(super) fn new(groups: usize) -> Self {
        let free = vec![VecDeque::new(); groups];
        Self { places: Vec::new(), chairs: Vec::new(), free, unsent: Vec::new(), came_ns: None }
    }

    /// Adds a connection with its seats, all free; its number.
    pub(super) fn add(
        &mut self,
        group: usize,
        session: S,
        seats: impl Iterator<Item = (Box<dyn Worker<S>>, S::Request)>,
    ) -> usize {
        let place = self.places.len();
        for (worker, request) in seats {
            self.free[group].push_back(self.chairs.len());
            let seat = Seat::new(worker, request);
            self.chairs.push(Chair { seat, place, state: State::Free, free_since_ns: 0, failed_in_a_row: 0 });
        }
        let waiting = VecDeque::new();
        let session = Some(session);
        self.places.push(Place {
            session,
            group,
            dialing: false,
            waiting,
            scan: 0,
            watches_write: false,
            unsent: false,
            sent_ns: None,
        });
        place
    }

    pub(super) fn groups(&self) -> usize {
        self.free.len()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Place<S>> {
        self.places.iter()
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = &dyn Worker<S>> {
        self.chairs.iter().map(|chair| chair.seat.worker.as_ref())
    }

    pub(super) fn get(&self, place: usize) -> &Place<S> {
        &self.places[place]
    }

    pub(super) fn get_mut(&mut self, place: usize) -> &mut Place<S> {
        &mut self.places[place]
    }

    /// The place of a seat.
    pub(super) fn place_of(&self, seat: usize) -> usize {
        self.chairs[seat].place
    }

    pub(super) fn of(&self, seat: usize) -> &Place<S> {
        &self.places[self.chairs[seat].place]
    }

    /// A seat, and what it works with.
    pub(super) fn seat<'a>(
        &'a mut self,
        seat: usize,
        shared: &'a Shared,
        lane: &'a Lane,
    ) -> (&'a mut Seat<S>, Desk<'a, S>) {
        let chair = &mut self.chairs[seat];
        let Place { session, sent_ns, .. } = &mut self.places[chair.place];
        (&mut chair.seat, Desk { shared, lane, link: session, sent_ns, came_ns: &mut self.came_ns, together: false })
    }

    pub(super) fn state(&self, seat: usize) -> State {
        self.chairs[seat].state
    }

    pub(super) fn set(&mut self, seat: usize, state: State) {
        self.chairs[seat].state = state;
    }

    pub(super) fn free_since_ns(&self, seat: usize) -> u64 {
        self.chairs[seat].free_since_ns
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
        self.chairs[seat].state = State::Busy;
        Some(seat)
    }

    pub(super) fn make_free(&mut self, seat: usize, now_ns: u64) {
        let chair = &mut self.chairs[seat];
        if self.places[chair.place].session.is_none() {
            chair.state = State::Dialing;
            return;
        }
        (chair.state, chair.free_since_ns) = (State::Free, now_ns);
        self.free[self.places[chair.place].group].push_back(seat);
    }

    /// How often operations failed on a seat in a row, before this one.
    pub(super) fn failed(&mut self, seat: usize) -> u32 {
        let failed = &mut self.chairs[seat].failed_in_a_row;
        *failed += 1;
        *failed - 1
    }

    pub(super) fn succeeded(&mut self, seat: usize) {
        self.chairs[seat].failed_in_a_row = 0;
    }

    /// Notes that an exchange of this seat has begun.
    pub(super) fn expect(&mut self, seat: usize, scan: u32) {
        let place = &mut self.places[self.chairs[seat].place];
        if place.waiting.is_empty() {
            place.scan = scan;
        }
        place.waiting.push_back(seat);
        if !std::mem::replace(&mut place.unsent, true) {
            self.unsent.push(self.chairs[seat].place);
        }
    }

    /// A place on which exchanges have begun since it was last asked for.
    pub(super) fn next_unsent(&mut self) -> Option<usize> {
        let place = self.unsent.pop()?;
        (self.places[place].unsent, self.places[place].sent_ns) = (false, None);
        Some(place)
    }

    /// Whether epoll must watch for room to write where it did not, or no longer.
    pub(super) fn wants_other_watch(&self, place: usize) -> bool {
        let Place { session, waiting, watches_write, .. } = &self.places[place];
        let wants = |seat: &usize| self.chairs[*seat].seat.wants_write(session.as_ref());
        session.is_some() && waiting.front().is_some_and(wants) != *watches_write
    }

    /// The seats of a place have no connection any more: nobody is to take a free one. One that rests looks itself, later.
    pub(super) fn strand(&mut self, place: usize) {
        self.places[place].session = None;
        let (chairs, group) = (&mut self.chairs, self.places[place].group);
        self.free[group].retain(|&seat| chairs[seat].place != place);
        let idle = |chair: &&mut Chair<S>| chair.place == place && chair.state == State::Free;
        chairs.iter_mut().filter(idle).for_each(|chair| chair.state = State::Dialing);
    }

    /// The place has a connection again: its seats that wait for one are free.
    pub(super) fn connect(&mut self, place: usize, session: S, now_ns: u64) {
        let back = &mut self.places[place];
        (back.session, back.dialing, back.watches_write, back.sent_ns) = (Some(session), false, false, None);
        for seat in 0..self.chairs.len() {
            if self.chairs[seat].place == place && self.chairs[seat].state == State::Dialing {
                self.make_free(seat, now_ns);
            }
        }
    }
}
