use super::*;

fn stream() -> Stream {
    Stream::new(7, Purpose::Terminal, 1, 2)
}

#[test]
fn last_names_of_the_specifications_examples() {
    let mut name = String::new();
    for (number, expected) in [(371, "PRICALLYOUGHT"), (40, "BARPRESBAR"), (0, "BARBARBAR"), (999, "EINGEINGEING")] {
        last_name(number, &mut name);
        assert_eq!(name, expected);
    }
}

#[test]
fn the_thousand_last_names_differ_and_fit_the_column() {
    let mut name = String::new();
    let names: std::collections::BTreeSet<String> = (0..1000)
        .map(|number| {
            last_name(number, &mut name);
            name.clone()
        })
        .collect();
    assert_eq!(names.len(), 1000);
    assert!(names.iter().all(|name| name.len() <= 16));
}

#[test]
fn streams_differ_in_every_part_of_their_place_and_repeat_from_it() {
    let first = |mut stream: Stream| (0..4).map(|_| stream.below(u32::MAX)).collect::<Vec<_>>();
    let here = first(Stream::new(7, Purpose::Terminal, 1, 2));
    assert_eq!(here, first(Stream::new(7, Purpose::Terminal, 1, 2)));
    for other in [
        Stream::new(8, Purpose::Terminal, 1, 2),
        Stream::new(7, Purpose::Stock, 1, 2),
        Stream::new(7, Purpose::Terminal, 2, 1),
        Stream::new(7, Purpose::Terminal, 1, 3),
        Stream::new(7, Purpose::Terminal, 2, 2),
    ] {
        assert_ne!(here, first(other));
    }
}

#[test]
fn neighbouring_streams_are_not_correlated() {
    // The first draw of 100,000 streams in a row must look like 100,000 draws of one stream.
    let mut counts = [0_u32; 10];
    for index in 0..100_000 {
        counts[Stream::new(1, Purpose::OrderLine, 1, index).below(10) as usize] += 1;
    }
    let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
    assert!(chi_square < 33.7, "9 degrees of freedom, p = 1e-4: {chi_square}");
}

#[test]
fn uniform_reaches_both_ends_and_no_further() {
    let mut stream = stream();
    let drawn: std::collections::BTreeSet<i32> = (0..2_000).map(|_| stream.uniform(-3, 4)).collect();
    assert_eq!(drawn.into_iter().collect::<Vec<_>>(), (-3..=4).collect::<Vec<_>>());
    assert_eq!(stream.uniform(5, 5), 5);
}

#[test]
fn below_is_not_biased_where_a_plain_remainder_would_be() {
    // 2^32 mod 3·2^30 = 2^30: a remainder would hit the lowest third twice as often.
    let mut stream = stream();
    let bound = 3 << 30;
    let low = (0..30_000).filter(|_| stream.below(bound) < 1 << 30).count();
    assert!((9_600..10_400).contains(&low), "{low} of 30000 in the lowest third");
}

#[test]
fn a_permutation_holds_every_number_once_and_is_not_the_identity() {
    let permutation = stream().permutation(3000);
    assert_ne!(permutation, (1..=3000).collect::<Vec<_>>());
    let mut sorted = permutation;
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=3000).collect::<Vec<_>>());
}

#[test]
fn every_permutation_of_four_is_equally_likely() {
    let mut stream = stream();
    let mut counts = std::collections::BTreeMap::<Vec<i32>, u32>::new();
    for _ in 0..24_000 {
        *counts.entry(stream.permutation(4)).or_default() += 1;
    }
    assert_eq!(counts.len(), 24);
    let chi_square: f64 = counts.values().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi_square < 56.0, "23 degrees of freedom, p = 1e-4: {chi_square}");
}

#[test]
fn a_tenth_is_exactly_a_tenth_and_evenly_spread() {
    let mut stream = stream();
    let mut tenth = Tenth::of(100_000);
    let chosen: Vec<bool> = (0..100_000).map(|_| tenth.next(&mut stream)).collect();
    let in_the_first_half = chosen[..50_000].iter().filter(|&&chosen| chosen).count();
    assert_eq!(chosen.iter().filter(|&&chosen| chosen).count(), 10_000);
    assert!((4_750..5_250).contains(&in_the_first_half), "{in_the_first_half}");
}

#[test]
fn nurand_stays_in_range_for_every_constant() {
    let mut stream = stream();
    for c in 0..=255 {
        let names = NonUniform::last_name(c);
        assert!((0..200).all(|_| (0..=999).contains(&names.draw(&mut stream))));
    }
    for c in [0, 1, 511, 1023] {
        let customers = NonUniform::customer(c);
        assert!((0..20_000).all(|_| (1..=3000).contains(&customers.draw(&mut stream))));
    }
    for c in [0, 1, 4095, 8191] {
        let items = NonUniform::item(c);
        assert!((0..20_000).all(|_| (1..=100_000).contains(&items.draw(&mut stream))));
    }
}

#[test]
fn nurand_sends_a_third_of_item_accesses_to_the_hottest_percent() {
    let mut stream = stream();
    let items = NonUniform::item(1234);
    let mut counts = vec![0_u32; 100_000];
    let draws = 2_000_000;
    for _ in 0..draws {
        counts[usize::try_from(items.draw(&mut stream) - 1).unwrap()] += 1;
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let share = |n: usize| f64::from(counts[..n].iter().sum::<u32>()) / f64::from(draws);
    assert!((0.29..0.33).contains(&share(1000)), "hottest 1 %: {}", share(1000));
    assert!((0.70..0.75).contains(&share(10_000)), "hottest 10 %: {}", share(10_000));
}

#[test]
fn or_bits_undoes_the_constant() {
    // With C the value moves, the witness does not.
    for c in [0, 17, 255] {
        let names = NonUniform::last_name(c);
        assert_eq!(names.or_bits((255 + c) % 1000), 8);
        assert_eq!(names.or_bits(c % 1000), 0);
    }
}

#[test]
fn filled_strings_use_the_whole_alphabet() {
    let mut text = String::new();
    stream().fill("0123456789", 1000, &mut text);
    assert_eq!(text.len(), 1000);
    assert!(('0'..='9').all(|digit| text.contains(digit)));
}
