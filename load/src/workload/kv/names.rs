//! What rows are called on targets without tables, and where a record keeps its block.

use crate::target::aerospike::{BLOB, Bin};

/// The bin that holds a row's block of bytes.
pub const BIN: &str = "v";
/// The key under which a load notes what it loaded.
pub const MARKER: &[u8] = b"nephoscope-kv";
const PREFIX: &[u8; 3] = b"kv:";
const KEY_BYTES: usize = PREFIX.len() + 16;

/// The name of a key: 16 hexadecimal digits behind `kv:`.
#[must_use]
pub fn write_key(key: i64) -> [u8; KEY_BYTES] {
    let mut name = [0; KEY_BYTES];
    name[..PREFIX.len()].copy_from_slice(PREFIX);
    let mut rest = key as u64;
    for digit in name[PREFIX.len()..].iter_mut().rev() {
        *digit = b"0123456789abcdef"[(rest & 15) as usize];
        rest >>= 4;
    }
    name
}

/// The block of a row, when it is one.
pub(super) fn block_of<'a>(bins: &mut dyn Iterator<Item = Bin<'a>>) -> Option<&'a [u8]> {
    let bin = bins.next().filter(|bin| bin.name == BIN.as_bytes() && bin.kind == BLOB)?;
    bins.next().is_none().then_some(bin.value)
}
