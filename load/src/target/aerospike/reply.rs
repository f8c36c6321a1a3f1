//! What came back, read where it lies in the receive buffer.

use super::result::{EXISTS, FOUND, NOT_FOUND, meaning, name_of};
use super::{HEADER_BYTES, INFO, MAX_INFO_BYTES, MAX_MESSAGE_BYTES, MESSAGE_BYTES, VERSION};
use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::link::Answers;
use crate::words::counted;
use std::ops::Range;

/// The type of values that are bytes.
pub const BLOB: u8 = 4;
/// Of an operation behind its length: what it does, the value's type, a byte of flags, the length of the name.
const OPERATION_BYTES: usize = 4;

/// The answer to one message.
#[derive(Debug, Clone)]
struct Answer {
    result: u8,
    /// Of the operations, or of the text.
    body: Range<usize>,
    operations: u16,
}

/// A part of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The number of its value's type, for example [`BLOB`].
    pub kind: u8,
    /// Its value, as that type is written.
    pub value: &'a [u8],
}

/// The answers to the messages of one exchange.
#[derive(Debug, Default)]
pub struct Reply {
    inbox: Inbox,
    answers: Vec<Answer>,
    failed: Option<u8>,
}

impl Reply {
    /// What was said to the n-th message: [`FOUND`], [`NOT_FOUND`], or that there is such a record already.
    #[must_use]
    pub fn result(&self, message: usize) -> Option<u8> {
        self.answers.get(message).map(|answer| answer.result)
    }

    /// The bins that answer the n-th message; none when there is no such record.
    pub fn bins(&self, message: usize) -> impl Iterator<Item = Bin<'_>> {
        let answer = self.answers.get(message);
        let (body, operations) = answer.map_or((&[][..], 0), |it| (self.inbox.get(&it.body), it.operations));
        let mut cursor = Cursor { bytes: body };
        // It was gone through before.
        (0..operations).map_while(move |_| cursor.bin().ok())
    }

    /// The text that answers the n-th message, a question to a node.
    #[must_use]
    pub fn text(&self, message: usize) -> &[u8] {
        self.answers.get(message).map_or(&[], |answer| self.inbox.get(&answer.body))
    }
}

impl Answers for Reply {
    /// This many messages of this type.
    type Due<'a> = (usize, u8);

    fn inbox(&mut self) -> &mut Inbox {
        &mut self.inbox
    }

    fn forget(&mut self) {
        self.answers.clear();
        self.failed = None;
    }

    fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The first refusal is the outcome of all messages.
    fn parse(&mut self, (count, kind): (usize, u8)) -> Result<Option<Result<(), TargetError>>, TargetError> {
        while self.answers.len() < count {
            let unread = self.inbox.unread();
            let Some(length) = body_length(unread, kind)? else { return Ok(None) };
            let Some(body) = unread.get(HEADER_BYTES..HEADER_BYTES + length) else { return Ok(None) };
            let mut answer = if kind == INFO {
                Answer { result: FOUND, body: 0..length, operations: 0 }
            } else {
                read_record(body)?
            };
            let start = self.inbox.take(HEADER_BYTES + length).start + HEADER_BYTES;
            answer.body = answer.body.start + start..answer.body.end + start;
            if !matches!(answer.result, FOUND | NOT_FOUND | EXISTS) {
                self.failed.get_or_insert(answer.result);
            }
            self.answers.push(answer);
        }
        Ok(Some(self.failed.map_or(Ok(()), |result| Err(refusal(result)))))
    }
}

/// A result's word stands where others have a SQLSTATE.
fn refusal(result: u8) -> TargetError {
    TargetError::Database { sqlstate: name_of(result), message: meaning(result).to_owned() }
}

/// How long the body of the next message is; `None` when its header is not whole.
fn body_length(bytes: &[u8], kind: u8) -> Result<Option<usize>, TargetError> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let [version, found, ..] = *header;
    if version != VERSION {
        return Err(out_of_step(&format!("a message of version {version}")));
    }
    if found != kind {
        return Err(out_of_step(&format!("a message of type {found} instead of {kind}")));
    }
    let length = u64::from_be_bytes(*header) & 0xFFFF_FFFF_FFFF;
    if length > if kind == INFO { MAX_INFO_BYTES } else { MAX_MESSAGE_BYTES } {
        return Err(out_of_step("an impossible length"));
    }
    Ok(Some(length as usize))
}

/// A message about a record, with all of its fields and operations gone through.
fn read_record(body: &[u8]) -> Result<Answer, TargetError> {
    let Some((head, rest)) = body.split_first_chunk::<MESSAGE_BYTES>() else {
        return Err(out_of_step("a message that is shorter than its header"));
    };
    if usize::from(head[0]) != MESSAGE_BYTES {
        return Err(out_of_step(&format!("a header of {}", counted(u64::from(head[0]), "byte"))));
    }
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (result, fields, operations) = (head[5], number(18), number(20));
    let mut cursor = Cursor { bytes: rest };
    for _ in 0..fields {
        cursor.part()?;
    }
    let start = body.len() - cursor.bytes.len();
    for _ in 0..operations {
        cursor.bin()?;
    }
    Ok(Answer { result, body: start..body.len() - cursor.bytes.len(), operations })
}

