//! How long clients were without success while they had work to do.
//!
//! A client's gap runs from its last success, or from when the work that waits was due if that is later, to its next
//! success. A gap above a limit is an outage; outages of several clients that overlap are one.

use super::lane::{Owed, Sample};
use crate::output::outcome::Outcome;
use crate::output::{Outage, Outages};
use crate::spec::Share;
use std::collections::HashMap;

const NS_PER_S: f64 = 1e9;
/// No work waits.
const NOTHING: u64 = u64::MAX;
/// More outages are counted in the longest one and in the clients alone.
const MOST_OUTAGES: usize = 1_000;

/// What is remembered of a client.
#[derive(Debug, Clone, Copy)]
struct Client {
    succeeded_ns: u64,
    /// Since when work waits for a success.
    waits_since_ns: u64,
    /// Operations that failed since then.
    failed: u64,
}

const NEW: Client = Client { succeeded_ns: 0, waits_since_ns: NOTHING, failed: 0 };

/// The latest outage of a client.
#[derive(Debug, Clone, Copy)]
struct Span {
    begin_ns: u64,
    end_ns: u64,
}

/// Watches the clients of one generator. Samples of one client must come in the order in which they ended.
#[derive(Debug)]
pub struct OutageWatch {
    share: Share,
    limit_ns: u64,
    clients: Vec<Client>,
    hit: HashMap<u32, Span>,
    /// Nothing that was due later was due in an outage.
    latest_end_ns: u64,
    /// Disjoint, in order.
    episodes: Vec<Episode>,
    /// Of gaps that ended before the open interval.
    longest_ns: u64,
    longest_wait_ns: u64,
    longest_of_interval_ns: Option<u64>,
    /// A wait that is shorter is longer than nothing that is remembered; no gap is longer than the wait in it.
    noted_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Episode {
    begin_ns: u64,
    end_ns: u64,
    longest_ns: u64,
    clients: u64,
    due: u64,
    ended: bool,
}

impl Episode {
    fn with(self, other: Self) -> Self {
        Self {
            begin_ns: self.begin_ns.min(other.begin_ns),
            end_ns: self.end_ns.max(other.end_ns),
            longest_ns: self.longest_ns.max(other.longest_ns),
            clients: self.clients + other.clients,
            due: self.due + other.due,
            ended: self.ended && other.ended,
        }
    }
}

impl OutageWatch {
    /// Of the clients of a share.
    #[must_use]
    pub fn new(share: Share, limit_s: f64) -> Self {
        Self {
            share,
            limit_ns: (limit_s * NS_PER_S) as u64,
            clients: Vec::new(),
            hit: HashMap::new(),
            latest_end_ns: 0,
            episodes: Vec::new(),
            longest_ns: 0,
            longest_wait_ns: 0,
            longest_of_interval_ns: None,
            noted_ns: 0,
        }
    }

    /// Of a single client, for tests of something else.
    #[cfg(test)]
    pub(crate) fn idle() -> Self {
        Self::new(Share { first: 0, stride: 1, clients: 1, operations: None }, 1.0)
    }

    #[inline]
    fn client(&mut self, client: u32) -> &mut Client {
        let index = self.share.index(client) as usize;
        if index >= self.clients.len() {
            self.clients.resize(index + 1, NEW);
        }
        &mut self.clients[index]
    }

    /// Takes an operation that ended. Most change nothing but the moment of a client's last success.
    #[inline]
    pub fn enter(&mut self, sample: &Sample) {
        let wait_ns = sample.queue_ns.saturating_add(sample.service_ns);
        let due_ns = sample.ended_ns.saturating_sub(wait_ns);
        let usual = sample.outcome != Outcome::Failed && wait_ns < self.noted_ns && due_ns >= self.latest_end_ns;
        let client = self.client(sample.client);
        if usual && client.waits_since_ns == NOTHING {
            client.succeeded_ns = client.succeeded_ns.max(sample.ended_ns);
        } else {
            self.enter_unusual(sample, due_ns);
        }
    }

    fn enter_unusual(&mut self, sample: &Sample, due_ns: u64) {
        let client = self.client(sample.client);
        let begin_ns = client.waits_since_ns.min(due_ns.max(client.succeeded_ns));
        if sample.outcome == Outcome::Failed {
            client.waits_since_ns = begin_ns;
            client.failed += 1;
            return;
        }
        let failed = std::mem::take(&mut client.failed);
        client.waits_since_ns = NOTHING;
        client.succeeded_ns = client.succeeded_ns.max(sample.ended_ns);
        let gap_ns = sample.ended_ns.saturating_sub(begin_ns);
        self.longest_of_interval_ns = self.longest_of_interval_ns.max(Some(gap_ns));
        if gap_ns > self.limit_ns {
            self.add(sample.client, Span { begin_ns, end_ns: sample.ended_ns }, failed, true);
        }
        self.longest_wait_ns = self.longest_wait_ns.max(sample.ended_ns.saturating_sub(due_ns));
        if due_ns < self.latest_end_ns {
            self.count_due(sample.client, due_ns);
        }
        let longest_ns = self.longest_of_interval_ns.unwrap_or(0);
        self.noted_ns = longest_ns.min(self.longest_wait_ns).min(self.limit_ns);
    }

