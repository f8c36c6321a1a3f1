//! One row of a prepared statement, decoded on demand.

use super::packet::Reader;
use super::value::kind;
use crate::target::SqlRow;

/// The character set of what is no text.
const BINARY: u16 = 63;
/// In the flags of a column.
const UNSIGNED: u16 = 1 << 5;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::target) struct Column {
    kind: u8,
    is_unsigned: bool,
    is_binary: bool,
}

impl Column {
    /// Reads the definition of a column: its type stands behind six names.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        for _name in 0..6 {
            reader.bytes()?;
        }
        let _length_of_the_rest = reader.length()?;
        let character_set = reader.u16()?;
        let _display_length = reader.u32()?;
        let kind = reader.u8()?;
        let flags = reader.u16()?;
        Some(Self { kind, is_unsigned: flags & UNSIGNED != 0, is_binary: character_set == BINARY })
    }

    /// How many bytes a value that begins here takes.
    fn width(self, bytes: &[u8]) -> Option<usize> {
        Some(match self.kind {
            kind::NULL => 0,
            kind::TINY => 1,
            kind::SHORT | kind::YEAR => 2,
            kind::LONG | kind::INT24 | kind::FLOAT => 4,
            kind::LONGLONG | kind::DOUBLE => 8,
            kind::DATE | kind::DATETIME | kind::TIMESTAMP | kind::TIME => 1 + usize::from(*bytes.first()?),
            _ => {
                let mut reader = Reader(bytes);
                reader.bytes()?;
                bytes.len() - reader.0.len()
            }
        })
    }

    fn is_text(self) -> bool {
        matches!(self.kind, kind::VARCHAR | kind::TINY_BLOB..=kind::STRING) && self.kind != kind::NEWDECIMAL
    }
}

/// One row. Every getter answers `None` for SQL NULL and for a value of another type or length.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// A bit for each column that is NULL, behind two that mean nothing.
    nulls: &'a [u8],
    values: &'a [u8],
    columns: &'a [Column],
    /// Columns before these, which were passed over.
    passed: usize,
}

impl<'a> Row<'a> {
    pub(super) fn new(body: &'a [u8], columns: &'a [Column]) -> Self {
        let (nulls, values) = body.split_at_checked((columns.len() + 9) / 8).unwrap_or((&[], &[]));
        Self { nulls, values, columns, passed: 0 }
    }

    fn is_null(&self, column: usize) -> bool {
        let bit = self.passed + column + 2;
        self.nulls.get(bit / 8).is_none_or(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// Walks the columns: rows of benchmarks are short, an index would cost more than it saves.
    fn value(&self, column: usize) -> Option<(Column, &'a [u8])> {
        let of = *self.columns.get(column)?;
        if self.is_null(column) {
            return None;
        }
        let values = self.behind(column)?;
        Some((of, values.get(..of.width(values)?)?))
    }

    /// The values behind the first `count` ones.
    fn behind(&self, count: usize) -> Option<&'a [u8]> {
        let mut values = self.values;
        for (index, before) in self.columns.get(..count)?.iter().enumerate() {
            if !self.is_null(index) {
                values = values.get(before.width(values)?..)?;
            }
        }
        Some(values)
    }

    /// A value behind its length.
    fn counted(&self, column: usize, fits: impl FnOnce(Column) -> bool) -> Option<&'a [u8]> {
        let (of, bytes) = self.value(column)?;
        if fits(of) { Reader(bytes).bytes() } else { None }
    }
}

