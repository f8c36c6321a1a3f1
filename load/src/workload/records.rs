//! Data sets on key-value targets: one command writes one row under a name.

use super::Dataset;
use crate::target::aerospike::{Bin, Messages};
use crate::target::resp::Commands;

/// What [`Records::measure_bins`] measures of a record that has a bin which no load and no operation writes.
pub const OTHER_BINS: u64 = u64::MAX;
/// `user` and 20 digits.
const MAX_BYTES: usize = 24;

/// The name of a row, held without another allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl Name {
    /// Of these ASCII characters.
    ///
    /// # Panics
    /// With more than 24.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let mut bytes = [0; MAX_BYTES];
        bytes[..text.len()].copy_from_slice(text);
        Self { bytes, length: text.len() }
    }

    /// A prefix of at most four characters, and a number behind it.
    #[must_use]
    pub fn numbered(prefix: &[u8; 4], number: u64) -> Self {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut name = Self::of(prefix);
        name.length += digits;
        let mut rest = number;
        for byte in name.bytes[prefix.len()..name.length].iter_mut().rev() {
            *byte = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        name
    }

    /// As it is sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The same as a text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.bytes()).expect("names are ASCII")
    }
}

/// The rows of a data set as a target of keys and values holds them: functions of (seed, number).
pub trait Records: Dataset {
    /// What people call all of them.
    fn table(&self) -> &'static str;
    /// How many there are, numbered from 0.
    fn rows(&self) -> u64;
    /// The name of one.
    fn name(&self, number: u64) -> Name;
    /// On RESP, appends the one command that writes it; the bytes of its values.
    fn store(&self, number: u64, commands: &mut Commands) -> u64;
    /// On RESP, appends the one command that tells how much of it is there.
    fn measure(&self, number: u64, commands: &mut Commands);
    /// On Aerospike, appends the one message that writes it; the bytes of its values.
    fn put(&self, number: u64, messages: &mut Messages) -> u64;
    /// On Aerospike, how much of it is there, in the bins of a record; [`OTHER_BINS`] when it has others as well.
    fn measure_bins(&self, bins: &mut dyn Iterator<Item = Bin<'_>>) -> u64;
    /// Whether that much is a whole row; nothing there is 0.
    fn is_whole(&self, measured: u64) -> bool;
    /// What [`Records::is_whole`] asks, in words, and what is measured.
    fn whole(&self) -> [&'static str; 2];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_their_number_in_full() {
        for (number, expected) in [(0, "user0"), (9, "user9"), (10, "user10"), (u64::MAX, "user18446744073709551615")] {
            let name = Name::numbered(b"user", number);
            assert_eq!((name.text(), name.bytes()), (expected, expected.as_bytes()));
        }
        assert_eq!(Name::of(b"kv:ff").text(), "kv:ff");
    }
}
