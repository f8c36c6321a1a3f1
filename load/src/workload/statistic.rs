//! Judgements about draws that every audit shares.
//!
//! Limits are those that a fair generator passes with the probability of five standard errors: it fails once in some
//! 1.7 million lines.

use super::{AuditLine, Tally};

/// Fewer draws than these are not judged.
pub const MINIMUM_DRAWS: u64 = 1_000;
/// How far a fair generator may be off by chance.
pub const STANDARD_ERRORS: f64 = 5.0;

/// A mean is normal around its expectation, with the deviation of one draw over the root of their number.
#[must_use]
pub fn mean(name: &str, tally: Tally, expected: f64, deviation: f64) -> AuditLine {
    let draws = tally.draws.max(1) as f64;
    let margin = STANDARD_ERRORS * deviation / draws.sqrt();
    let (observed, low, high) = (tally.sum / draws, expected - margin, expected + margin);
    let passed = (tally.draws >= MINIMUM_DRAWS).then_some((low..=high).contains(&observed));
    AuditLine { name: name.to_owned(), observed, low, high, draws: tally.draws, passed }
}

/// Pearson's chi-square of counts against their shares. The limit is Wilson and Hilferty's.
#[must_use]
pub fn chi_square(name: &str, bins: impl Iterator<Item = (u64, f64)> + Clone) -> AuditLine {
    let draws: u64 = bins.clone().map(|(count, _)| count).sum();
    let freedom = bins.clone().count() as f64 - 1.0;
    let term = |(count, share): (u64, f64)| {
        let expected = draws as f64 * share;
        // Nothing is expected in a bin of no share: what comes there all the same counts in full.
        (count as f64 - expected).powi(2) / if share > 0.0 { expected.max(1.0) } else { 1.0 }
    };
    let observed: f64 = bins.map(term).sum();
    let ninth = 2.0 / (9.0 * freedom.max(1.0));
    let limit = freedom * (1.0 - ninth + STANDARD_ERRORS * ninth.sqrt()).powi(3);
    let passed = (draws >= MINIMUM_DRAWS).then_some(observed <= limit);
    AuditLine { name: name.to_owned(), observed, low: 0.0, high: limit, draws, passed }
}
