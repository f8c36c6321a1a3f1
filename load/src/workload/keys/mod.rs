//! Which item an operation is about: distributions over ranks, and the order in which ranks lie among the keys.
//!
//! A distribution ([`Ranks`]) draws a rank from 0 to `items - 1` and knows its own law exactly, so that what was drawn
//! can be compared with it ([`Bins`]). What rank 0 means is another matter: the hottest row, the newest one, or,
//! scrambled by a hash, any ([`scramble`], [`Order`]).

mod audit;
mod gray;
mod hash;
mod sysbench;
mod uniform;
mod zipf;

pub use audit::{Bins, MAX_BINS};
pub use hash::{Order, fnv_of, fnv1a, scramble};
pub use uniform::below;

use gray::Gray;
use rand_core::RngCore;
use sysbench::{Gaussian, Pareto, Special};
use zipf::Zipf;

/// YCSB's items before scrambling: more than any key space, so that growing does not move the hot keys.
pub const SCRAMBLED_ITEMS: u64 = 10_000_000_000;
/// YCSB's exponent.
pub const YCSB_EXPONENT: f64 = 0.99;

/// A family of distributions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Each as likely as another.
    Uniform,
    /// Rank r with a probability proportional to `(r + 1)^-exponent`, exactly.
    Zipf {
        /// Above 0.
        exponent: f64,
    },
    /// YCSB's approximation of it (Gray et al., SIGMOD 1994): exact for the two hottest, continuous beyond.
    Gray {
        /// Above 0 and below 1.
        exponent: f64,
    },
    /// sysbench's `gaussian`: the mean of twelve uniform draws.
    Gaussian,
    /// sysbench's `special`: three of four draws within the 1 % in the middle, the others gaussian.
    Special,
    /// sysbench's `pareto` with h = 0.2: a fifth of the ranks takes four fifths of the draws, at every scale.
    Pareto,
}

/// A distribution over the ranks 0 to `items - 1`.
#[derive(Debug, Clone)]
pub struct Ranks {
    items: u64,
    law: Law,
}

#[derive(Debug, Clone)]
enum Law {
    Uniform,
    Zipf(Zipf),
    Gray(Gray),
    Gaussian(Gaussian),
    Special(Special),
    Pareto(Pareto),
}

impl Ranks {
    /// Of this shape over this many items.
    ///
    /// # Panics
    /// With no items, or an exponent outside of the shape's range.
    #[must_use]
    pub fn new(shape: Shape, items: u64) -> Self {
        assert!(items > 0, "there is nothing to draw from");
        let law = match shape {
            Shape::Uniform => Law::Uniform,
            Shape::Zipf { exponent } => Law::Zipf(Zipf::new(items, exponent)),
            Shape::Gray { exponent } => Law::Gray(Gray::new(items, exponent)),
            Shape::Gaussian => Law::Gaussian(Gaussian::new(items)),
            Shape::Special => Law::Special(Special::new(items)),
            Shape::Pareto => Law::Pareto(Pareto::new(items)),
        };
        Self { items, law }
    }

    /// How many there are.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Draws one.
    pub fn draw(&self, random: &mut impl RngCore) -> u64 {
        match &self.law {
            Law::Uniform => below(random, self.items),
            Law::Zipf(zipf) => zipf.draw(random),
            Law::Gray(gray) => gray.draw(random),
            Law::Gaussian(gaussian) => gaussian.draw(random),
            Law::Special(special) => special.draw(random),
            Law::Pareto(pareto) => pareto.draw(random),
        }
    }

    /// The probability that a draw is below `rank`.
    #[must_use]
    pub fn below(&self, rank: u64) -> f64 {
        if rank == 0 {
            return 0.0;
        }
        if rank >= self.items {
            return 1.0;
        }
        match &self.law {
            Law::Uniform => rank as f64 / self.items as f64,
            Law::Zipf(zipf) => zipf.below(rank),
            Law::Gray(gray) => gray.below(rank),
            Law::Gaussian(gaussian) => gaussian.below(rank),
            Law::Special(special) => special.below(rank),
            Law::Pareto(pareto) => pareto.below(rank),
        }
    }
}

#[cfg(test)]
mod tests;
