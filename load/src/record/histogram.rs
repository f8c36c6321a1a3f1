//! Latency histograms: 1 ns to 1 h at three significant digits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use hdrhistogram::serialization::Deserializer;
use std::cell::RefCell;
use std::io::Read as _;

/// One hour.
pub const HIGHEST_NS: u64 = 3_600 * 1_000_000_000;
const LOWEST_NS: u64 = 1;
const SIGNIFICANT_DIGITS: u32 = 3;

/// Values of this many bits have a counter each: three digits need 2,000 of them …
const EXACT_BITS: u32 = 11;
/// … and so many counters are enough for every doubling above, since its lower half has counters already.
const HALF: usize = 1 << (EXACT_BITS - 1);

/// The first words of HDR's format V2, bare and deflated.
const COOKIE: u32 = 0x1c84_9313;
const DEFLATED_COOKIE: u32 = 0x1c84_9314;
/// Of a histogram that is not deflated: 34,000 counters of nine bytes need a third of it.
const MAX_BYTES: u64 = 1 << 20;

thread_local! {
    /// Kept, as it takes 300 KiB, and each new one would get its memory from the kernel.
    static DEFLATE: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), true));
}

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
///
/// The counters are those of every HDR histogram of this range, but memory, clearing and encoding cost only what lies
/// between the smallest and the largest value: there are several histograms an operation, which are encoded and cleared
/// every second.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// From value 0 on; as many as were needed.
    counts: Vec<u64>,
    /// All others are 0.
    first: usize,
    end: usize,
    count: u64,
    out_of_range: u64,
}

/// The counter of a value.
fn index_of(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(EXACT_BITS);
    shift as usize * HALF + (ns >> shift) as usize
}

/// The smallest value of a counter.
fn value_of(index: usize) -> u64 {
    let shift = (index / HALF).saturating_sub(1);
    ((index - shift * HALF) as u64) << shift
}

impl Histogram {
    /// Takes one duration.
    pub fn record(&mut self, ns: u64) {
        if ns <= HIGHEST_NS {
            self.add(index_of(ns), 1);
        } else {
            self.out_of_range += 1;
        }
    }

    fn add(&mut self, index: usize, count: u64) {
        if index >= self.counts.len() {
            self.counts.resize((index + 1).next_multiple_of(HALF), 0);
        }
        self.counts[index] += count;
        self.first = if self.end == 0 { index } else { self.first.min(index) };
        self.end = self.end.max(index + 1);
        self.count += count;
    }

    /// The counters that are not 0, from small values to large ones.
    fn counters(&self) -> impl Iterator<Item = (usize, u64)> {
        (self.first..)
            .zip(&self.counts[self.first..self.end])
            .filter_map(|(index, &count)| (count > 0).then_some((index, count)))
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        other.counters().for_each(|(index, count)| self.add(index, count));
        self.out_of_range += other.out_of_range;
    }

    /// Values inside the range.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Values outside the range.
    #[must_use]
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// The highest value of the lowest share `quantile` of all values, in ns (to three digits); 0 when empty.
    #[must_use]
    pub fn value_at(&self, quantile: Quantile) -> u64 {
        let mut left = ((quantile.0 * self.count as f64).ceil() as u64).max(1);
        for (index, count) in self.counters() {
            if count >= left {
                return value_of(index + 1) - 1;
            }
            left -= count;
        }
        0
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.counts[self.first..self.end].fill(0);
        *self = Self { counts: std::mem::take(&mut self.counts), ..Self::default() };
    }

    /// HDR V2, deflated, base64: what every HdrHistogram library reads.
    #[must_use]
    pub fn encode(&self) -> String {
        let counters = self.counters_v2();
        // Deflating lengthens what has no repeats, by less than the header, which has some.
        let mut bytes = Vec::with_capacity(2 * counters.len());
        bytes.extend(DEFLATED_COOKIE.to_be_bytes());
        bytes.extend([0; 4]); // the length
        let status = DEFLATE.with_borrow_mut(|deflate| {
            deflate.reset();
            deflate.compress_vec(&counters, &mut bytes, FlushCompress::Finish)
        });
        assert!(matches!(status, Ok(Status::StreamEnd)), "the room is enough");
        let length = (bytes.len() - 8) as u32;
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        STANDARD.encode(bytes)
    }

