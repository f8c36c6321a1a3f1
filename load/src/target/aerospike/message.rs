//! What is sent: messages about records, or questions to a node.

use super::place::Set;
use super::reply::BLOB;
use super::{HEADER_BYTES, INFO, MESSAGE, MESSAGE_BYTES, VERSION};
use crate::target::Request;
use std::sync::Arc;

/// Bits that say what a message wants, in its first three bytes of them.
const READ: u8 = 1 << 0;
const ALL_BINS: u8 = 1 << 1;
const WRITE: u8 = 1 << 0;
const CREATE_ONLY: u8 = 1 << 5;
const UPDATE_ONLY: u8 = 1 << 3;
const CREATE_OR_REPLACE: u8 = 1 << 4;
const REPLACE_ONLY: u8 = 1 << 5;
const WRITE_OPERATION: u8 = 2;
/// No record is to expire while it is measured. Servers take this wherever a time to live is forbidden, too.
const NEVER_EXPIRES: u32 = u32::MAX;

/// What a write does about the record that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// It is replaced as a whole, unread, or made.
    Replace,
    /// It must be there; its other bins stay, so the server reads it from its device first.
    Update,
    /// It must be there, and is replaced as a whole, unread.
    ReplaceExisting,
    /// It must not be there.
    Create,
}

/// Messages in order, all of one type, each answered once. Reused, so that warm ones allocate nothing.
#[derive(Debug)]
pub struct Messages {
    set: Arc<Set>,
    bytes: Vec<u8>,
    count: usize,
    kind: u8,
}

impl Messages {
    /// None yet, about records of a set.
    #[must_use]
    pub fn new(set: Arc<Set>) -> Self {
        Self { set, bytes: Vec::new(), count: 0, kind: MESSAGE }
    }

    /// Appends a message that reads all bins of a record.
    pub fn read(&mut self, key: &[u8]) -> &mut Self {
        self.record(key, [READ | ALL_BINS, 0, 0], 0, 0, |_| ())
    }

    /// Appends a message that writes bins of a record: names and values, all of them bytes. Every copy of it is written
    /// before the answer (commit level all, the default).
    pub fn write<'n, 'v>(
        &mut self,
        how: Write,
        key: &[u8],
        bins: impl ExactSizeIterator<Item = (&'n str, &'v [u8])>,
    ) -> &mut Self {
        let wants = match how {
            Write::Replace => [0, WRITE, CREATE_OR_REPLACE],
            Write::Update => [0, WRITE, UPDATE_ONLY],
            Write::ReplaceExisting => [0, WRITE, REPLACE_ONLY],
            Write::Create => [0, WRITE | CREATE_ONLY, 0],
        };
        let count = bins.len() as u16;
        self.record(key, wants, NEVER_EXPIRES, count, |bytes| {
            bins.for_each(|(name, value)| write_bin(bytes, name, value))
        })
    }

    /// Appends a question to a node about these.
    pub fn info(&mut self, names: &[&str]) -> &mut Self {
        self.kind = INFO;
        self.count += 1;
        write_message(&mut self.bytes, INFO, |bytes| write_names(bytes, names));
        self
    }

    /// How many answers will come, and the type of all of them.
    pub(super) fn due(&self) -> (usize, u8) {
        (self.count, self.kind)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn record(
        &mut self,
        key: &[u8],
        wants: [u8; 3],
        ttl_s: u32,
        operations: u16,
        write_operations: impl FnOnce(&mut Vec<u8>),
    ) -> &mut Self {
        self.kind = MESSAGE;
        self.count += 1;
        let Self { set, bytes, .. } = self;
        write_message(bytes, MESSAGE, |bytes| {
            bytes.push(MESSAGE_BYTES as u8);
            bytes.extend_from_slice(&wants);
            bytes.extend_from_slice(&[0, 0]); // more bits, and the result of an answer
            bytes.extend_from_slice(&0_u32.to_be_bytes()); // no generation is asked for
            bytes.extend_from_slice(&ttl_s.to_be_bytes());
            bytes.extend_from_slice(&0_u32.to_be_bytes()); // the server's own patience: transaction-max-ms
            bytes.extend_from_slice(&Set::FIELDS.to_be_bytes());
            bytes.extend_from_slice(&operations.to_be_bytes());
            set.write_fields(bytes, &set.digest(key));
            write_operations(bytes);
        });
        self
    }
}

/// A question to a node, alone.
pub(super) fn question(names: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_message(&mut bytes, INFO, |bytes| write_names(bytes, names));
    bytes
}

/// Header and body; the header holds the body's length.
fn write_message(bytes: &mut Vec<u8>, kind: u8, write_body: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; HEADER_BYTES]);
    write_body(bytes);
    let length = (bytes.len() - start - HEADER_BYTES) as u64;
    let header = u64::from(VERSION) << 56 | u64::from(kind) << 48 | length;
    bytes[start..start + HEADER_BYTES].copy_from_slice(&header.to_be_bytes());
}

