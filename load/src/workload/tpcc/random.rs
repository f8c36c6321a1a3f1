//! Random draws of TPC-C (clauses 2.1.5, 2.1.6, 4.3.2) from streams that are functions of (seed, purpose, index), so
//! that no two terminals and no two pieces of data share one, and any of them can be drawn again alone.

use crate::workload::{Streams, below};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream is for. The numbers are part of the data format: changing one changes every data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// `C_load`, from the data seed.
    LoadConstant = 1,
    /// `C_run` and the other constants of a run, from the run's seed.
    RunConstants = 2,
    /// The strings that rows are cut from.
    Pool = 3,
    /// Rows of ITEM.
    Item = 4,
    /// Which items hold "ORIGINAL".
    ItemOriginal = 5,
    /// Rows of WAREHOUSE.
    Warehouse = 6,
    /// Rows of DISTRICT.
    District = 7,
    /// Rows of CUSTOMER.
    Customer = 8,
    /// Which customers have bad credit.
    CustomerCredit = 9,
    /// Rows of HISTORY.
    History = 10,
    /// Rows of ORDER.
    Order = 11,
    /// The permutation of customers over a district's orders.
    OrderCustomer = 12,
    /// Rows of ORDER-LINE.
    OrderLine = 13,
    /// Rows of STOCK.
    Stock = 14,
    /// Which stocks hold "ORIGINAL".
    StockOriginal = 15,
    /// The inputs of a terminal's operations.
    Terminal = 16,
    /// The decks of a terminal.
    Deck = 17,
    /// Think times.
    Think = 18,
    /// When a terminal begins.
    Phase = 19,
}

/// One independent sequence of random numbers (xoshiro256++).
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of (`seed`, `purpose`, `major`, `minor`), for example (seed, Customer, warehouse, row).
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, major: u32, minor: u32) -> Self {
        let place = (u64::from(major) << 32) | u64::from(minor);
        Self(Streams::new(seed).stream(purpose as u64, place))
    }

    /// The generator below.
    pub fn rng(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }

    /// Uniform in `0..bound`, without bias.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        below(&mut self.0, bound)
    }

    /// `random within [low .. high]`, both included (4.3.2.5).
    ///
    /// # Panics
    /// If `high < low`.
    pub fn uniform(&mut self, low: i32, high: i32) -> i32 {
        let span = u32::try_from(i64::from(high) - i64::from(low) + 1).expect("low <= high");
        low.wrapping_add_unsigned(self.below(span))
    }

    /// True for `percent` of 100 draws, as the specification's `x within [1 .. 100]`.
    pub fn percent(&mut self, percent: i32) -> bool {
        self.uniform(1, 100) <= percent
    }

    /// Puts `values` into random order, each of the n! orders equally likely (Fisher and Yates).
    ///
    /// # Panics
    /// If there are more than 2^32 values.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        self.shuffle_from(0, values);
    }

    /// Puts those from `first` on where [`Stream::shuffle`] puts them. The others are only the right ones.
    ///
    /// # Panics
    /// As [`Stream::shuffle`].
    pub fn shuffle_from<T>(&mut self, first: usize, values: &mut [T]) {
        for last in (first.max(1)..values.len()).rev() {
            let bound = u32::try_from(last + 1).expect("fewer than 2^32 values");
            values.swap(last, self.below(bound) as usize);
        }
    }

    /// A random permutation of `1..=n` (4.3.2.6).
    #[must_use]
    pub fn permutation(&mut self, n: i32) -> Vec<i32> {
        let mut values: Vec<i32> = (1..=n).collect();
        self.shuffle(&mut values);
        values
    }

    /// Appends `length` random characters of `alphabet`.
    ///
    /// # Panics
    /// If `alphabet` is empty or has 2^32 characters.
    pub fn fill(&mut self, alphabet: &str, length: usize, into: &mut String) {
        let characters = alphabet.as_bytes();
        let bound = u32::try_from(characters.len()).expect("a short alphabet");
        into.extend((0..length).map(|_| char::from(characters[self.below(bound) as usize])));
    }
}

/// Chooses exactly a tenth of `n` rows in order, every subset equally likely (Knuth's algorithm S). The clause asks for
/// "10% of the rows, selected at random"; a coin per row would give 10 % on average only.
#[derive(Debug, Clone)]
pub struct Tenth {
    wanted: u32,
    remaining: u32,
}

impl Tenth {
    /// A tenth of `rows`.
    #[must_use]
    pub fn of(rows: u32) -> Self {
        Self { wanted: rows / 10, remaining: rows }
    }

    /// Whether the next row is chosen.
    pub fn next(&mut self, stream: &mut Stream) -> bool {
        let chosen = stream.below(self.remaining) < self.wanted;
        self.remaining -= 1;
        self.wanted -= u32::from(chosen);
        chosen
    }
}

/// `NURand(A, low, high)` with its constant C (2.1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonUniform {
    /// A: 255, 1023 or 8191.
    pub a: i32,
    /// Lowest value.
    pub low: i32,
    /// Highest value.
    pub high: i32,
    /// C, constant over a run.
    pub c: i32,
}

impl NonUniform {
    /// Last names: `NURand(255, 0, 999)`.
    #[must_use]
    pub const fn last_name(c: i32) -> Self {
        Self { a: 255, low: 0, high: 999, c }
    }

    /// Customer numbers: `NURand(1023, 1, 3000)`.
    #[must_use]
    pub const fn customer(c: i32) -> Self {
        Self { a: 1023, low: 1, high: 3000, c }
    }

    /// Item numbers: `NURand(8191, 1, 100000)`.
    #[must_use]
    pub const fn item(c: i32) -> Self {
        Self { a: 8191, low: 1, high: 100_000, c }
    }

    /// Draws a value.
    pub fn draw(&self, stream: &mut Stream) -> i32 {
        let drawn = stream.uniform(0, self.a) | stream.uniform(self.low, self.high);
        (drawn + self.c) % self.span() + self.low
    }

    /// How many of the low bits (those that the `or` with `0..=A` touches) are set in what was drawn before C was
    /// added: an exact witness of the skew, since a uniform generator sets half of them and the `or` three quarters.
    #[must_use]
    pub fn or_bits(&self, value: i32) -> u32 {
        let before_c = (value - self.low - self.c).rem_euclid(self.span());
        (before_c & self.a).count_ones()
    }

    const fn span(&self) -> i32 {
        self.high - self.low + 1
    }
}

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Writes the last name of number `n`: one syllable per decimal digit of three (4.3.2.3).
///
/// # Panics
/// If `n` is not within 0..=999.
pub fn last_name(n: i32, into: &mut String) {
    let n = usize::try_from(n).expect("names are numbered from 0");
    into.clear();
    for digit in [n / 100, n / 10 % 10, n % 10] {
        into.push_str(SYLLABLES[digit]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::new(7, Purpose::Terminal, 1, 2)
    }

    #[test]
    fn last_names_of_the_specifications_examples() {
        let mut name = String::new();
        for (number, expected) in [(371, "PRICALLYOUGHT"), (40, "BARPRESBAR"), (0, "BARBARBAR"), (999, "EINGEINGEING")]
        {
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
    fn a_shuffle_of_the_last_places_puts_there_what_a_whole_one_does() {
        let whole = stream().permutation(23);
        for first in 0..=23 {
            let mut values: Vec<i32> = (1..=23).collect();
            stream().shuffle_from(first, &mut values);
            assert_eq!(values[first..], whole[first..]);
        }
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
}
