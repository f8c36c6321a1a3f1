//! What came back, read where it lies in the receive buffer.

use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::link::Answers;
use crate::target::quoted::{quoted, state};
use std::ops::Range;

/// No answer of a benchmark is larger: a greater length means that the stream is out of step. (A value has at most
/// 16 MiB; Redis itself allows strings of 512 MB.)
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// No array of a benchmark has more elements.
const MAX_ELEMENTS: usize = 1024 * 1024;
/// Everything but a string of bytes is a line: a status, an error or a number.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// Arrays in arrays in arrays: no command used here has more.
const MAX_DEPTH: usize = 8;

/// One value. An array is followed by its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Text(Range<usize>),
    Error(Range<usize>),
    Integer(i64),
    Nothing,
    Array(usize),
}

/// One value of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// A string of bytes, or a status (`OK`).
    Text(&'a [u8]),
    /// The server's refusal of one element of an array.
    Error(&'a [u8]),
    /// An integer.
    Integer(i64),
    /// There is none.
    Nothing,
    /// This many values follow.
    Array(usize),
}

/// The answers to the commands of one exchange.
#[derive(Debug, Default)]
pub struct Reply {
    inbox: Inbox,
    /// All values in order.
    items: Vec<Item>,
    /// Where each command's answer begins among them.
    begins: Vec<usize>,
    /// Of the arrays that have begun and are not whole, the outer ones first, how many elements are still to come: what
    /// was read of an answer is not read again when more of it comes.
    open: Vec<usize>,
    failed: Option<Range<usize>>,
}

impl Reply {
    /// The answer to the n-th command.
    #[must_use]
    pub fn answer(&self, command: usize) -> Option<Answer<'_>> {
        self.items.get(*self.begins.get(command)?).map(|item| self.read(item))
    }

    /// All values of the n-th command's answer, arrays before their elements.
    pub fn answers(&self, command: usize) -> impl Iterator<Item = Answer<'_>> {
        let end = self.begins.get(command + 1).copied().unwrap_or(self.items.len());
        let begin = self.begins.get(command).copied().unwrap_or(end);
        self.items[begin..end].iter().map(|item| self.read(item))
    }

    /// Adds an item to the answer that has begun, or begins the next one with it.
    fn accept(&mut self, item: Item) -> Result<(), TargetError> {
        match self.open.last_mut() {
            Some(left) => *left -= 1,
            None => {
                if let (Item::Error(range), None) = (&item, &self.failed) {
                    self.failed = Some(range.clone());
                }
                self.begins.push(self.items.len());
            }
        }
        if let Item::Array(length) = item {
            if self.open.len() == MAX_DEPTH {
                return Err(out_of_step("arrays nested too deeply"));
            }
            let elements = self.open.iter().fold(self.items.len() + length, |sum, left| sum + left);
            if elements > MAX_ELEMENTS {
                return Err(out_of_step("an answer of too many elements"));
            }
            self.open.push(length);
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        self.items.push(item);
        Ok(())
    }

    fn read(&self, item: &Item) -> Answer<'_> {
        match item {
            Item::Text(range) => Answer::Text(self.inbox.get(range)),
            Item::Error(range) => Answer::Error(self.inbox.get(range)),
            Item::Integer(number) => Answer::Integer(*number),
            Item::Nothing => Answer::Nothing,
            Item::Array(length) => Answer::Array(*length),
        }
    }
}

impl Answers for Reply {
    /// This many commands.
    type Due<'a> = usize;

    fn inbox(&mut self) -> &mut Inbox {
        &mut self.inbox
    }

