//! Zipf's law as YCSB draws it: Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994. The
//! two hottest ranks are exact; those behind them come from a continuous curve, so that it is a distribution of its
//! own, close to Zipf's.

use super::uniform::unit;
use super::zipf::harmonic;
use rand_core::RngCore;

#[derive(Debug, Clone)]
pub(super) struct Gray {
    items: f64,
    exponent: f64,
    /// The sum of all weights, where the hottest one's is 1.
    total: f64,
    /// The sum of the two hottest's.
    two: f64,
    eta: f64,
}

impl Gray {
    pub(super) fn new(items: u64, exponent: f64) -> Self {
        assert!(exponent > 0.0 && exponent < 1.0, "an exponent above 0 and below 1");
        let (total, two) = (harmonic(items, exponent), harmonic(2.min(items), exponent));
        let items = items as f64;
        let tail = 1.0 - two / total;
        let eta = if tail > 0.0 { (1.0 - (2.0 / items).powf(1.0 - exponent)) / tail } else { 1.0 };
        Self { items, exponent, total, two, eta }
    }

    pub(super) fn draw(&self, random: &mut impl RngCore) -> u64 {
        let share = unit(random);
        let weight = share * self.total;
        if weight < 1.0 {
            return 0;
        }
        if weight < self.two {
            return 1;
        }
        let curve = (self.eta * share - self.eta + 1.0).powf(1.0 / (1.0 - self.exponent));
        (self.items * curve).clamp(2.0, self.items - 1.0) as u64
    }

    pub(super) fn below(&self, rank: u64) -> f64 {
        match rank {
            1 => 1.0 / self.total,
            _ => ((rank as f64 / self.items).powf(1.0 - self.exponent) - 1.0 + self.eta) / self.eta,
        }
    }
}