/// Reads parts from the bytes of a message.
struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// The next part behind its length.
    fn part(&mut self) -> Result<&'a [u8], TargetError> {
        let split = self.bytes.split_first_chunk::<4>();
        let split = split.and_then(|(length, rest)| rest.split_at_checked(u32::from_be_bytes(*length) as usize));
        let (part, rest) = split.ok_or_else(|| out_of_step("a field that extends beyond its message"))?;
        self.bytes = rest;
        Ok(part)
    }

    fn bin(&mut self) -> Result<Bin<'a>, TargetError> {
        let read = |part: &'a [u8]| {
            let (head, rest) = part.split_first_chunk::<OPERATION_BYTES>()?;
            let (name, value) = rest.split_at_checked(usize::from(head[3]))?;
            Some(Bin { name, kind: head[1], value })
        };
        read(self.part()?).ok_or_else(|| out_of_step("a bin that extends beyond its operation"))
    }
}

fn out_of_step(what: &str) -> TargetError {
    TargetError::Protocol(format!("{what}: client and server are out of sync"))
}

#[cfg(test)]
mod tests {
    use super::super::{MESSAGE, STRING};
    use super::*;
    use crate::target::socket::Socket;
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// As a server answers a read of two bins, with a field that nobody asked for.
    fn found() -> Vec<u8> {
        let field = [&[0, 0, 0, 4, 1][..], b"set"].concat();
        let bins =
            [&[0, 0, 0, 8, 1, 4, 0, 1][..], b"v", &[0, 255, 7], &[0, 0, 0, 8, 1, 3, 0, 2], b"fo", b"xy"].concat();
        answer(0, 1, 2, &[field, bins].concat())
    }

    fn answer(result: u8, fields: u8, operations: u8, rest: &[u8]) -> Vec<u8> {
        let length = (22 + rest.len()) as u8;
        let message = [22, 0, 0, 0, 0, result, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, fields, 0, operations];
        [&[2, 3, 0, 0, 0, 0, 0, length][..], &message, rest].concat()
    }

    fn parse(
        chunks: &[&[u8]],
        count: usize,
        kind: u8,
    ) -> (Reply, Result<Option<Result<(), TargetError>>, TargetError>) {
        let (mut server, client) = UnixStream::pair().unwrap();
        let mut socket = Socket::unix(client);
        socket.set_nonblocking().unwrap();
        let mut reply = Reply::default();
        let mut outcome = Ok(None);
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            server.write_all(chunk).unwrap();
            reply.inbox.try_fill(&mut socket).unwrap();
            outcome = reply.parse((count, kind));
        }
        (reply, outcome)
    }

    #[test]
    fn answers_cut_anywhere_are_the_same() {
        let bytes = [found(), answer(2, 0, 0, b"")].concat();
        for cut in 0..bytes.len() {
            let (reply, outcome) = parse(&[&bytes[..cut], &bytes[cut..]], 2, MESSAGE);
            assert_eq!(outcome, Ok(Some(Ok(()))), "cut at {cut}");
            let bins: Vec<Bin<'_>> = reply.bins(0).collect();
            let expected =
                [Bin { name: b"v", kind: BLOB, value: &[0, 255, 7] }, Bin { name: b"fo", kind: STRING, value: b"xy" }];
            assert_eq!(bins, expected);
            assert_eq!((reply.result(0), reply.result(1), reply.result(2)), (Some(FOUND), Some(NOT_FOUND), None));
            assert_eq!(reply.bins(1).count() + reply.bins(2).count(), 0);
        }
        let text = b"\x02\x01\x00\x00\x00\x00\x00\x05abc\td";
        let (reply, outcome) = parse(&[text], 1, INFO);
        assert_eq!((outcome, reply.text(0)), (Ok(Some(Ok(()))), &b"abc\td"[..]));
    }

    #[test]
    fn the_first_refusal_is_the_outcome_and_has_its_word() {
        let bytes = [answer(18, 0, 0, b""), answer(14, 0, 0, b""), found()].concat();
        let (reply, outcome) = parse(&[&bytes], 3, MESSAGE);
        let Ok(Some(Err(TargetError::Database { sqlstate, message }))) = outcome else { panic!("{outcome:?}") };
        assert_eq!(sqlstate, "DEVICE_OVERLOAD");
        assert!(message.contains("write queue"), "{message}");
        assert_eq!(reply.bins(2).count(), 2);
    }

    #[test]
    fn nonsense_is_refused_by_its_name() {
        let whole = found();
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            bytes
        };
        for (bytes, expected) in [
            (with(0, 1), "version 1"),
            (with(1, 4), "type 4"),
            (with(2, 1), "impossible length"),
            (with(7, 21), "shorter than its header"),
            (with(8, 21), "header of 21 bytes"),
            (with(27, 9), "extends beyond its message"),
            (with(29, 3), "extends beyond its message"),
            (with(45, 9), "bin that extends beyond its operation"),
        ] {
            let (_, outcome) = parse(&[&bytes], 1, MESSAGE);
            let Err(TargetError::Protocol(message)) = outcome else { panic!("{expected}: {outcome:?}") };
            assert!(message.contains(expected), "{expected}: {message}");
        }
    }

    /// Nothing that a server may send makes it panic, or answer with more than was sent.
    #[test]
    fn damaged_answers_never_panic() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let whole = [found(), found(), answer(9, 0, 0, b"")].concat();
        for _ in 0..5_000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.next_u32() % 4 {
                let at = random.next_u32() as usize % bytes.len();
                bytes[at] = random.next_u32() as u8;
            }
            bytes.truncate(random.next_u32() as usize % (bytes.len() + 1));
            let kind = if random.next_u32() % 8 == 0 { INFO } else { MESSAGE };
            let (reply, _) = parse(&[&bytes], 3, kind);
            let read: usize = (0..3).flat_map(|message| reply.bins(message)).map(|bin| bin.value.len()).sum();
            assert!(read <= bytes.len());
        }
    }
}