    /// The longest gap that ended since this was last asked; `None` when no operation succeeded.
    pub(super) fn take_longest_s(&mut self) -> Option<f64> {
        self.noted_ns = 0;
        let longest_ns = self.longest_of_interval_ns.take()?;
        self.longest_ns = self.longest_ns.max(longest_ns);
        Some(longest_ns as f64 / NS_PER_S)
    }

    /// Ends all gaps at the end of the load: these operations were due before it, and nobody began them.
    pub(super) fn end(&mut self, end_ns: u64, owed: &[Owed]) {
        for owed in owed {
            self.longest_wait_ns = self.longest_wait_ns.max(end_ns.saturating_sub(owed.due_ns));
            let client = self.client(owed.client);
            client.waits_since_ns = client.waits_since_ns.min(owed.due_ns.max(client.succeeded_ns));
            client.failed += owed.operations;
        }
        for index in 0..self.clients.len() {
            let Client { waits_since_ns, failed, .. } = std::mem::replace(&mut self.clients[index], NEW);
            let gap_ns = end_ns.saturating_sub(waits_since_ns);
            self.longest_ns = self.longest_ns.max(gap_ns);
            if gap_ns > self.limit_ns {
                let span = Span { begin_ns: waits_since_ns, end_ns };
                self.add(self.share.client(index as u32), span, failed, false);
            }
        }
    }

    /// Counts work that was due in the client's latest outage.
    fn count_due(&mut self, client: u32, due_ns: u64) {
        let Some(span) = self.hit.get(&client).filter(|span| (span.begin_ns..span.end_ns).contains(&due_ns)) else {
            return;
        };
        let index = self.episodes.partition_point(|episode| episode.end_ns < span.end_ns);
        self.episodes[index].due += 1;
    }

    fn add(&mut self, client: u32, span: Span, due: u64, ended: bool) {
        let Span { begin_ns, end_ns } = span;
        let first = self.episodes.partition_point(|episode| episode.end_ns < begin_ns);
        let after = self.episodes.partition_point(|episode| episode.begin_ns <= end_ns);
        let overlapping = &self.episodes[first..after];
        let before = self.hit.insert(client, span);
        // A client that is out twice in one outage is one client.
        let again = before.zip(overlapping.first()).is_some_and(|(before, episode)| before.end_ns >= episode.begin_ns);
        let clients = u64::from(!again);
        let episode = Episode { begin_ns, end_ns, longest_ns: end_ns - begin_ns, clients, due, ended };
        let joined = overlapping.iter().fold(episode, |joined, episode| joined.with(*episode));
        self.episodes.splice(first..after, [joined]);
        self.latest_end_ns = self.latest_end_ns.max(end_ns);
    }

