//! When operations start. Pure: nothing here reads a clock, so that all of it is tested with tables, and so that a
//! second copy of a generator can count what was due.
//!
//! In the closed pace a client is due when its last operation ended (and it has typed and thought, where the workload
//! says so). In the open paces arrivals come by a schedule of their own: arrival k of a run is turn k div clients of
//! client k mod clients, whether or not earlier ones have ended. An arrival that finds no connection free stays in its
//! generator, which is its queue: a backlog of any length takes no memory, and nothing is ever dropped.

use crate::spec::{PaceSpec, Share};
use crate::workload::{Streams, exponential};
use rand_xoshiro::Xoshiro256PlusPlus;

const NS_PER_S: f64 = 1e9;
/// The purpose of the streams that gaps are drawn from.
const GAP_STREAM: u64 = 0x70_61_63_65_00;

/// When operations are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Each client's next operation when its last one ended.
    Closed,
    /// At equal distances.
    Constant {
        /// Of all generators together.
        rate_per_s: f64,
    },
    /// At random: exponential distances.
    Poisson {
        /// Of all generators together.
        rate_per_s: f64,
    },
}

impl Pace {
    /// Whether arrivals come by a schedule of their own.
    #[must_use]
    pub fn is_open(self) -> bool {
        self != Self::Closed
    }
}

impl From<PaceSpec> for Pace {
    fn from(spec: PaceSpec) -> Self {
        match spec {
            PaceSpec::Closed {} => Self::Closed,
            PaceSpec::Constant { rate_per_s } => Self::Constant { rate_per_s },
            PaceSpec::Poisson { rate_per_s } => Self::Poisson { rate_per_s },
        }
    }
}

/// An operation that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Whose.
    pub client: u32,
    /// Which of this client's, from 0.
    pub turn: u64,
    /// Since the start of the load.
    pub due_ns: u64,
}

/// The arrivals of one share, in order, without end (but for the run's number of operations).
#[derive(Debug, Clone)]
pub struct Arrivals {
    share: Share,
    gaps: Gaps,
    index: u32,
    turn: u64,
}

#[derive(Debug, Clone)]
enum Gaps {
    Equal { ns: f64 },
    Exponential { mean_ns: f64, at_ns: f64, random: Box<Xoshiro256PlusPlus> },
}