    fn forget(&mut self) {
        self.items.clear();
        self.begins.clear();
        self.open.clear();
        self.failed = None;
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first refusal is the outcome of all commands.
    fn parse(&mut self, count: usize) -> Result<Option<Result<(), TargetError>>, TargetError> {
        while self.begins.len() < count || !self.open.is_empty() {
            let mut cursor = Cursor { bytes: self.inbox.unread(), at: 0 };
            let Some(mut item) = cursor.item()? else { return Ok(None) };
            let taken = cursor.at;
            let start = self.inbox.take(taken).start;
            if let Item::Text(range) | Item::Error(range) = &mut item {
                *range = range.start + start..range.end + start;
            }
            self.accept(item)?;
        }
        Ok(Some(self.failed.as_ref().map_or(Ok(()), |range| Err(refusal(self.inbox.get(range))))))
    }
}

/// An error's first word stands where others have a SQLSTATE.
fn refusal(text: &[u8]) -> TargetError {
    let word = text.iter().position(|&byte| byte == b' ').unwrap_or(text.len());
    TargetError::Database { sqlstate: state(&text[..word]), message: quoted(text.get(word + 1..).unwrap_or_default()) }
}

/// Reads values from bytes that may end anywhere.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// The next value, of an array only its length; `None` when it is not whole.
    fn item(&mut self) -> Result<Option<Item>, TargetError> {
        let Some(line) = self.line()? else { return Ok(None) };
        let kind = self.bytes[line.start];
        let rest = line.start + 1..line.end;
        Ok(Some(match kind {
            b'+' => Item::Text(rest),
            b'-' => Item::Error(rest),
            b':' => Item::Integer(self.number(&rest)?),
            b'$' => match self.length(&rest)? {
                None => Item::Nothing,
                Some(length) => {
                    let text = self.at..self.at + length;
                    if self.bytes.len() < text.end + 2 {
                        return Ok(None);
                    }
                    if self.bytes[text.end..text.end + 2] != *b"\r\n" {
                        return Err(out_of_step("an unterminated string"));
                    }
                    self.at = text.end + 2;
                    Item::Text(text)
                }
            },
            b'*' => self.length(&rest)?.map_or(Item::Nothing, Item::Array),
            _ => return Err(out_of_step("an unknown answer type")),
        }))
    }

    /// The next line without its end; at least its first byte is there.
    fn line(&mut self) -> Result<Option<Range<usize>>, TargetError> {
        let rest = &self.bytes[self.at..];
        let line = &rest[..rest.len().min(MAX_LINE_BYTES)];
        let Some(length) = line.iter().position(|&byte| byte == b'\r').filter(|&end| end > 0) else {
            return if line.len() == MAX_LINE_BYTES { Err(out_of_step("an endless line")) } else { Ok(None) };
        };
        if length + 1 == rest.len() {
            return Ok(None);
        }
        let line = self.at..self.at + length;
        self.at += length + 2;
        Ok(Some(line))
    }

    fn number(&self, digits: &Range<usize>) -> Result<i64, TargetError> {
        let digits = &self.bytes[digits.clone()];
        let (sign, digits) = digits.strip_prefix(b"-").map_or((1, digits), |digits| (-1, digits));
        let fold = |number: Option<i64>, byte: &u8| {
            let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
            number?.checked_mul(10)?.checked_add(sign * digit)
        };
        let number = if digits.is_empty() { None } else { digits.iter().fold(Some(0), fold) };
        number.ok_or_else(|| out_of_step("an invalid number"))
    }

    /// A length; `None` for -1.
    fn length(&self, digits: &Range<usize>) -> Result<Option<usize>, TargetError> {
        match self.number(digits)? {
            -1 => Ok(None),
            length => usize::try_from(length)
                .ok()
                .filter(|&length| length <= MAX_BYTES)
                .map(Some)
                .ok_or_else(|| out_of_step("an impossible length")),
        }
    }
}

