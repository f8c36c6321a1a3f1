//! Zipf's law, exactly, by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 6.3, 1996): no table, any exponent above 0, about 1.1 draws each.

use super::uniform::unit;
use rand_core::RngCore;

/// Terms of a harmonic number that are added up one by one; the rest is Euler and Maclaurin's, to 1e-12.
const EXACT_TERMS: u64 = 128;

#[derive(Debug, Clone)]
pub(super) struct Zipf {
    items: f64,
    exponent: f64,
    /// The hat's integral at 3/2, less the first rank's weight: where the area begins.
    low: f64,
    /// The hat's integral behind the last rank.
    high: f64,
    /// Below this distance to the right of a rank, nothing is rejected.
    sure: f64,
    total: f64,
}

impl Zipf {
    pub(super) fn new(items: u64, exponent: f64) -> Self {
        assert!(exponent > 0.0 && exponent.is_finite(), "an exponent above 0");
        let items_f = items as f64;
        let weight_of_2 = (-exponent * 2_f64.ln()).exp();
        Self {
            items: items_f,
            exponent,
            low: integral(1.5, exponent) - 1.0,
            high: integral(items_f + 0.5, exponent),
            sure: 2.0 - inverse(integral(2.5, exponent) - weight_of_2, exponent),
            total: harmonic(items, exponent),
        }
    }

    pub(super) fn draw(&self, random: &mut impl RngCore) -> u64 {
        loop {
            let area = self.high + unit(random) * (self.low - self.high);
            let at = inverse(area, self.exponent);
            let rank = (at + 0.5).floor().clamp(1.0, self.items);
            let accepted = rank - at <= self.sure
                || area >= integral(rank + 0.5, self.exponent) - (-self.exponent * rank.ln()).exp();
            if accepted {
                return rank as u64 - 1;
            }
        }
    }

    pub(super) fn below(&self, rank: u64) -> f64 {
        harmonic(rank, self.exponent) / self.total
    }
}

/// The integral of x^-exponent from 1 to `x`.
fn integral(x: f64, exponent: f64) -> f64 {
    let log = x.ln();
    let power = (1.0 - exponent) * log;
    if power == 0.0 { log } else { power.exp_m1() / power * log }
}

/// Where [`integral`] has this value.
fn inverse(value: f64, exponent: f64) -> f64 {
    // Rounding must not lead below where the logarithm ends.
    let power = (value * (1.0 - exponent)).max(-1.0);
    if power == 0.0 { value.exp() } else { (power.ln_1p() / power * value).exp() }
}

/// The sum of i^-exponent over i from 1 to `n`.
pub(super) fn harmonic(n: u64, exponent: f64) -> f64 {
    let weight = |i: f64| (-exponent * i.ln()).exp();
    let first: f64 = (1..=n.min(EXACT_TERMS)).map(|i| weight(i as f64)).sum();
    if n <= EXACT_TERMS {
        return first;
    }
    let (from, to) = (EXACT_TERMS as f64, n as f64);
    let between = integral(to, exponent) - integral(from, exponent);
    let ends = f64::midpoint(weight(to), weight(from)) - weight(from);
    let slopes = exponent / 12.0 * (weight(from) / from - weight(to) / to);
    first + between + ends + slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonic_numbers_are_sums() {
        for exponent in [0.5, 0.99, 1.0, 1.1, 2.0] {
            let sum: f64 = (1..=100_000_u64).map(|i| (i as f64).powf(-exponent)).sum();
            let error = harmonic(100_000, exponent) / sum - 1.0;
            assert!(error.abs() < 1e-10, "{exponent}: {error}");
        }
        // YCSB's own constant of 10^10 items at 0.99.
        assert!((harmonic(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    }
}
