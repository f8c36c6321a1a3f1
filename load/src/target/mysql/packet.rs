//! Packets: a length of three bytes, a number, and a body.

use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::socket::Socket;
use std::ops::Range;

pub(super) const HEADER_BYTES: usize = 4;
/// A body of this length goes on in the next packet.
pub(super) const MAX_BODY_BYTES: usize = 0xFF_FFFF;

/// The first byte of an answer.
pub(super) const OK: u8 = 0x00;
pub(super) const MORE_DATA: u8 = 0x01;
pub(super) const LOCAL_INFILE: u8 = 0xFB;
/// The end of rows, and in a login the wish for another method.
pub(super) const END: u8 = 0xFE;
pub(super) const ERROR: u8 = 0xFF;

/// One packet: its number, and where its body lies in the inbox.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    pub(super) sequence: u8,
    pub(super) body: Range<usize>,
}

impl Inbox {
    /// Cuts the next packet off what has been read, if it is whole.
    ///
    /// # Errors
    /// [`TargetError::Protocol`] for a body that goes on in another packet: no answer of a benchmark has one.
    pub(in crate::target::mysql) fn cut_packet(&mut self) -> Result<Option<Packet>, TargetError> {
        let unread = self.unread();
        let Some(&[low, middle, high, sequence]) = unread.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
        if length == MAX_BODY_BYTES {
            return Err(TargetError::Protocol("a packet of 16 MiB: client and server are out of sync".to_owned()));
        }
        if unread.len() < HEADER_BYTES + length {
            return Ok(None);
        }
        let whole = self.take(HEADER_BYTES + length);
        Ok(Some(Packet { sequence, body: whole.start + HEADER_BYTES..whole.end }))
    }

    /// The next whole packet, reading from the socket when needed.
    ///
    /// # Errors
    /// As [`Inbox::cut_packet`] and the socket.
    pub(in crate::target::mysql) fn next_packet(&mut self, socket: &mut Socket) -> Result<Packet, TargetError> {
        loop {
            if let Some(packet) = self.cut_packet()? {
                return Ok(packet);
            }
            self.fill(socket)?;
        }
    }
}

/// Appends a packet that `body` writes, however long that is.
pub(super) fn write_packet(out: &mut Vec<u8>, sequence: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    body(out);
    close_packet(out, start, sequence);
}

/// Writes the header of a packet that began at `start`; a longer body becomes several packets.
pub(super) fn close_packet(out: &mut Vec<u8>, start: usize, sequence: u8) {
    let (mut start, mut sequence) = (start, sequence);
    while out.len() - start - HEADER_BYTES >= MAX_BODY_BYTES {
        out[start..start + HEADER_BYTES].copy_from_slice(&[0xFF, 0xFF, 0xFF, sequence]);
        start += HEADER_BYTES + MAX_BODY_BYTES;
        sequence = sequence.wrapping_add(1);
        out.splice(start..start, [0; HEADER_BYTES]);
    }
    let length = (out.len() - start - HEADER_BYTES) as u32;
    let [low, middle, high, _] = length.to_le_bytes();
    out[start..start + HEADER_BYTES].copy_from_slice(&[low, middle, high, sequence]);
}

/// Appends a number in the length that it needs.
pub(super) fn write_length(out: &mut Vec<u8>, number: usize) {
    match number {
        0..=250 => out.push(number as u8),
        251..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(number as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&(number as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&(number as u64).to_le_bytes());
        }
    }
}

/// Appends bytes behind their length.
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Reads a packet from its start. Every step answers `None` where the packet ends too soon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A number in the length that it needs; `None` for the mark of NULL, too.
    pub(super) fn length(&mut self) -> Option<u64> {
        let bytes = match self.u8()? {
            small @ 0..=250 => return Some(u64::from(small)),
            0xFC => self.take(2)?,
            0xFD => self.take(3)?,
            0xFE => self.take(8)?,
            _ => return None,
        };
        let mut number = [0; 8];
        number[..bytes.len()].copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    /// Bytes behind their length.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.length()?).ok()?;
        self.take(length)
    }

    /// Bytes up to a zero byte, which is skipped; all of them without one.
    pub(super) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let taken = &self.0[..end];
        self.0 = self.0.get(end + 1..).unwrap_or(&[]);
        taken
    }
}

/// What a packet says of the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) affected: u64,
    pub(super) in_transaction: bool,
    /// Another answer to the same command follows.
    pub(super) more: bool,
    pub(super) warnings: u16,
}

impl Done {
    const IN_TRANSACTION: u16 = 0x0001;
    const MORE_RESULTS: u16 = 0x0008;

    /// Reads the body of a packet that begins with [`OK`] or [`END`].
    ///
    /// # Errors
    /// [`TargetError::Protocol`] for one that is cut short.
    pub(super) fn read(body: &[u8]) -> Result<Self, TargetError> {
        let mut reader = Reader(body.get(1..).unwrap_or(&[]));
        let mut read = || {
            let affected = reader.length()?;
            let _last_insert_id = reader.length()?;
            let (status, warnings) = (reader.u16()?, reader.u16()?);
            Some(Self {
                affected,
                in_transaction: status & Self::IN_TRANSACTION != 0,
                more: status & Self::MORE_RESULTS != 0,
                warnings,
            })
        };
        read().ok_or_else(|| damaged("the end of an answer"))
    }
}

pub(super) fn damaged(what: &str) -> TargetError {
    TargetError::Protocol(format!("{what} is damaged: client and server are out of sync"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_length_that_they_need() {
        for number in [0, 250, 251, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, usize::MAX >> 1] {
            let mut out = Vec::new();
            write_length(&mut out, number);
            assert_eq!(Reader(&out).length(), Some(number as u64));
            assert!((0..out.len()).all(|cut| Reader(&out[..cut]).length().is_none()), "{number}");
        }
        assert_eq!(Reader(&[0xFB]).length(), None, "NULL is no number");
        assert_eq!(Reader(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).bytes(), None);
    }

    #[test]
    fn a_long_body_becomes_several_packets() {
        for (length, headers) in
            [(10, vec![10]), (MAX_BODY_BYTES, vec![MAX_BODY_BYTES, 0]), (MAX_BODY_BYTES + 3, vec![MAX_BODY_BYTES, 3])]
        {
            let mut out = vec![b'x'];
            write_packet(&mut out, 0, |out| out.resize(out.len() + length, 7));
            let mut rest = Reader(&out[1..]);
            for (sequence, expected) in headers.into_iter().enumerate() {
                let header = rest.u32().unwrap().to_le_bytes();
                assert_eq!(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize, expected);
                assert_eq!(usize::from(header[3]), sequence);
                assert!(rest.take(expected).unwrap().iter().all(|byte| *byte == 7));
            }
            assert!(rest.0.is_empty());
        }
    }
}
