//! Which clients are due, in the order in which they became due. Pure: the caller passes the time.

use crate::engine::pace::{Arrival, Arrivals};
use crate::record::Owed;
use crate::spec::Share;
use crate::workload::Waits;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::iter::Peekable;

/// The group of connections that serves this turn of a client.
pub(super) type Home = Box<dyn Fn(u32, u64) -> usize + Send>;

/// The clients of one thread. One that waits for its time takes 16 bytes, and 8 for the number of its turn.
pub(super) struct Roster {
    share: Share,
    /// Turns started, by client; only where clients are due because of what they did before.
    turns: Vec<u64>,
    /// When clients that type and think are due.
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Those that are due, by the group of connections that serves them.
    queues: Vec<VecDeque<Arrival>>,
    /// The schedule of an open pace, from the first arrival on that was not taken.
    arrivals: Option<Peekable<Arrivals>>,
    home: Home,
}

impl Roster {
    /// All clients of the share before their first turn, served by this many groups of connections.
    pub(super) fn new(
        share: Share,
        arrivals: Option<Arrivals>,
        waits: Option<&mut dyn Waits>,
        home: Home,
        groups: usize,
    ) -> Self {
        let closed = if arrivals.is_none() { share.len() } else { 0 };
        let mut roster = Self {
            share,
            turns: vec![0; closed as usize],
            timers: BinaryHeap::with_capacity(if waits.is_some() { closed as usize } else { 0 }),
            queues: vec![VecDeque::new(); groups],
            arrivals: arrivals.map(Iterator::peekable),
            home,
        };
        match waits {
            Some(waits) => (0..closed).for_each(|index| {
                let phase_ns = waits.phase_ns(share.client(index));
                roster.come_back(index, phase_ns);
            }),
            None => (0..closed).for_each(|index| roster.enqueue(index, 0)),
        }
        roster
    }

    /// Queues whoever became due until now.
    pub(super) fn fire(&mut self, now_ns: u64) {
        while let Some(&Reverse((due_ns, index))) = self.timers.peek() {
            if due_ns > now_ns {
                break;
            }
            self.timers.pop();
            self.enqueue(index, due_ns);
        }
        // A single group leaves its backlog in the schedule, where it takes no memory.
        if self.queues.len() > 1 {
            while let Some(arrival) = self.take_scheduled(now_ns) {
                let group = self.group(arrival);
                self.queues[group].push_back(arrival);
            }
        }
    }

    /// Takes who has been due longest, of those that this group serves.
    pub(super) fn next(&mut self, group: usize, now_ns: u64) -> Option<Arrival> {
        let queued = self.queues[group].pop_front();
        if queued.is_none() && self.queues.len() == 1 { self.take_scheduled(now_ns) } else { queued }
    }

    fn take_scheduled(&mut self, now_ns: u64) -> Option<Arrival> {
        self.arrivals.as_mut()?.next_if(|arrival| arrival.due_ns <= now_ns)
    }

    /// A client whose operation is over is due again at this time, if it has another turn.
    pub(super) fn done(&mut self, client: u32, due_ns: u64, at_once: bool) {
        if self.arrivals.is_some() {
            return;
        }
        let index = self.share.index(client);
        self.turns[index as usize] += 1;
        if at_once { self.enqueue(index, due_ns) } else { self.come_back(index, due_ns) }
    }

    fn come_back(&mut self, index: u32, due_ns: u64) {
        if self.share.has_turn(self.share.client(index), self.turns[index as usize]) {
            self.timers.push(Reverse((due_ns, index)));
        }
    }

    fn enqueue(&mut self, index: u32, due_ns: u64) {
        let (client, turn) = (self.share.client(index), self.turns[index as usize]);
        if self.share.has_turn(client, turn) {
            let arrival = Arrival { client, turn, due_ns };
            let group = self.group(arrival);
            self.queues[group].push_back(arrival);
        }
    }

    fn group(&self, arrival: Arrival) -> usize {
        match self.queues.len() {
            1 => 0,
            _ => (self.home)(arrival.client, arrival.turn),
        }
    }

    /// When somebody becomes due who is not queued.
    pub(super) fn next_due_ns(&mut self) -> Option<u64> {
        let timer = self.timers.peek().map(|Reverse((due_ns, _))| *due_ns);
        let arrival = self.arrivals.as_mut().and_then(Peekable::peek).map(|arrival| arrival.due_ns);
        timer.into_iter().chain(arrival).min()
    }

