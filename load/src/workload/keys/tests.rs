use super::*;
use crate::workload::AuditLine;
use crate::workload::Streams;
use std::collections::BTreeMap;

const SHAPES: [Shape; 8] = [
    Shape::Uniform,
    Shape::Zipf { exponent: 1.1 },
    Shape::Zipf { exponent: 1.0 },
    Shape::Zipf { exponent: 0.8 },
    Shape::Gray { exponent: YCSB_EXPONENT },
    Shape::Gaussian,
    Shape::Special,
    Shape::Pareto,
];

/// The audit of `count` draws, each of which `damage` may change before it is counted.
fn audit(shape: Shape, items: u64, count: u64, mut damage: impl FnMut(u64, u64) -> u64) -> AuditLine {
    let ranks = Ranks::new(shape, items);
    let bins = Bins::of(&ranks);
    let mut counts = BTreeMap::new();
    let mut random = Streams::new(3).stream(1, items);
    for index in 0..count {
        let rank = damage(index, ranks.draw(&mut random));
        assert!(rank < items, "{shape:?}: {rank} of {items}");
        *counts.entry(bins.bin(rank) as i32).or_default() += 1;
    }
    bins.audit("ranks", Some(&counts))
}

#[test]
fn every_generator_draws_its_exact_distribution() {
    for shape in SHAPES {
        for items in [1, 2, 3, 1_000, SCRAMBLED_ITEMS] {
            let line = audit(shape, items, 30_000, |_, rank| rank);
            assert_eq!(line.passed, Some(true), "{shape:?} over {items}: {line:?}");
        }
    }
}

#[test]
fn the_audit_fails_a_generator_that_is_damaged_on_purpose() {
    for shape in SHAPES {
        // One draw of ten is another rank than it should be: one that comes from elsewhere.
        let line = audit(shape, 1_000, 50_000, |index, rank| if index % 10 == 0 { index % 1_000 } else { rank });
        let skewed = shape != Shape::Uniform;
        assert_eq!(line.passed, Some(!skewed), "{shape:?}: {line:?}");
        // A tenth in the middle is never drawn, and others in its place.
        let line = audit(shape, 1_000, 50_000, |_, rank| if (450..550).contains(&rank) { rank - 300 } else { rank });
        assert_eq!(line.passed, Some(false), "{shape:?}: {line:?}");
    }
    // An exponent that is a twentieth off.
    let (ranks, other) = (Ranks::new(Shape::Zipf { exponent: 1.1 }, 1_000), Shape::Zipf { exponent: 1.05 });
    let mut random = Streams::new(4).stream(1, 1);
    let line = audit(other, 1_000, 100_000, |_, _| ranks.draw(&mut random));
    assert_eq!(line.passed, Some(false), "{line:?}");
}

#[test]
fn few_draws_are_not_judged() {
    assert_eq!(audit(Shape::Uniform, 1_000, 99, |_, rank| rank).passed, None);
}

#[test]
fn shares_are_those_of_the_definitions() {
    let share = |shape, items, from, to| {
        let ranks = Ranks::new(shape, items);
        ranks.below(to) - ranks.below(from)
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found}, not {expected}");
    // sysbench: three quarters of the draws in the hundredth in the middle, of which the first quarter has none; and
    // the bell's part of it.
    let bell = |from, to| 0.25 * share(Shape::Gaussian, 10_000, from, to);
    close(share(Shape::Special, 10_000, 4_974, 5_051), 0.75 + bell(4_974, 5_051));
    close(share(Shape::Special, 10_000, 4_949, 4_974), bell(4_949, 4_974));
    close(share(Shape::Pareto, 10_000, 0, 2_000), 0.8);
    close(share(Shape::Pareto, 10_000, 0, 400), 0.64);
    close(share(Shape::Gaussian, 10_000, 0, 5_000), 0.5);
    // The standard deviation of twelve uniform draws' mean is a twelfth of the range; a bell of flatter tails than the
    // normal one (its kurtosis is 0.1 less) has 0.004 less within one of them.
    close(share(Shape::Gaussian, 12_000, 5_000, 7_000), 0.682_69 - 0.004);
    close(share(Shape::Zipf { exponent: 1.0 }, 3, 0, 1), 6.0 / 11.0);
    close(share(Shape::Gray { exponent: YCSB_EXPONENT }, SCRAMBLED_ITEMS, 0, 1), 1.0 / 26.469);
}

#[test]
fn scrambled_ranks_are_spread_over_all_items() {
    let ranks = Ranks::new(Shape::Gray { exponent: YCSB_EXPONENT }, SCRAMBLED_ITEMS);
    let mut random = Streams::new(5).stream(1, 1);
    let mut halves = [0_u32; 2];
    for _ in 0..20_000 {
        halves[usize::from(scramble(ranks.draw(&mut random), 1_000) >= 500)] += 1;
    }
    assert!(halves.iter().all(|&half| half > 8_000), "{halves:?}");
}

#[test]
fn numbers_below_a_bound_are_uniform() {
    let mut random = Streams::new(5).stream(0, 0);
    let mut counts = [0_u32; 7];
    (0..70_000).for_each(|_| counts[below(&mut random, 7) as usize] += 1);
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    assert_eq!(below(&mut random, 1), 0);
}
