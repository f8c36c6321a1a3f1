//! PostgreSQL's binary `numeric`: groups of four decimal digits, against our integers with a scale.
//!
//! On the wire: group count, weight of the first group (in powers of 10,000), sign, digits behind the point, then the
//! groups. Groups of zeros at either end are left out.

use bytes::{BufMut, BytesMut};

const GROUP: u64 = 10_000;
const GROUP_DIGITS: i32 = 4;
const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const HEADER_BYTES: usize = 8;

/// An i64 has 19 digits; aligning its scale adds at most 3: six groups hold it.
const MAX_GROUPS: usize = 6;
/// So many groups fit a u64: nearly all values of benchmarks have no more.
const SHORT_GROUPS: usize = 4;

const POWERS_OF_TEN: [u64; 20] = powers_of_ten();

const fn powers_of_ten() -> [u64; 20] {
    let (mut powers, mut index) = ([1; 20], 1);
    while index < powers.len() {
        powers[index] = 10 * powers[index - 1];
        index += 1;
    }
    powers
}

/// Appends `unscaled / 10^scale`.
pub(super) fn encode(unscaled: i64, scale: u8, out: &mut BytesMut) {
    // Groups are aligned at the decimal point: pad the fraction to whole groups.
    let padding = -i32::from(scale) & (GROUP_DIGITS - 1);
    let fraction_groups = (i32::from(scale) + padding) / GROUP_DIGITS;
    let mut rest = u128::from(unscaled.unsigned_abs()) * u128::from(POWERS_OF_TEN[padding as usize]);

    let mut groups = [0_u16; MAX_GROUPS]; // least significant first
    let mut count = 0;
    while rest > u128::from(u64::MAX) {
        groups[count] = (rest % u128::from(GROUP)) as u16;
        rest /= u128::from(GROUP);
        count += 1;
    }
    let mut rest = rest as u64; // cheaper to divide
    while rest > 0 {
        groups[count] = (rest % GROUP) as u16;
        rest /= GROUP;
        count += 1;
    }
    let first_kept = groups[..count].iter().position(|&group| group != 0).unwrap_or(count);
    let kept = &groups[first_kept..count];

    let weight = if kept.is_empty() { 0 } else { count as i32 - 1 - fraction_groups };
    let mut bytes = [0; HEADER_BYTES + 2 * MAX_GROUPS];
    let sign = if unscaled < 0 { NEGATIVE } else { POSITIVE };
    let header = [kept.len() as u16, weight as u16, sign, u16::from(scale)];
    for (place, word) in bytes.chunks_exact_mut(2).zip(header.iter().chain(kept.iter().rev())) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    out.put_slice(&bytes[..HEADER_BYTES + 2 * kept.len()]);
}

