//! Values as parameters of prepared statements, and as the text of LOAD DATA.

use super::packet::write_bytes;
use crate::target::Value;
use std::io::Write as _;

/// Types of columns and parameters.
pub(super) mod kind {
    pub(in crate::target::mysql) const DECIMAL: u8 = 0x00;
    pub(in crate::target::mysql) const TINY: u8 = 0x01;
    pub(in crate::target::mysql) const SHORT: u8 = 0x02;
    pub(in crate::target::mysql) const LONG: u8 = 0x03;
    pub(in crate::target::mysql) const FLOAT: u8 = 0x04;
    pub(in crate::target::mysql) const DOUBLE: u8 = 0x05;
    pub(in crate::target::mysql) const NULL: u8 = 0x06;
    pub(in crate::target::mysql) const TIMESTAMP: u8 = 0x07;
    pub(in crate::target::mysql) const LONGLONG: u8 = 0x08;
    pub(in crate::target::mysql) const INT24: u8 = 0x09;
    pub(in crate::target::mysql) const DATE: u8 = 0x0A;
    pub(in crate::target::mysql) const TIME: u8 = 0x0B;
    pub(in crate::target::mysql) const DATETIME: u8 = 0x0C;
    pub(in crate::target::mysql) const YEAR: u8 = 0x0D;
    pub(in crate::target::mysql) const VARCHAR: u8 = 0x0F;
    pub(in crate::target::mysql) const NEWDECIMAL: u8 = 0xF6;
    pub(in crate::target::mysql) const TINY_BLOB: u8 = 0xF9;
    pub(in crate::target::mysql) const BLOB: u8 = 0xFC;
    pub(in crate::target::mysql) const VAR_STRING: u8 = 0xFD;
    pub(in crate::target::mysql) const STRING: u8 = 0xFE;
}

const NO_ARRAYS: &str = "a statement has elements of arrays alone";

/// The type under which a value is sent; `None` for NULL, which is sent as a bit.
pub(super) fn type_of(value: &Value<'_>) -> Option<u8> {
    match value {
        Value::Null => None,
        Value::I32(_) => Some(kind::LONG),
        Value::I64(_) => Some(kind::LONGLONG),
        Value::Text(_) | Value::TimestampMicros(_) => Some(kind::VAR_STRING),
        Value::Bytes(_) => Some(kind::BLOB),
        Value::Numeric { .. } => Some(kind::NEWDECIMAL),
        Value::I32Array(_) | Value::TextArray(_) | Value::NumericArray { .. } => unreachable!("{NO_ARRAYS}"),
    }
}

/// Appends a parameter; nothing for NULL.
pub(super) fn write_parameter(value: &Value<'_>, out: &mut Vec<u8>) {
    match *value {
        Value::Null => {}
        Value::I32(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::I64(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Text(text) => write_bytes(out, text.as_bytes()),
        Value::Bytes(bytes) => write_bytes(out, bytes),
        Value::TimestampMicros(_) | Value::Numeric { .. } => {
            // One byte holds the length of either.
            let at = out.len();
            out.push(0);
            write_text(value, out);
            out[at] = (out.len() - at - 1) as u8;
        }
        Value::I32Array(_) | Value::TextArray(_) | Value::NumericArray { .. } => unreachable!("{NO_ARRAYS}"),
    }
}

/// Appends a value as a field of LOAD DATA, with the characters escaped that end fields and lines.
pub(super) fn write_field(value: &Value<'_>, out: &mut Vec<u8>) {
    match *value {
        Value::Null => out.extend_from_slice(br"\N"),
        Value::Text(text) => write_escaped(text.as_bytes(), out),
        Value::Bytes(bytes) => write_escaped(bytes, out),
        _ => write_text(value, out),
    }
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len());
    for part in bytes.split_inclusive(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | 0)) {
        let (last, before) = part.split_last().expect("a part has a byte");
        match last {
            b'\\' | b'\t' | b'\n' => {
                out.extend_from_slice(before);
                out.extend_from_slice(&[b'\\', *last]);
            }
            0 => {
                out.extend_from_slice(before);
                out.extend_from_slice(br"\0");
            }
            _ => out.extend_from_slice(part),
        }
    }
}

/// Appends a number or a time as text.
fn write_text(value: &Value<'_>, out: &mut Vec<u8>) {
    const WRITES: &str = "a vector takes everything";
    match *value {
        Value::I32(number) => write!(out, "{number}").expect(WRITES),
        Value::I64(number) => write!(out, "{number}").expect(WRITES),
        Value::Numeric { unscaled, scale } => {
            let (sign, digits, power) =
                (if unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs(), 10_u64.pow(scale.into()));
            write!(out, "{sign}{}", digits / power).expect(WRITES);
            if scale > 0 {
                write!(out, ".{:0width$}", digits % power, width = usize::from(scale)).expect(WRITES);
            }
        }
        Value::TimestampMicros(unix) => write_date_and_time(unix, out),
        _ => unreachable!("texts and bytes are written as they are; {NO_ARRAYS}"),
    }
}

/// `2026-11-28 13:00:00.000000`, in UTC.
fn write_date_and_time(unix_us: i64, out: &mut Vec<u8>) {
    const DAY_US: i64 = 86_400_000_000;
    let (days, rest) = (unix_us.div_euclid(DAY_US), unix_us.rem_euclid(DAY_US));
    // Days since 0000-03-01 of the Gregorian calendar, in eras of 400 years: a year ends with its leap day.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400 + i64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    write!(
        out,
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{fraction:06}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
    .expect("a vector takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: Value<'_>) -> String {
        let mut out = Vec::new();
        write_field(&value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_of_load_data_are_escaped() {
        for (value, expected) in [
            (Value::Null, r"\N"),
            (Value::I32(-7), "-7"),
            (Value::I64(i64::MIN), "-9223372036854775808"),
            (Value::Text("a\tb\\c\nd"), "a\\\tb\\\\c\\\nd"),
            (Value::Text(""), ""),
            (Value::Bytes(b"\0x\0"), r"\0x\0"),
            (Value::Numeric { unscaled: -5, scale: 2 }, "-0.05"),
            (Value::Numeric { unscaled: 12, scale: 0 }, "12"),
            (Value::TimestampMicros(0), "1970-01-01 00:00:00.000000"),
            (Value::TimestampMicros(-1), "1969-12-31 23:59:59.999999"),
            (Value::TimestampMicros(1_709_210_096_000_007), "2024-02-29 12:34:56.000007"),
            (Value::TimestampMicros(4_107_542_400_000_000), "2100-03-01 00:00:00.000000"),
        ] {
            assert_eq!(text(value), expected);
        }
    }
}
