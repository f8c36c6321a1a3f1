//! PostgreSQL's binary `numeric`: groups of four decimal digits, against our integers with a scale.
//!
//! On the wire: group count, weight of the first group (in powers of 10,000), sign, digits behind the point, then the
//! groups. Groups of zeros at either end are left out.

use bytes::{BufMut, BytesMut};

const GROUP: u128 = 10_000;
const GROUP_DIGITS: u32 = 4;
const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const HEADER_BYTES: usize = 8;

/// An i64 has 19 digits; aligning its scale adds at most 3: six groups hold it.
const MAX_GROUPS: usize = 6;

/// Appends `unscaled / 10^scale`.
pub(super) fn encode(unscaled: i64, scale: u8, out: &mut BytesMut) {
    // Groups are aligned at the decimal point: pad the fraction to whole groups.
    let padding = (GROUP_DIGITS - u32::from(scale) % GROUP_DIGITS) % GROUP_DIGITS;
    let fraction_groups = (u32::from(scale) + padding) / GROUP_DIGITS;
    let mut rest = u128::from(unscaled.unsigned_abs()) * 10_u128.pow(padding);

    let mut groups = [0_u16; MAX_GROUPS]; // least significant first
    let mut count = 0;
    while rest > 0 {
        groups[count] = (rest % GROUP) as u16;
        rest /= GROUP;
        count += 1;
    }
    let first_kept = groups[..count].iter().position(|&group| group != 0).unwrap_or(count);
    let kept = &groups[first_kept..count];

    let weight = if kept.is_empty() { 0 } else { count as i32 - 1 - fraction_groups as i32 };
    out.put_u16(kept.len() as u16);
    out.put_i16(weight as i16);
    out.put_u16(if unscaled < 0 { NEGATIVE } else { POSITIVE });
    out.put_u16(u16::from(scale));
    for &group in kept.iter().rev() {
        out.put_u16(group);
    }
}

/// The value times `10^scale`; `None` for NaN, infinities, damaged bytes, a value with more digits behind the point
/// than `scale`, and one that does not fit.
pub(super) fn decode(bytes: &[u8], scale: u8) -> Option<i64> {
    let (header, groups) = bytes.split_at_checked(HEADER_BYTES)?;
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

    let mut mantissa: i128 = 0;
    for group in groups.chunks_exact(2) {
        let digits = u16::from_be_bytes([group[0], group[1]]);
        mantissa = mantissa.checked_mul(GROUP as i128)?.checked_add(i128::from(digits))?;
    }
    if mantissa == 0 {
        return Some(0);
    }
    let exponent = (weight - (count as i32 - 1)) * GROUP_DIGITS as i32 + i32::from(scale);
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let scaled = if exponent >= 0 {
        mantissa.checked_mul(power)?
    } else if mantissa % power == 0 {
        mantissa / power
    } else {
        return None;
    };
    i64::try_from(if negative { -scaled } else { scaled }).ok()
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
