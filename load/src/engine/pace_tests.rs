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
    let due: Vec<u64> =
        until(Pace::Poisson { rate_per_s: RATE }, share, 20_000_000_000).iter().map(|arrival| arrival.due_ns).collect();
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
