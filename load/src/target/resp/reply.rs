//! What came back, read where it lies in the receive buffer.

use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::link::Answers;
use std::ops::Range;

/// No answer of a benchmark is larger (Redis itself allows strings of 512 MB): a greater length means that the stream
/// is out of step.
const MAX_BYTES: usize = 512 * 1024 * 1024;
/// Arrays in arrays in arrays: no command used here has more.
const DEEPEST: u32 = 8;

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
        self.failed = None;
    }

    fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// The first refusal is the outcome of all commands.
    fn parse(&mut self, count: usize) -> Result<Option<Result<(), TargetError>>, TargetError> {
        while self.begins.len() < count {
            let kept = self.items.len();
            let mut cursor = Cursor { bytes: self.inbox.unread(), at: 0 };
            if !cursor.value(&mut self.items, 0)? {
                self.items.truncate(kept);
                return Ok(None);
            }
            let taken = cursor.at;
            let start = self.inbox.take(taken).start;
            for item in &mut self.items[kept..] {
                if let Item::Text(range) | Item::Error(range) = item {
                    *range = range.start + start..range.end + start;
                }
            }
            if let (Item::Error(range), None) = (&self.items[kept], &self.failed) {
                self.failed = Some(range.clone());
            }
            self.begins.push(kept);
        }
        Ok(Some(self.failed.as_ref().map_or(Ok(()), |range| Err(refusal(self.inbox.get(range))))))
    }
}

/// An error's first word stands where others have a SQLSTATE.
fn refusal(text: &[u8]) -> TargetError {
    let text = String::from_utf8_lossy(text);
    let (word, message) = text.split_once(' ').unwrap_or((&text, ""));
    TargetError::Database { sqlstate: word.to_owned(), message: message.to_owned() }
}

/// Reads values from bytes that may end anywhere.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Appends the next value with its elements; false when it is not whole.
    fn value(&mut self, items: &mut Vec<Item>, depth: u32) -> Result<bool, TargetError> {
        let Some(line) = self.line() else { return Ok(false) };
        let kind = self.bytes[line.start];
        let rest = line.start + 1..line.end;
        let item = match kind {
            b'+' => Item::Text(rest),
            b'-' => Item::Error(rest),
            b':' => Item::Integer(self.number(&rest)?),
            b'$' => match self.length(&rest)? {
                None => Item::Nothing,
                Some(length) => {
                    let text = self.at..self.at + length;
                    if self.bytes.len() < text.end + 2 {
                        return Ok(false);
                    }
                    if self.bytes[text.end..text.end + 2] != *b"\r\n" {
                        return Err(out_of_step("an unterminated string"));
                    }
                    self.at = text.end + 2;
                    Item::Text(text)
                }
            },
            b'*' => match self.length(&rest)? {
                None => Item::Nothing,
                Some(_) if depth == DEEPEST => return Err(out_of_step("arrays nested too deeply")),
                Some(length) => {
                    items.push(Item::Array(length));
                    for _ in 0..length {
                        if !self.value(items, depth + 1)? {
                            return Ok(false);
                        }
                    }
                    return Ok(true);
                }
            },
            _ => return Err(out_of_step("an unknown answer type")),
        };
        items.push(item);
        Ok(true)
    }

    /// The next line without its end; at least its first byte is there.
    fn line(&mut self) -> Option<Range<usize>> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\r').filter(|&end| end > 0 && end + 1 < rest.len())?;
        let line = self.at..self.at + length;
        self.at += length + 2;
        Some(line)
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
        let mut socket = Socket::Unix(client);
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
            let mut items = Vec::new();
            let mut cursor = Cursor { bytes: nonsense.as_bytes(), at: 0 };
            assert!(cursor.value(&mut items, 0).is_err(), "{nonsense:?}");
        }
        let deep = "*1\r\n".repeat(20);
        assert!(Cursor { bytes: deep.as_bytes(), at: 0 }.value(&mut Vec::new(), 0).is_err());
    }
}