impl<'a> SqlRow<'a> for Row<'a> {
    fn i32(&self, column: usize) -> Option<i32> {
        i32::try_from(self.i64(column)?).ok()
    }

    fn i64(&self, column: usize) -> Option<i64> {
        let (of, bytes) = self.value(column)?;
        match (of.kind, of.is_unsigned) {
            (kind::TINY, false) => Some(i64::from(i8::from_le_bytes(bytes.try_into().ok()?))),
            (kind::TINY, true) => Some(i64::from(*bytes.first()?)),
            (kind::SHORT, false) => Some(i64::from(i16::from_le_bytes(bytes.try_into().ok()?))),
            (kind::SHORT | kind::YEAR, _) => Some(i64::from(u16::from_le_bytes(bytes.try_into().ok()?))),
            (kind::LONG | kind::INT24, false) => Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?))),
            (kind::LONG | kind::INT24, true) => Some(i64::from(u32::from_le_bytes(bytes.try_into().ok()?))),
            (kind::LONGLONG, false) => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
            (kind::LONGLONG, true) => i64::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok(),
            _ => None,
        }
    }

    fn text(&self, column: usize) -> Option<&'a str> {
        std::str::from_utf8(self.counted(column, |of| of.is_text() && !of.is_binary)?).ok()
    }

    fn after(&self, columns: usize) -> Self {
        let rest = self.columns.get(columns..).unwrap_or(&[]);
        let values = self.behind(columns).unwrap_or(&[]);
        Self { values, columns: rest, passed: self.passed + columns, ..*self }
    }

    fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        self.counted(column, |of| of.is_text() && of.is_binary)
    }

    fn numeric(&self, column: usize, scale: u8) -> Option<i64> {
        let text = self.counted(column, |of| matches!(of.kind, kind::NEWDECIMAL | kind::DECIMAL))?;
        let (sign, digits) = text.strip_prefix(b"-").map_or((1, text), |digits| (-1, digits));
        let (mut unscaled, mut places) = (0_i64, None);
        for byte in digits {
            match (byte, places) {
                (b'.', None) => places = Some(0),
                (b'0', Some(_)) if places == Some(scale) => {}
                (b'0'..=b'9', _) if places != Some(scale) => {
                    unscaled = unscaled.checked_mul(10)?.checked_add(i64::from(byte - b'0') * sign)?;
                    places = places.map(|places| places + 1);
                }
                _ => return None,
            }
        }
        let missing = u32::from(scale - places.unwrap_or(0));
        unscaled.checked_mul(10_i64.checked_pow(missing)?).filter(|_| !digits.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, is_unsigned: bool, is_binary: bool) -> Column {
        Column { kind, is_unsigned, is_binary }
    }

    #[test]
    fn getters_answer_none_for_null_for_other_types_and_past_the_end() {
        let columns = [
            column(kind::LONG, false, true),
            column(kind::VAR_STRING, false, false),
            column(kind::LONGLONG, true, true),
            column(kind::DATETIME, false, true),
            column(kind::NEWDECIMAL, false, true),
            column(kind::BLOB, false, true),
            column(kind::STRING, false, false),
        ];
        // The second is NULL.
        let mut body = vec![0b1000, 0];
        body.extend((-7_i32).to_le_bytes());
        body.extend(u64::MAX.to_le_bytes());
        body.extend([4, 1, 2, 3, 4]);
        body.extend(b"\x06-12.30");
        body.extend([2, 0xFF, 0x00]);
        body.extend(b"\x02ok");
        let row = Row::new(&body, &columns);
        assert_eq!((row.i32(0), row.text(0), row.i64(1), row.text(1)), (Some(-7), None, None, None));
        assert_eq!((row.i64(2), row.i64(3)), (None, None), "too large; no number");
        assert_eq!([0, 1, 2, 4].map(|scale| row.numeric(4, scale)), [None, Some(-123), Some(-1_230), Some(-123_000)]);
        assert_eq!((row.bytes(5), row.text(5), row.bytes(6)), (Some(&[0xFF, 0][..]), None, None));
        assert_eq!((row.text(6), row.text(7)), (Some("ok"), None));
        assert_eq!((row.is_text(6, "ok"), row.is_text(6, "OK"), row.is_text(5, "ok")), (Some(true), Some(false), None));
        let rest = row.after(1).after(3);
        assert_eq!((rest.numeric(0, 2), rest.text(2), rest.text(3)), (Some(-1_230), Some("ok"), None));
        assert_eq!((row.after(1).text(0), row.after(8).i32(0)), (None, None));
        for (text, scale, expected) in [
            ("0.5", 0, None),
            ("7.0", 0, Some(7)),
            ("7", 2, Some(700)),
            ("-0.01", 2, Some(-1)),
            ("-9223372036854775808", 0, Some(i64::MIN)),
            ("9223372036854775808", 0, None),
            ("1.2.3", 4, None),
            ("", 0, None),
            ("x", 0, None),
        ] {
            let body = [&[0, u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
            let columns = [column(kind::NEWDECIMAL, false, true)];
            assert_eq!(Row::new(&body, &columns).numeric(0, scale), expected, "{text}");
        }
        for cut in 0..body.len() {
            let cut = Row::new(&body[..cut], &columns);
            assert_eq!((cut.text(6), cut.numeric(0, 0)), (None, None));
        }
    }
}