    /// All of it.
    #[must_use]
    pub(super) fn report(&self) -> Outages {
        let outage = |episode: &Episode| Outage {
            begin_s: episode.begin_ns as f64 / NS_PER_S,
            end_s: episode.end_ns as f64 / NS_PER_S,
            longest_s: episode.longest_ns as f64 / NS_PER_S,
            clients: episode.clients,
            due: episode.due,
            ended: episode.ended,
        };
        Outages {
            limit_s: self.limit_ns as f64 / NS_PER_S,
            clients: u64::from(self.share.len()),
            clients_hit: self.hit.len() as u64,
            longest_s: self.longest_ns.max(self.longest_of_interval_ns.unwrap_or(0)) as f64 / NS_PER_S,
            longest_wait_s: self.longest_wait_ns as f64 / NS_PER_S,
            episodes: self.episodes.iter().take(MOST_OUTAGES).map(outage).collect(),
        }
    }
}

/// What several generators saw, as one.
#[must_use]
pub fn merge_outages(all: &[Outages]) -> Option<Outages> {
    let first = all.first()?;
    let mut apart: Vec<Outage> = all.iter().flat_map(|outages| outages.episodes.iter().copied()).collect();
    apart.sort_by(|one, other| one.begin_s.total_cmp(&other.begin_s));
    let mut episodes: Vec<Outage> = Vec::new();
    for outage in apart {
        match episodes.last_mut().filter(|last| outage.begin_s <= last.end_s) {
            Some(last) => {
                *last = Outage {
                    begin_s: last.begin_s,
                    end_s: last.end_s.max(outage.end_s),
                    longest_s: last.longest_s.max(outage.longest_s),
                    clients: last.clients + outage.clients,
                    due: last.due + outage.due,
                    ended: last.ended && outage.ended,
                }
            }
            None => episodes.push(outage),
        }
    }
    episodes.truncate(MOST_OUTAGES);
    let sum = |of: fn(&Outages) -> u64| all.iter().map(of).sum();
    let most = |of: fn(&Outages) -> f64| all.iter().map(of).fold(0.0, f64::max);
    Some(Outages {
        limit_s: first.limit_s,
        clients: sum(|outages| outages.clients),
        clients_hit: sum(|outages| outages.clients_hit),
        longest_s: most(|outages| outages.longest_s),
        longest_wait_s: most(|outages| outages.longest_wait_s),
        episodes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const TWO: Share = Share { first: 0, stride: 1, clients: 2, operations: None };

    /// An operation of a client that was due and ended at these tenths of a second.
    fn sample(client: u32, due: u64, ended: u64, outcome: Outcome) -> Sample {
        let ns = S / 10;
        let response_ns = (ended - due) * ns;
        Sample { client, queue_ns: response_ns, service_ns: 0, ..Sample::short(0, outcome, ended * ns) }
    }

    fn watch(samples: &[(u32, u64, u64, Outcome)], owed: &[Owed]) -> Outages {
        let mut watch = OutageWatch::new(TWO, 1.0);
        samples.iter().for_each(|&(client, due, ended, outcome)| watch.enter(&sample(client, due, ended, outcome)));
        watch.end(10 * S, owed);
        watch.report()
    }

    fn shown(outages: &Outages) -> Vec<(f64, f64, f64, u64, u64, bool)> {
        let show = |it: &Outage| (it.begin_s, it.end_s, it.longest_s, it.clients, it.due, it.ended);
        outages.episodes.iter().map(show).collect()
    }

    const DONE: Outcome = Outcome::Committed;
    const FAILED: Outcome = Outcome::Failed;

    #[test]
    fn a_gap_begins_with_the_last_success_or_when_work_was_due() {
        // Closed: due when the last one ended. With a pause: idle from 1.0 to 4.0, and nobody misses anything.
        let idle = watch(&[(0, 0, 10, DONE), (0, 40, 41, DONE)], &[]);
        assert_eq!((idle.longest_s, idle.clients_hit, shown(&idle)), (1.0, 0, vec![]));
        let closed = watch(&[(0, 0, 10, DONE), (0, 10, 40, DONE)], &[]);
        assert_eq!((closed.longest_s, closed.clients_hit), (3.0, 1));
        assert_eq!(shown(&closed), [(1.0, 4.0, 3.0, 1, 1, true)]);
    }

    #[test]
    fn operations_that_fail_do_not_end_a_gap_and_are_counted_as_due_in_it() {
        let outages = watch(&[(1, 10, 11, FAILED), (1, 12, 13, FAILED), (1, 14, 35, DONE), (1, 20, 36, DONE)], &[]);
        assert_eq!(shown(&outages), [(1.0, 3.5, 2.5, 1, 4, true)]);
    }

    #[test]
    fn an_operation_that_hung_while_others_of_its_client_succeeded_is_no_outage() {
        let slow = watch(&[(0, 0, 9, DONE), (0, 9, 18, DONE), (0, 18, 27, DONE), (0, 0, 30, DONE)], &[]);
        assert_eq!((slow.clients_hit, slow.longest_s, slow.longest_wait_s), (0, 0.9, 3.0));
    }

    #[test]
    fn outages_that_overlap_are_one_and_count_each_client_once() {
        let outages = watch(
            &[(0, 10, 30, DONE), (1, 45, 60, DONE), (0, 31, 50, DONE), (1, 80, 81, DONE)],
            &[Owed { client: 1, due_ns: 82 * S / 10, operations: 7 }],
        );
        let shown = shown(&outages);
        assert_eq!(shown[..2], [(1.0, 3.0, 2.0, 1, 1, true), (3.1, 6.0, 1.9, 2, 2, true)]);
        assert_eq!(shown[2..], [(8.2, 10.0, 1.8, 1, 7, false)], "work that nobody began waits until the end");
        let twice = watch(&[(1, 10, 90, DONE), (0, 10, 30, DONE), (0, 31, 50, DONE)], &[]);
        assert_eq!(twice.episodes.len(), 1);
        assert_eq!((twice.episodes[0].clients, twice.clients_hit), (2, 2));
    }

    #[test]
    fn generators_that_saw_one_outage_saw_it_together() {
        let [first, second] = [watch(&[(0, 10, 30, DONE), (0, 60, 80, DONE)], &[]), watch(&[(1, 20, 45, DONE)], &[])];
        let merged = merge_outages(&[first, second]).unwrap();
        assert_eq!(shown(&merged), [(1.0, 4.5, 2.5, 2, 2, true), (6.0, 8.0, 2.0, 1, 1, true)]);
        assert_eq!((merged.clients, merged.clients_hit, merged.longest_s), (4, 2, 2.5));
    }
}