/// The value times `10^scale`; `None` for NaN, infinities, damaged bytes, a value with more digits behind the point
/// than `scale`, and one that does not fit.
pub(super) fn decode(bytes: &[u8], scale: u8) -> Option<i64> {
    let (header, groups) = bytes.split_first_chunk::<HEADER_BYTES>()?;
    let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let count = usize::from(field(0));
    let weight = i32::from(field(2) as i16);
    let negative = match field(4) {
        POSITIVE => false,
        NEGATIVE => true,
        _ => return None,
    };
    if groups.len() != count * 2 {
        return None;
    }
    let digits = groups.chunks_exact(2).map(|group| u16::from_be_bytes([group[0], group[1]]));
    let exponent = (weight - (count as i32 - 1)) * GROUP_DIGITS + i32::from(scale);
    let magnitude = if count <= SHORT_GROUPS { scale_short(digits, exponent) } else { scale_long(digits, exponent) }?;
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// At most [`SHORT_GROUPS`] groups, times `10^exponent`.
fn scale_short(groups: impl Iterator<Item = u16>, exponent: i32) -> Option<u64> {
    // A damaged group may have more than four digits: 16 bits, and still no overflow.
    let mantissa = groups.fold(0, |sum, group| sum * GROUP + u64::from(group));
    if mantissa == 0 {
        return Some(0);
    }
    let power = *POWERS_OF_TEN.get(exponent.unsigned_abs() as usize)?;
    if exponent >= 0 {
        return mantissa.checked_mul(power);
    }
    (mantissa % power == 0).then(|| mantissa / power)
}

/// Any number of groups, times `10^exponent`.
fn scale_long(groups: impl Iterator<Item = u16>, exponent: i32) -> Option<u64> {
    let mut mantissa: u128 = 0;
    for group in groups {
        mantissa = mantissa.checked_mul(u128::from(GROUP))?.checked_add(u128::from(group))?;
    }
    if mantissa == 0 {
        return Some(0);
    }
    let power = 10_u128.checked_pow(exponent.unsigned_abs())?;
    let scaled =
        if exponent >= 0 { mantissa.checked_mul(power) } else { (mantissa % power == 0).then(|| mantissa / power) };
    u64::try_from(scaled?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn encoded(unscaled: i64, scale: u8) -> BytesMut {
        let mut out = BytesMut::new();
        encode(unscaled, scale, &mut out);
        out
    }

    fn words(bytes: &[u8]) -> Vec<u16> {
        bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    /// Bytes as `numeric_send` of PostgreSQL 18 writes them.
    #[test]
    fn encodes_as_the_server_does() {
        assert_eq!(words(&encoded(0, 2)), [0, 0, 0, 2]);
        assert_eq!(words(&encoded(1, 0)), [1, 0, 0, 0, 1]);
        assert_eq!(words(&encoded(10_000, 0)), [1, 1, 0, 0, 1]);
        assert_eq!(words(&encoded(-1_234_567, 2)), [3, 1, NEGATIVE, 2, 1, 2345, 6700]);
        assert_eq!(words(&encoded(5, 4)), [1, 0xFFFF, 0, 4, 5]);
        assert_eq!(words(&encoded(5, 5)), [1, 0xFFFE, 0, 5, 5000]);
    }

    #[test]
    fn every_scale_round_trips() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let edges = [0, 1, -1, 9_999, 10_000, 10_001, -99_999_999, 100_000_000, i64::MAX, i64::MIN + 1, i64::MIN];
        for scale in 0..=18 {
            for value in edges {
                assert_eq!(decode(&encoded(value, scale), scale), Some(value), "{value} scale {scale}");
            }
            for _ in 0..2_000 {
                let value = (random.next_u64() as i64) >> (random.next_u32() % 64);
                assert_eq!(decode(&encoded(value, scale), scale), Some(value), "{value} scale {scale}");
            }
        }
    }

    #[test]
    fn a_wider_scale_multiplies_and_a_narrower_one_must_be_exact() {
        assert_eq!(decode(&encoded(1_250, 2), 4), Some(125_000));
        assert_eq!(decode(&encoded(1_250, 2), 1), Some(125));
        assert_eq!(decode(&encoded(1_251, 2), 1), None);
        assert_eq!(decode(&encoded(i64::MAX, 0), 1), None);
    }

    #[test]
    fn short_and_long_values_are_scaled_alike() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        for _ in 0..20_000 {
            let count = random.next_u32() as usize % (SHORT_GROUPS + 1);
            let groups: Vec<u16> =
                (0..count).map(|_| (random.next_u32() >> (16 + random.next_u32() % 16)) as u16).collect();
            let exponent = (random.next_u32() % 60) as i32 - 30;
            let short = scale_short(groups.iter().copied(), exponent);
            assert_eq!(short, scale_long(groups.iter().copied(), exponent), "{groups:?} {exponent}");
        }
    }

    #[test]
    fn refuses_nan_infinity_and_damage() {
        let nan = [0, 0, 0, 0, 0xC0, 0, 0, 0];
        let infinity = [0, 0, 0, 0, 0xD0, 0, 0, 0];
        assert_eq!(decode(&nan, 2), None);
        assert_eq!(decode(&infinity, 2), None);
        assert_eq!(decode(&[], 2), None);
        let whole = encoded(1_234_567, 2);
        for cut in 0..whole.len() {
            assert_eq!(decode(&whole[..cut], 2), None, "cut at {cut}");
        }
    }
}
