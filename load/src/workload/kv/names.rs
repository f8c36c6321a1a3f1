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

/// What the bins of a record are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Held<'a> {
    /// The block of a row.
    Block(&'a [u8]),
    /// No block of bytes.
    NoBlock,
    /// Bins that no row has.
    OtherBins,
}

/// What they are.
pub(super) fn held_in<'a>(bins: &mut dyn Iterator<Item = Bin<'a>>) -> Held<'a> {
    let mut held = Held::NoBlock;
    for bin in bins {
        match (bin.name == BIN.as_bytes(), bin.kind == BLOB) {
            (true, true) => held = Held::Block(bin.value),
            (true, false) => {}
            (false, _) => return Held::OtherBins,
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: u8 = 3;

    #[test]
    fn a_second_bin_is_not_mistaken_for_a_damaged_row() {
        let bin = |name: &'static [u8], kind| Bin { name, kind, value: b"x" };
        let held = |bins: &[(&'static [u8], u8)]| held_in(&mut bins.iter().map(|&(name, kind)| bin(name, kind)));
        assert_eq!(held(&[(b"v", BLOB)]), Held::Block(b"x"));
        assert_eq!(held(&[(b"v", BLOB), (b"w", BLOB)]), Held::OtherBins);
        assert_eq!(held(&[(b"w", BLOB), (b"v", BLOB)]), Held::OtherBins);
        assert_eq!((held(&[]), held(&[(b"v", TEXT)])), (Held::NoBlock, Held::NoBlock));
    }
}
