//! The distributions of sysbench's `--rand-type`, with the defaults of its parameters.

use super::uniform::unit;
use rand_core::RngCore;

/// `--rand-spec-iter`: how many uniform draws the gaussian one is the mean of.
const TERMS: u32 = 12;
/// `--rand-spec-pct`: the share of ranks that are hot, in the middle.
const HOT_RANKS: f64 = 0.01;
/// `--rand-spec-res`: the share of draws that are about them.
const HOT_DRAWS: f64 = 0.75;
/// `--rand-pareto-h`.
const PARETO_H: f64 = 0.2;

/// The mean of twelve uniform draws: a bell over all ranks.
#[derive(Debug, Clone)]
pub(super) struct Gaussian {
    items: u64,
}

impl Gaussian {
    pub(super) fn new(items: u64) -> Self {
        Self { items }
    }

    pub(super) fn draw(&self, random: &mut impl RngCore) -> u64 {
        let sum: f64 = (0..TERMS).map(|_| unit(random)).sum();
        ((sum / f64::from(TERMS) * self.items as f64) as u64).min(self.items - 1)
    }

    pub(super) fn below(&self, rank: u64) -> f64 {
        irwin_hall(rank as f64 / self.items as f64 * f64::from(TERMS))
    }
}

/// The probability that the sum of twelve uniform draws is below `x` (Irwin and Hall).
fn irwin_hall(x: f64) -> f64 {
    let terms = f64::from(TERMS);
    // Above the middle the alternating sum would cancel to nothing.
    if x > terms / 2.0 {
        return 1.0 - irwin_hall(terms - x);
    }
    let (mut sum, mut choose) = (0.0, 1.0);
    for k in 0..=x.max(0.0) as u32 {
        let k_f = f64::from(k);
        sum += choose * (x - k_f).max(0.0).powi(TERMS as i32);
        choose *= -(terms - k_f) / (k_f + 1.0);
    }
    let factorial: f64 = (1..=TERMS).map(f64::from).product();
    sum / factorial
}

/// Hot ranks in the middle, and a bell over all but the last: as sysbench's code has it. That takes one draw both to
/// choose between the two and to choose among the hot ranks, so that of these the first quarter has none.
#[derive(Debug, Clone)]
pub(super) struct Special {
    bell: Gaussian,
    /// Where the hot ranks begin, and how wide they lie.
    first_hot: f64,
    hot: f64,
}

impl Special {
    pub(super) fn new(items: u64) -> Self {
        let range = (items - 1) as f64;
        let (first_hot, hot) = (range / 2.0 - range * HOT_RANKS / 2.0, range * HOT_RANKS + 1.0);
        Self { bell: Gaussian::new(items - 1), first_hot, hot }
    }

    pub(super) fn draw(&self, random: &mut impl RngCore) -> u64 {
        let share = unit(random);
        // A range of one has no bell.
        if share < 1.0 - HOT_DRAWS && self.bell.items > 0 {
            return self.bell.draw(random);
        }
        ((self.first_hot + share * self.hot) as u64).min(self.bell.items)
    }

    pub(super) fn below(&self, rank: u64) -> f64 {
        let cold = 1.0 - HOT_DRAWS;
        let hot = ((rank as f64 - self.first_hot) / self.hot - cold).clamp(0.0, HOT_DRAWS);
        hot + cold * self.bell.below(rank)
    }
}

/// A power of a uniform draw.
#[derive(Debug, Clone)]
pub(super) struct Pareto {
    items: u64,
    power: f64,
}

impl Pareto {
    pub(super) fn new(items: u64) -> Self {
        Self { items, power: PARETO_H.ln() / (1.0 - PARETO_H).ln() }
    }

    pub(super) fn draw(&self, random: &mut impl RngCore) -> u64 {
        ((self.items as f64 * unit(random).powf(self.power)) as u64).min(self.items - 1)
    }

    pub(super) fn below(&self, rank: u64) -> f64 {
        (rank as f64 / self.items as f64).powf(1.0 / self.power)
    }
}
