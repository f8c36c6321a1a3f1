//! Latency histograms: 1 ns to 1 h at three significant digits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// One hour.
pub const HIGHEST_NS: u64 = 3_600 * 1_000_000_000;
const LOWEST_NS: u64 = 1;
const SIGNIFICANT_DIGITS: u8 = 3;

/// A share of a distribution, 0 to 1. A type, because 0.99 and 99 have been confused in good tools.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile(f64);

impl Quantile {
    /// The 99th percentile.
    pub const P99: Self = Self(0.99);

    /// A share from 0 to 1; `None` outside.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }
}

/// Durations in nanoseconds, 0 to 1 h. A value above is counted, never clamped.
#[derive(Debug, Clone)]
pub struct Histogram {
    inside: hdrhistogram::Histogram<u64>,
    out_of_range: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let inside = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS);
        Self { inside: inside.expect("the bounds are constant and valid"), out_of_range: 0 }
    }
}

impl Histogram {
    /// Takes one duration.
    pub fn record(&mut self, ns: u64) {
        if ns <= HIGHEST_NS {
            self.inside.record(ns).expect("the value is inside the bounds");
        } else {
            self.out_of_range += 1;
        }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.inside.add(&other.inside).expect("all histograms have one range");
        self.out_of_range += other.out_of_range;
    }

    /// Values inside the range.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inside.len()
    }

    /// Values outside the range.
    #[must_use]
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// The highest value of the lowest share `quantile` of all values, in ns (to three digits); 0 when empty.
    #[must_use]
    pub fn value_at(&self, quantile: Quantile) -> u64 {
        self.inside.value_at_quantile(quantile.0)
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.inside.reset();
        self.out_of_range = 0;
    }

    /// HDR V2, deflated, base64: what every HdrHistogram library reads.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        // The serializer keeps a scratch buffer of 100 KiB; making it again three times a second an operation is cheap.
        let written = V2DeflateSerializer::new().serialize(&self.inside, &mut bytes);
        written.expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// Reads what [`Histogram::encode`] wrote; `None` when it is something else, or has values outside the range.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let mut histogram = Self::default();
        histogram.inside.add(&read).ok()?;
        Some(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str) -> hdrhistogram::Histogram<u64> {
        let bytes = STANDARD.decode(text).unwrap();
        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
    }

    #[test]
    fn three_digits_from_a_nanosecond_to_an_hour() {
        for ns in [1, 999, 1_000, 123_456, 45_678_901, 60_000_000_000, HIGHEST_NS] {
            let mut histogram = Histogram::default();
            histogram.record(ns);
            let read = decode(&histogram.encode());
            assert_eq!(read.len(), 1);
            let error = read.max().abs_diff(ns) as f64 / ns as f64;
            assert!(error <= 0.001, "{ns} came back as {}", read.max());
        }
    }

    #[test]
    fn values_above_an_hour_are_counted_and_not_clamped_and_nothing_is_a_value() {
        let mut histogram = Histogram::default();
        for ns in [0, HIGHEST_NS + 1, u64::MAX, 5] {
            histogram.record(ns);
        }
        assert_eq!((histogram.count(), histogram.out_of_range()), (2, 2));
        let read = decode(&histogram.encode());
        assert_eq!((read.len(), read.count_at(0), read.min()), (2, 1, 0));
    }

    #[test]
    fn merging_and_clearing() {
        let (mut one, mut two) = (Histogram::default(), Histogram::default());
        (1..=990).for_each(|_| one.record(1_000));
        (1..=10).for_each(|_| two.record(9_000));
        two.record(u64::MAX);
        one.merge(&two);
        assert_eq!((one.count(), one.out_of_range()), (1_000, 1));
        assert_eq!(one.value_at(Quantile::P99), 1_000);
        assert_eq!(one.value_at(Quantile::new(0.991).unwrap()) / 10, 900);
        one.clear();
        assert_eq!((one.count(), one.out_of_range()), (0, 0));
        assert_eq!((Quantile::new(99.0), Quantile::new(-0.1)), (None, None));
    }
}