fn out_of_step(what: &str) -> TargetError {
    TargetError::Protocol(format!("{what}: client and server are out of sync"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::socket::Socket;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const RECORDED: &[u8] = b"+OK\r\n:-42\r\n$5\r\na\r\nbc\r\n$-1\r\n*3\r\n$1\r\nx\r\n*1\r\n:7\r\n*-1\r\n$0\r\n\r\n";

    fn reply(chunks: &[&[u8]], count: usize) -> (Reply, Option<Result<(), TargetError>>) {
        let (mut server, client) = UnixStream::pair().unwrap();
        let mut socket = Socket::unix(client);
        socket.set_nonblocking().unwrap();
        let mut reply = Reply::default();
        let mut outcome = None;
        for chunk in chunks {
            assert!(outcome.is_none(), "over before all has come");
            server.write_all(chunk).unwrap();
            reply.inbox.try_fill(&mut socket).unwrap();
            outcome = reply.parse(count).unwrap();
        }
        (reply, outcome)
    }

    #[test]
    fn answers_cut_anywhere_are_the_same() {
        for cut in 1..RECORDED.len() {
            let (reply, outcome) = reply(&[&RECORDED[..cut], &RECORDED[cut..]], 6);
            assert_eq!(outcome, Some(Ok(())), "cut at {cut}");
            assert_eq!(reply.answer(0), Some(Answer::Text(b"OK")));
            assert_eq!(reply.answer(1), Some(Answer::Integer(-42)));
            assert_eq!(reply.answer(2), Some(Answer::Text(b"a\r\nbc")));
            assert_eq!(reply.answer(3), Some(Answer::Nothing));
            let array = [Answer::Array(3), Answer::Text(b"x"), Answer::Array(1), Answer::Integer(7), Answer::Nothing];
            assert_eq!(reply.answers(4).collect::<Vec<_>>(), array);
            assert_eq!((reply.answer(5), reply.answer(6)), (Some(Answer::Text(b"")), None));
        }
    }

    #[test]
    fn the_first_refusal_is_the_outcome_and_all_is_read() {
        let (mut reply, outcome) = reply(&[b"+OK\r\n-OOM command not allowed\r\n-ERR second\r\n:1\r\n"], 3);
        let refused = |word: &str, message: &str| TargetError::Database {
            sqlstate: word.to_owned(),
            message: message.to_owned(),
        };
        assert_eq!(outcome, Some(Err(refused("OOM", "command not allowed"))));
        reply.forget();
        assert_eq!(reply.parse(1).unwrap(), Some(Ok(())));
        assert_eq!(reply.answer(0), Some(Answer::Integer(1)));
    }

    #[test]
    fn nonsense_is_refused() {
        for nonsense in
            ["!x\r\n", ":x\r\n", ":\r\n", "$-2\r\n", "$999999999999\r\n", "$1\r\nabc", ":99999999999999999999\r\n"]
        {
            let mut cursor = Cursor { bytes: nonsense.as_bytes(), at: 0 };
            assert!(cursor.item().is_err(), "{nonsense:?}");
        }
    }

    #[test]
    fn an_answer_is_bounded_whatever_the_server_says_of_it() {
        let line = format!("+{}", "x".repeat(MAX_LINE_BYTES));
        let many = "*1000000\r\n".repeat(2);
        for endless in ["*536870912\r\n", &"*1\r\n".repeat(20), "$600000000\r\n", &line, &many] {
            let mut reply = Reply { inbox: Inbox::holding(endless.as_bytes()), ..Reply::default() };
            assert!(matches!(reply.parse(1), Err(TargetError::Protocol(_))), "{:?}", &endless[..20.min(endless.len())]);
        }
    }

    /// An array of many elements that comes a little at a time is gone through once.
    #[test]
    fn what_was_read_of_an_answer_is_not_read_again() {
        let (mut server, client) = UnixStream::pair().unwrap();
        let mut socket = Socket::unix(client);
        socket.set_nonblocking().unwrap();
        let mut reply = Reply::default();
        server.write_all(b"*3\r\n:1\r\n$2\r\nab\r\n$2\r\nc").unwrap();
        reply.inbox.try_fill(&mut socket).unwrap();
        assert_eq!(reply.parse(1).unwrap(), None);
        assert_eq!((reply.inbox.unread(), reply.open.as_slice()), (&b"$2\r\nc"[..], &[1][..]));
        server.write_all(b"d\r\n").unwrap();
        reply.inbox.try_fill(&mut socket).unwrap();
        assert_eq!(reply.parse(1).unwrap(), Some(Ok(())));
        let whole = [Answer::Array(3), Answer::Integer(1), Answer::Text(b"ab"), Answer::Text(b"cd")];
        assert_eq!(reply.answers(0).collect::<Vec<_>>(), whole);
    }
}