    /// Clients in queues.
    pub(super) fn queued(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Takes what was due before `end_ns` and nobody began, by client.
    pub(super) fn take_owed(&mut self, end_ns: u64) -> Vec<Owed> {
        self.fire(end_ns.saturating_sub(1));
        let mut owed = BTreeMap::<u32, Owed>::new();
        let queued = std::mem::take(&mut self.queues);
        let scheduled = self.arrivals.take().into_iter().flatten().take_while(|arrival| arrival.due_ns < end_ns);
        for Arrival { client, due_ns, .. } in queued.into_iter().flatten().chain(scheduled) {
            let entry = owed.entry(client).or_insert(Owed { client, due_ns, operations: 0 });
            entry.due_ns = entry.due_ns.min(due_ns);
            entry.operations += 1;
        }
        owed.into_values().filter(|owed| owed.due_ns < end_ns).collect()
    }

    /// Whether nobody will be due any more, unless an operation in flight ends.
    pub(super) fn is_empty(&mut self) -> bool {
        self.queued() == 0 && self.next_due_ns().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pace::Pace;
    use crate::workload::Draws;

    struct Fixed;

    impl Waits for Fixed {
        fn phase_ns(&mut self, client: u32) -> u64 {
            100 - u64::from(client)
        }
        fn pause_ns(&mut self, _: u32, _: u64) -> u64 {
            1_000
        }
        fn draws(&self) -> Draws {
            Draws::default()
        }
    }

    fn roster(
        clients: u32,
        operations: Option<u64>,
        pace: Pace,
        waits: Option<&mut dyn Waits>,
        groups: usize,
    ) -> Roster {
        let share = Share { first: 0, stride: 1, clients, operations };
        let home = move |client: u32, _| client as usize % groups;
        Roster::new(share, Arrivals::new(pace, share, 1), waits, Box::new(home), groups)
    }

    #[test]
    fn who_waits_longest_is_served_first() {
        let mut roster = roster(3, None, Pace::Closed, None, 1);
        let mut served = Vec::new();
        for now_ns in 1..=6 {
            let arrival = roster.next(0, now_ns).unwrap();
            served.push((arrival.client, arrival.turn, arrival.due_ns));
            roster.done(arrival.client, now_ns, true);
        }
        assert_eq!(served, [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 1), (1, 1, 2), (2, 1, 3)]);
        assert_eq!((roster.queued(), roster.next_due_ns()), (3, None));
    }

    #[test]
    fn clients_that_wait_are_due_in_the_order_of_their_times() {
        let mut roster = roster(3, None, Pace::Closed, Some(&mut Fixed), 1);
        roster.fire(97);
        assert_eq!((roster.next(0, 97), roster.next_due_ns()), (None, Some(98)));
        roster.fire(200);
        let due: Vec<_> = std::iter::from_fn(|| roster.next(0, 200)).map(|it| (it.client, it.due_ns)).collect();
        assert_eq!(due, [(2, 98), (1, 99), (0, 100)]);
        roster.done(1, 1_300, false);
        roster.fire(1_299);
        assert!(roster.next(0, 1_299).is_none() && !roster.is_empty());
        roster.fire(1_300);
        assert_eq!(roster.next(0, 1_300), Some(Arrival { client: 1, turn: 1, due_ns: 1_300 }));
    }

    #[test]
    fn a_backlog_stays_in_the_schedule_and_nothing_is_dropped() {
        let mut roster = roster(2, None, Pace::Constant { rate_per_s: 1e6 }, None, 1);
        roster.fire(5_000_000_000);
        assert_eq!(roster.queued(), 0);
        let due: Vec<u64> = std::iter::from_fn(|| roster.next(0, 5_000_000_000)).take(3).map(|it| it.due_ns).collect();
        assert_eq!(due, [0, 1_000, 2_000]);
        assert_eq!(std::iter::from_fn(|| roster.next(0, 5_000_000_000)).count(), 5_000_001 - 3);
        assert_eq!(roster.next_due_ns(), Some(5_000_001_000));
    }

    #[test]
    fn the_runs_number_of_operations_ends_it() {
        let mut closed = roster(2, Some(3), Pace::Closed, None, 1);
        let mut count = 0;
        while let Some(arrival) = closed.next(0, 1) {
            count += 1;
            closed.done(arrival.client, 1, true);
        }
        assert_eq!((count, closed.is_empty()), (3, true));
        let mut open = roster(2, Some(3), Pace::Poisson { rate_per_s: 1e9 }, None, 1);
        assert_eq!(std::iter::from_fn(|| open.next(0, u64::MAX)).count(), 3);
        assert!(open.is_empty());
    }

    #[test]
    fn each_group_has_its_own_queue() {
        let mut roster = roster(4, Some(8), Pace::Constant { rate_per_s: 1e9 }, None, 2);
        roster.fire(1_000);
        let of = |roster: &mut Roster, group| {
            std::iter::from_fn(|| roster.next(group, 1_000)).map(|it| it.client).collect::<Vec<_>>()
        };
        assert_eq!(of(&mut roster, 1), [1, 3, 1, 3]);
        assert_eq!(of(&mut roster, 0), [0, 2, 0, 2]);
        assert!(roster.is_empty());
    }
}
