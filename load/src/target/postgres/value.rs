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

const LENGTH_FITS: &str = "a value is shorter than 2 GiB";

/// Appends length and bytes of one value (length -1 for NULL).
///
/// # Panics
/// When a text is longer than 2 GiB, which the protocol cannot carry.
pub(crate) fn encode_field(value: &Value<'_>, out: &mut BytesMut) {
    match *value {
        Value::Null => out.put_slice(&[0xFF; 4]),
        Value::I32(number) => out.put_slice(&i32_field(number)),
        Value::I64(number) => out.put_slice(&i64_field(number)),
        Value::TimestampMicros(unix) => out.put_slice(&i64_field(unix - EPOCH_OFFSET_MICROS)),
        Value::Text(text) => encode_bytes(text.as_bytes(), out),
        Value::Bytes(bytes) => encode_bytes(bytes, out),
        Value::Numeric { unscaled, scale } => with_length(out, |out| numeric::encode(unscaled, scale, out)),
        Value::I32Array(numbers) => with_length(out, |out| {
            encode_array(INT4_OID, numbers.len(), out);
            let at = out.len();
            out.resize(at + numbers.len() * I32_FIELD_BYTES, 0);
            for (field, &number) in out[at..].chunks_exact_mut(I32_FIELD_BYTES).zip(numbers) {
                field.copy_from_slice(&i32_field(number));
            }
        }),
        Value::TextArray(texts) => with_length(out, |out| {
            encode_array(TEXT_OID, texts.len(), out);
            texts.iter().for_each(|text| encode_bytes(text.as_bytes(), out));
        }),
        Value::NumericArray { unscaled, scale } => with_length(out, |out| {
            encode_array(NUMERIC_OID, unscaled.len(), out);
            unscaled.iter().for_each(|&number| with_length(out, |out| numeric::encode(number, scale, out)));
        }),
    }
}

const I32_FIELD_BYTES: usize = 8;

/// Length and value in one piece: to append one is cheaper than to append two.
fn i32_field(number: i32) -> [u8; I32_FIELD_BYTES] {
    let mut field = [0, 0, 0, 4, 0, 0, 0, 0];
    field[4..].copy_from_slice(&number.to_be_bytes());
    field
}

fn i64_field(number: i64) -> [u8; 12] {
    let mut field = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    field[4..].copy_from_slice(&number.to_be_bytes());
    field
}

fn encode_bytes(bytes: &[u8], out: &mut BytesMut) {
    out.put_i32(i32::try_from(bytes.len()).expect(LENGTH_FITS));
    out.put_slice(bytes);
}

/// What precedes the elements of an array: one dimension, lower bound 1, no NULL; an empty array has no dimension.
fn encode_array(element_oid: u32, length: usize, out: &mut BytesMut) {
    out.put_i32(i32::from(length > 0));
    out.put_i32(0); // no NULL inside
    out.put_u32(element_oid);
    if length > 0 {
        out.put_i32(i32::try_from(length).expect("arrays have fewer than 2^31 elements"));
        out.put_i32(1);
    }
}

fn with_length(out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_i32(0);
    body(out);
    let length = i32::try_from(out.len() - at - 4).expect(LENGTH_FITS);
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