    /// Header and counters as HDR V2 has them: each a number of values, or below 0 a number of counters that are 0.
    fn counters_v2(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4096);
        for word in [COOKIE, 0, 0, SIGNIFICANT_DIGITS] {
            bytes.extend(word.to_be_bytes()); // the second one is the length
        }
        for word in [LOWEST_NS, HIGHEST_NS, 1.0_f64.to_bits()] {
            bytes.extend(word.to_be_bytes());
        }
        let (start, mut next) = (bytes.len(), 0);
        for (index, count) in self.counters() {
            match index - next {
                0 => {}
                1 => put_signed(0, &mut bytes),
                empty => put_signed(-(empty as i64), &mut bytes),
            }
            put_signed(count as i64, &mut bytes);
            next = index + 1;
        }
        if next == 0 {
            put_signed(0, &mut bytes);
        }
        let length = (bytes.len() - start) as u32;
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    /// Reads what [`Histogram::encode`] wrote; `None` when it is something else, or has values outside the range.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let packed = STANDARD.decode(text).ok()?;
        let packed = packed.strip_prefix(&DEFLATED_COOKIE.to_be_bytes())?.get(4..)?;
        let mut bytes = Vec::new();
        ZlibDecoder::new(packed).take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
        // The library takes as much memory as the length says, which is 4 GiB at most.
        let length = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?) as usize;
        if bytes.len() as u64 > MAX_BYTES || length > bytes.len() {
            return None;
        }
        let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let mut histogram = Self::default();
        for counter in read.iter_recorded() {
            let value = read.lowest_equivalent(counter.value_iterated_to());
            if value > HIGHEST_NS {
                return None;
            }
            histogram.add(index_of(value), counter.count_at_value());
        }
        Some(histogram)
    }
}

/// Zigzag, then 7 bits a byte, the last of nine bytes 8.
fn put_signed(value: i64, into: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            break;
        }
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::io::Write as _;

    fn reference() -> hdrhistogram::Histogram<u64> {
        hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS as u8).unwrap()
    }

    #[test]
    fn counters_bytes_and_quantiles_are_those_of_the_reference() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let (mut ours, mut theirs) = (Histogram::default(), reference());
        for round in 0..3_000 {
            let value = match round {
                0..1_100 => (2_040 << (round / 100)) + round % 100, // around doublings
                _ => (random.next_u64() >> (random.next_u32() % 64)) % (HIGHEST_NS + 1),
            };
            let times = if round % 50 == 0 { 1_000_000 } else { 1 };
            ours.add(index_of(value), times);
            theirs.record_n(value, times).unwrap();
            if round % 100 == 0 {
                let mut bytes = Vec::new();
                V2Serializer::new().serialize(&theirs, &mut bytes).unwrap();
                assert_eq!(ours.counters_v2(), bytes, "after {round} values, the last of them {value}");
                for share in [0.001, 0.5, 0.9, 0.99, 1.0] {
                    let expected = theirs.value_at_quantile(share);
                    assert_eq!(ours.value_at(Quantile::new(share).unwrap()), expected, "{share} after {round} values");
                }
            }
        }
        let read = Histogram::decode(&ours.encode()).unwrap();
        assert_eq!((read.count(), read.counters_v2()), (ours.count(), ours.counters_v2()));
        let mut empty = Vec::new();
        V2Serializer::new().serialize(&reference(), &mut empty).unwrap();
        ours.clear();
        assert_eq!((ours.counters_v2(), ours.value_at(Quantile::P99)), (empty, 0));
    }

    #[test]
    fn a_histogram_that_says_it_is_longer_than_it_is_is_none() {
        let mut bytes = Histogram::default().counters_v2();
        bytes[4..8].copy_from_slice(&(u32::MAX).to_be_bytes());
        for bytes in [bytes, vec![0; 2 * MAX_BYTES as usize]] {
            let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(&bytes).unwrap();
            let head = [DEFLATED_COOKIE.to_be_bytes(), [0; 4]].concat();
            let text = STANDARD.encode([head, packed.finish().unwrap()].concat());
            assert!(Histogram::decode(&text).is_none());
        }
    }

    #[test]
    fn every_length_of_a_count_is_written_as_the_reference_reads_it() {
        for bits in 0..63 {
            let mut histogram = Histogram::default();
            histogram.add(index_of(5), 1 << bits);
            assert_eq!(decode(&histogram.encode()).count_at(5), 1 << bits);
        }
    }

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
