//! Values as PostgreSQL's binary format wants them, for parameters and for COPY alike.

use super::numeric;
use crate::target::Value;
use bytes::{BufMut, BytesMut};

pub(crate) const BYTEA_OID: u32 = 17;
pub(crate) const INT8_OID: u32 = 20;
pub(crate) const INT2_OID: u32 = 21;
pub(crate) const INT4_OID: u32 = 23;
pub(crate) const TEXT_OID: u32 = 25;
pub(crate) const BPCHAR_OID: u32 = 1042;
pub(crate) const VARCHAR_OID: u32 = 1043;
pub(crate) const NUMERIC_OID: u32 = 1700;

/// PostgreSQL counts timestamps from 2000-01-01.
const EPOCH_OFFSET_MICROS: i64 = 946_684_800 * 1_000_000;

/// Appends length and bytes of one value (length -1 for NULL).
///
/// # Panics
/// When a text is longer than 2 GiB, which the protocol cannot carry.
pub(crate) fn encode_field(value: &Value<'_>, out: &mut BytesMut) {
    if matches!(value, Value::Null) {
        out.put_i32(-1);
        return;
    }
    with_length(out, |out| encode_body(value, out));
}

/// Appends the bytes of one value without its length; nothing for NULL.
pub(crate) fn encode_body(value: &Value<'_>, out: &mut BytesMut) {
    match *value {
        Value::Null => {}
        Value::I32(number) => out.put_i32(number),
        Value::I64(number) => out.put_i64(number),
        Value::Text(text) => out.put_slice(text.as_bytes()),
        Value::Bytes(bytes) => out.put_slice(bytes),
        Value::Numeric { unscaled, scale } => numeric::encode(unscaled, scale, out),
        Value::TimestampMicros(unix) => out.put_i64(unix - EPOCH_OFFSET_MICROS),
        Value::I32Array(numbers) => {
            encode_array(INT4_OID, numbers, out, |number, out| out.put_i32(*number));
        }
        Value::TextArray(texts) => {
            encode_array(TEXT_OID, texts, out, |text, out| out.put_slice(text.as_bytes()));
        }
        Value::NumericArray { unscaled, scale } => {
            encode_array(NUMERIC_OID, unscaled, out, |number, out| numeric::encode(*number, scale, out));
        }
    }
}

/// One dimension, lower bound 1, no NULL; an empty array has no dimension.
fn encode_array<T>(element_oid: u32, elements: &[T], out: &mut BytesMut, encode: impl Fn(&T, &mut BytesMut)) {
    out.put_i32(i32::from(!elements.is_empty()));
    out.put_i32(0); // no NULL inside
    out.put_u32(element_oid);
    if elements.is_empty() {
        return;
    }
    out.put_i32(i32::try_from(elements.len()).expect("arrays have fewer than 2^31 elements"));
    out.put_i32(1);
    for element in elements {
        with_length(out, |out| encode(element, out));
    }
}

fn with_length(out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_i32(0);
    body(out);
    let length = i32::try_from(out.len() - at - 4).expect("a value is shorter than 2 GiB");
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: Value<'_>) -> Vec<u8> {
        let mut out = BytesMut::new();
        encode_field(&value, &mut out);
        out.to_vec()
    }

    #[test]
    fn scalars() {
        assert_eq!(encoded(Value::Null), [0xFF; 4]);
        assert_eq!(encoded(Value::I32(-2)), [0, 0, 0, 4, 0xFF, 0xFF, 0xFF, 0xFE]);
        assert_eq!(encoded(Value::I64(1)), [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(encoded(Value::Text("é")), [0, 0, 0, 2, 0xC3, 0xA9]);
        assert_eq!(encoded(Value::Text("")), [0, 0, 0, 0]);
    }

    #[test]
    fn timestamps_count_from_2000() {
        assert_eq!(encoded(Value::TimestampMicros(EPOCH_OFFSET_MICROS)), encoded(Value::I64(0)));
        assert_eq!(encoded(Value::TimestampMicros(EPOCH_OFFSET_MICROS - 1)), encoded(Value::I64(-1)));
    }

    #[test]
    fn arrays() {
        assert_eq!(encoded(Value::I32Array(&[])), [0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 23]);
        let mut expected = vec![0, 0, 0, 36, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1];
        expected.extend([0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 8]);
        assert_eq!(encoded(Value::I32Array(&[7, 8])), expected);
        let texts = encoded(Value::TextArray(&["a", ""]));
        assert_eq!(&texts[24..], [0, 0, 0, 1, b'a', 0, 0, 0, 0]);
    }
}