impl Arrivals {
    /// Of the share, at this pace; `None` when arrivals have no schedule of their own.
    #[must_use]
    pub fn new(pace: Pace, share: Share, seed: u64) -> Option<Self> {
        let gaps = match pace {
            Pace::Closed => return None,
            Pace::Constant { rate_per_s } => Gaps::Equal { ns: NS_PER_S / rate_per_s },
            Pace::Poisson { rate_per_s } => Gaps::Exponential {
                mean_ns: NS_PER_S / rate_per_s * f64::from(share.clients) / f64::from(share.len().max(1)),
                at_ns: 0.0,
                random: Box::new(Streams::new(seed).stream(GAP_STREAM, u64::from(share.first))),
            },
        };
        Some(Self { share, gaps, index: 0, turn: 0 })
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let (client, turn) = (self.share.client(self.index), self.turn);
        if self.share.is_empty() || !self.share.has_turn(client, turn) {
            return None;
        }
        let due_ns = match &mut self.gaps {
            // A product and no sum: the millionth arrival is as exact as the first.
            Gaps::Equal { ns } => (turn * u64::from(self.share.clients) + u64::from(client)) as f64 * *ns,
            Gaps::Exponential { mean_ns, at_ns, random } => {
                *at_ns += *mean_ns * exponential(&mut **random);
                *at_ns
            }
        };
        self.index += 1;
        if self.index == self.share.len() {
            (self.index, self.turn) = (0, turn + 1);
        }
        Some(Arrival { client, turn, due_ns: due_ns as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn shares(stride: u32, clients: u32) -> impl Iterator<Item = Share> {
        (0..stride).map(move |first| Share { first, stride, clients, operations: None })
    }

    fn until(pace: Pace, share: Share, end_ns: u64) -> Vec<Arrival> {
        Arrivals::new(pace, share, 7).unwrap().take_while(|arrival| arrival.due_ns < end_ns).collect()
    }

    #[test]
    fn closed_has_no_schedule() {
        assert!(Arrivals::new(Pace::Closed, shares(1, 1).next().unwrap(), 0).is_none());
    }

    #[test]
    fn constant_shares_sum_to_the_whole_at_equal_distances() {
        for (threads, clients, rate_per_s) in [(1, 1, 1_000.0), (2, 8, 1_000.0), (3, 7, 999.0), (4, 64, 250.0)] {
            let mut all: Vec<Arrival> = shares(threads, clients)
                .flat_map(|share| until(Pace::Constant { rate_per_s }, share, 2_000_000_000))
                .collect();
            all.sort_by_key(|arrival| (arrival.due_ns, arrival.turn, arrival.client));
            assert_eq!(all.len(), 2 * rate_per_s as usize);
            for (k, arrival) in (0_u64..).zip(&all) {
                assert_eq!((u64::from(arrival.client), arrival.turn), (k % u64::from(clients), k / u64::from(clients)));
                assert!((arrival.due_ns as f64 - k as f64 * 1e9 / rate_per_s).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn a_constant_rate_does_not_drift() {
        let share = Share { first: 0, stride: 1, clients: 1, operations: None };
        let mut arrivals = Arrivals::new(Pace::Constant { rate_per_s: 300_000.0 }, share, 1).unwrap();
        let last = arrivals.nth(3_000_000).unwrap();
        assert_eq!((last.turn, last.due_ns), (3_000_000, 10_000_000_000));
    }

    #[test]
    fn poisson_has_its_mean_and_exponential_gaps() {
        const RATE: f64 = 10_000.0;
        let share = Share { first: 0, stride: 1, clients: 4, operations: None };
        let due: Vec<u64> = until(Pace::Poisson { rate_per_s: RATE }, share, 20_000_000_000)
            .iter()
            .map(|arrival| arrival.due_ns)
            .collect();
        let (expected, count) = (20.0 * RATE, due.len() as f64);
        assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{count}");
        // Chi-square of the gaps over ten parts of equal probability: 9 degrees of freedom, 0.1 % above 27.9.
        let mut bins = [0_u32; 10];
        for pair in due.windows(2) {
            let share = 1.0 - (-((pair[1] - pair[0]) as f64) * 1e-9 * RATE).exp();
            bins[((share * 10.0) as usize).min(9)] += 1;
        }
        let each = (count - 1.0) / 10.0;
        let chi_square: f64 = bins.iter().map(|&bin| (f64::from(bin) - each).powi(2) / each).sum();
        assert!(chi_square < 27.9, "{chi_square}: {bins:?}");
    }

    #[test]
    fn poisson_shares_sum_to_the_whole_and_differ() {
        let pace = Pace::Poisson { rate_per_s: 9_000.0 };
        let parts: Vec<Vec<Arrival>> = shares(3, 7).map(|share| until(pace, share, 10_000_000_000)).collect();
        let count = parts.iter().map(Vec::len).sum::<usize>() as f64;
        assert!((count - 90_000.0).abs() < 4.0 * 300.0, "{count}");
        // The share of three of seven clients.
        let first = parts[0].len() as f64;
        assert!((first - 90_000.0 * 3.0 / 7.0).abs() < 4.0 * 200.0, "{first}");
        assert_ne!(parts[1][0].due_ns, parts[2][0].due_ns);
        assert_eq!(parts[1], until(pace, shares(3, 7).nth(1).unwrap(), 10_000_000_000), "a function of the seed");
    }

    #[test]
    fn a_number_of_operations_is_the_same_ones_on_any_number_of_threads() {
        let operations = |threads: u32, pace: Pace| {
            let of = |share: Share| Arrivals::new(pace, Share { operations: Some(1_001), ..share }, 3).unwrap();
            shares(threads, 16).flat_map(of).map(|arrival| (arrival.client, arrival.turn)).collect::<BTreeSet<_>>()
        };
        let expected: BTreeSet<_> = (0..1_001).map(|k: u64| ((k % 16) as u32, k / 16)).collect();
        for threads in [1, 2, 3, 16] {
            assert_eq!(operations(threads, Pace::Constant { rate_per_s: 1e6 }), expected);
            assert_eq!(operations(threads, Pace::Poisson { rate_per_s: 1e6 }), expected);
        }
    }

    #[test]
    fn every_client_is_in_one_share() {
        let mut all: Vec<u32> =
            shares(3, 10).flat_map(|share| (0..share.len()).map(move |index| share.client(index))).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert!(shares(12, 10).last().unwrap().is_empty());
        for share in shares(3, 10) {
            assert!((0..share.len()).all(|index| share.index(share.client(index)) == index));
        }
    }
}
