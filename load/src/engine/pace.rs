//! When operations are due. Pure: nothing here reads a clock, so that all of it is tested with tables, and so that a
//! second copy of a generator can count what was due.
//!
//! In the closed pace a client is due when its last operation ended (and it has typed and thought, where the workload
//! says so). In the open paces arrivals come by a schedule of their own: arrival k of a run is turn k div clients of
//! client k mod clients, whatever became of the ones before. An arrival that finds no connection free stays in its
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
#[path = "pace_tests.rs"]
mod tests;