fn write_names(bytes: &mut Vec<u8>, names: &[&str]) {
    for name in names {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b'\n');
    }
}

/// An operation: its length, what it does, the value's type, the name, the value.
fn write_bin(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    bytes.extend_from_slice(&((4 + name.len() + value.len()) as u32).to_be_bytes());
    bytes.extend_from_slice(&[WRITE_OPERATION, BLOB, 0, name.len() as u8]);
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(value);
}

impl Request for Messages {
    fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Messages {
        Messages::new(Arc::new(Set::new("test", "set").unwrap()))
    }

    /// The digest of the key `s` in the set `set`, as the tests of the official clients have it.
    const DIGEST: [u8; 20] = [
        0x60, 0x7c, 0xdd, 0xba, 0x7c, 0xd1, 0x11, 0x74, 0x5e, 0xf0, 0xa3, 0xd7, 0x83, 0xd5, 0x7f, 0x0e, 0x83, 0xc8,
        0xf3, 0x11,
    ];

    fn fields() -> Vec<u8> {
        [&[0, 0, 0, 5, 0][..], b"test", &[0, 0, 0, 4, 1], b"set", &[0, 0, 0, 21, 4], &DIGEST].concat()
    }

    /// Byte for byte by `proto.h` of the server: what clients send for a read of all bins.
    #[test]
    fn a_read_is_laid_out_as_the_protocol_says() {
        let mut messages = messages();
        messages.read(b"s");
        let length = 22 + 9 + 8 + 25;
        let header = [2, 3, 0, 0, 0, 0, 0, length];
        let message = [22, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0];
        assert_eq!(messages.bytes(), [&header[..], &message, &fields()].concat());
    }

    #[test]
    fn a_write_names_its_bins_and_how_it_treats_what_is_there() {
        for (how, info2, info3) in
            [(Write::Replace, 1, 16), (Write::Update, 1, 8), (Write::ReplaceExisting, 1, 32), (Write::Create, 33, 0)]
        {
            let mut messages = messages();
            messages.write(how, b"s", [("v", &b"\x00\xff\x07"[..]), ("field0", b"")].into_iter());
            let length = 22 + 9 + 8 + 25 + 12 + 14;
            let header = [2, 3, 0, 0, 0, 0, 0, length];
            let message = [22, 0, info2, info3, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 3, 0, 2];
            let first = [&[0, 0, 0, 8, 2, 4, 0, 1][..], b"v", &[0, 255, 7]].concat();
            let second = [&[0, 0, 0, 10, 2, 4, 0, 6][..], b"field0"].concat();
            assert_eq!(messages.bytes(), [&header[..], &message, &fields(), &first, &second].concat(), "{how:?}");
        }
    }

    #[test]
    fn a_question_is_a_line_each_and_messages_stand_behind_each_other() {
        let mut messages = messages();
        messages.info(&["node", "sets/test/kv"]);
        assert_eq!(messages.bytes(), b"\x02\x01\x00\x00\x00\x00\x00\x12node\nsets/test/kv\n");
        messages.clear();
        messages.read(b"s").read(b"s");
        assert_eq!((messages.due(), messages.bytes().len()), ((2, MESSAGE), 2 * 72));
    }
}
