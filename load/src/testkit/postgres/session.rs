//! One connection to the fake target: bytes in, bytes out. No socket and no clock.

use super::answers::{Answers, Effect, message};
use crate::workload::tpcc::input::UNUSED_ITEM;
use bytes::{Buf, BufMut, BytesMut};
use postgres_protocol::message::backend::{
    AUTHENTICATION_TAG, BACKEND_KEY_DATA_TAG, BIND_COMPLETE_TAG, CLOSE_COMPLETE_TAG, COMMAND_COMPLETE_TAG,
    EMPTY_QUERY_RESPONSE_TAG, ERROR_RESPONSE_TAG, PARAMETER_DESCRIPTION_TAG, PARAMETER_STATUS_TAG, PARSE_COMPLETE_TAG,
    READY_FOR_QUERY_TAG,
};
use std::collections::HashMap;

/// What the fake target calls its version, so that nobody takes its results for a database's.
const VERSION: &str = "fake-target";
const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// What all sessions have seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Round trips asked for: `Sync` and simple queries.
    pub batches: u64,
    /// Statements executed of them.
    pub executes: u64,
}

/// The client has ended the session, or sent something that cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// A session.
#[derive(Debug, Default)]
pub struct FakeSession {
    inbox: BytesMut,
    /// To be sent.
    pub outbox: BytesMut,
    logged_in: bool,
    /// Which answer each prepared statement gets.
    statements: HashMap<Vec<u8>, usize>,
    portal: Option<Portal>,
    in_transaction: bool,
    /// After an error everything up to `Sync` is skipped.
    failed: bool,
}

/// A statement with its parameters; of each, how many items of stock it names.
#[derive(Debug)]
struct Portal {
    answer: usize,
    items: Vec<usize>,
}

impl FakeSession {
    /// Takes what the client sent, and writes what there is to say to it.
    ///
    /// # Errors
    /// [`Closed`] when there is no more to say.
    pub fn take(&mut self, bytes: &[u8], answers: &Answers, counts: &mut Counts) -> Result<(), Closed> {
        self.inbox.extend_from_slice(bytes);
        while let Some(length) = self.message_length()? {
            let body = self.inbox.split_to(length);
            if self.logged_in {
                self.message(body[0], &body[5..], answers, counts)?;
            } else {
                self.log_in(&body[4..])?;
            }
        }
        Ok(())
    }

    /// Of the next message, if it is whole. Before the login messages have no tag.
    fn message_length(&self) -> Result<Option<usize>, Closed> {
        let tag = usize::from(self.logged_in);
        let Some(mut prefix) = self.inbox.get(tag..tag + 4) else { return Ok(None) };
        let length = prefix.get_u32() as usize + tag;
        if length < 4 + tag || length > MAX_BYTES {
            return Err(Closed);
        }
        Ok((self.inbox.len() >= length).then_some(length))
    }

    fn log_in(&mut self, mut body: &[u8]) -> Result<(), Closed> {
        if body.len() < 4 {
            return Err(Closed);
        }
        match body.get_u32() {
            CANCEL_REQUEST => return Err(Closed),
            SSL_REQUEST | GSSENC_REQUEST => {
                self.outbox.put_u8(b'N');
                return Ok(());
            }
            _ => self.logged_in = true,
        }
        message(AUTHENTICATION_TAG, &mut self.outbox, |out| out.put_i32(0));
        for (name, value) in [("server_version", VERSION), ("client_encoding", "UTF8")] {
            message(PARAMETER_STATUS_TAG, &mut self.outbox, |out| {
                put_text(name, out);
                put_text(value, out);
            });
        }
        message(BACKEND_KEY_DATA_TAG, &mut self.outbox, |out| out.put_u64(0));
        self.ready();
        Ok(())
    }

    fn message(&mut self, tag: u8, mut body: &[u8], answers: &Answers, counts: &mut Counts) -> Result<(), Closed> {
        match tag {
            b'S' => {
                counts.batches += 1;
                self.failed = false;
                self.ready();
            }
            b'X' => return Err(Closed),
            _ if self.failed => {}
            b'Q' => {
                counts.batches += 1;
                self.query(take_text(&mut body)?, answers, counts);
                self.failed = false;
                self.ready();
            }
            b'P' => {
                let name = take_text(&mut body)?.as_bytes().to_vec();
                self.parse(name, take_text(&mut body)?, answers);
            }
            b'D' => self.describe(body, answers)?,
            b'B' => self.bind(&mut body)?,
            b'E' => self.execute_portal(answers, counts),
            b'C' => message(CLOSE_COMPLETE_TAG, &mut self.outbox, |_| {}),
            b'H' => {}
            _ => self.fail("08P01", "the fake target knows no such message"),
        }
        Ok(())
    }

    fn parse(&mut self, name: Vec<u8>, sql: &str, answers: &Answers) {
        match answers.find(sql) {
            Some(answer) => {
                self.statements.insert(name, answer);
                message(PARSE_COMPLETE_TAG, &mut self.outbox, |_| {});
            }
            None => self.unknown(sql),
        }
    }

    fn describe(&mut self, body: &[u8], answers: &Answers) -> Result<(), Closed> {
        let (kind, mut name) = body.split_first().ok_or(Closed)?;
        let answer = match kind {
            b'S' => self.statements.get(take_text(&mut name)?.as_bytes()).copied(),
            _ => self.portal.as_ref().map(|portal| portal.answer),
        };
        let Some(answer) = answer else {
            self.fail("26000", "no such statement");
            return Ok(());
        };
        if *kind == b'S' {
            message(PARAMETER_DESCRIPTION_TAG, &mut self.outbox, |out| out.put_i16(0));
        }
        self.outbox.extend_from_slice(&answers.get(answer).description);
        Ok(())
    }

    fn bind(&mut self, body: &mut &[u8]) -> Result<(), Closed> {
        take_text(body)?;
        let Some(&answer) = self.statements.get(take_text(body)?.as_bytes()) else {
            self.fail("26000", "no such statement");
            return Ok(());
        };
        let formats = usize::from(take_u16(body)?);
        *body = body.get(2 * formats..).ok_or(Closed)?;
        let mut items = self.portal.take().map(|portal| portal.items).unwrap_or_default();
        items.clear();
        for _ in 0..take_u16(body)? {
            let length = body.split_first_chunk().map(|(length, _)| i32::from_be_bytes(*length)).ok_or(Closed)?;
            body.advance(4);
            let bytes = body.get(..usize::try_from(length).unwrap_or(0)).ok_or(Closed)?;
            items.push(items_that_exist(bytes));
            body.advance(bytes.len());
        }
        self.portal = Some(Portal { answer, items });
        message(BIND_COMPLETE_TAG, &mut self.outbox, |_| {});
        Ok(())
    }

    fn execute_portal(&mut self, answers: &Answers, counts: &mut Counts) {
        let Some(portal) = self.portal.take() else { return self.fail("34000", "no such portal") };
        self.execute(portal.answer, answers, |index| portal.items.get(index).copied().unwrap_or(0));
        counts.executes += 1;
        self.portal = Some(portal);
    }

    fn execute(&mut self, answer: usize, answers: &Answers, items: impl Fn(usize) -> usize) {
        let answer = answers.get(answer);
        let rows = answer.rows_for(items);
        rows.iter().for_each(|row| self.outbox.extend_from_slice(row));
        match answer.effect {
            Effect::None => {}
            Effect::Begins => self.in_transaction = true,
            Effect::Ends => self.in_transaction = false,
        }
        let count = (answer.tag == "SELECT").then_some(rows.len());
        message(COMMAND_COMPLETE_TAG, &mut self.outbox, |out| {
            out.put_slice(answer.tag.as_bytes());
            if let Some(count) = count {
                out.put_slice(format!(" {count}").as_bytes());
            }
            out.put_u8(0);
        });
    }

    /// The simple protocol: one statement.
    fn query(&mut self, sql: &str, answers: &Answers, counts: &mut Counts) {
        if sql.trim().is_empty() {
            return message(EMPTY_QUERY_RESPONSE_TAG, &mut self.outbox, |_| {});
        }
        let Some(answer) = answers.find(sql) else { return self.unknown(sql) };
        counts.executes += 1;
        if answers.get(answer).tag == "SELECT" {
            self.outbox.extend_from_slice(&answers.get(answer).description);
        }
        self.execute(answer, answers, |_| 0);
    }

    fn unknown(&mut self, sql: &str) {
        self.fail("0A000", &format!("the fake target has no answer to: {sql}"));
    }

    fn fail(&mut self, sqlstate: &str, text: &str) {
        self.failed = true;
        message(ERROR_RESPONSE_TAG, &mut self.outbox, |out| {
            for (field, value) in [(b'S', "ERROR"), (b'V', "ERROR"), (b'C', sqlstate), (b'M', text)] {
                out.put_u8(field);
                put_text(value, out);
            }
            out.put_u8(0);
        });
    }

    fn ready(&mut self) {
        let status = if self.in_transaction { b'T' } else { b'I' };
        message(READY_FOR_QUERY_TAG, &mut self.outbox, |out| out.put_u8(status));
    }
}

fn put_text(text: &str, out: &mut BytesMut) {
    out.put_slice(text.as_bytes());
    out.put_u8(0);
}

fn take_text<'a>(body: &mut &'a [u8]) -> Result<&'a str, Closed> {
    let end = body.iter().position(|&byte| byte == 0).ok_or(Closed)?;
    let text = std::str::from_utf8(&body[..end]).map_err(|_| Closed)?;
    *body = &body[end + 1..];
    Ok(text)
}

fn take_u16(body: &mut &[u8]) -> Result<u16, Closed> {
    let (number, rest) = body.split_first_chunk().ok_or(Closed)?;
    *body = rest;
    Ok(u16::from_be_bytes(*number))
}

/// How many elements of an int4[] are items of stock: all but the one that a New-Order is rolled back for. 0 for what
/// is no such array.
fn items_that_exist(bytes: &[u8]) -> usize {
    const HEADER_BYTES: usize = 20;
    const ELEMENT_BYTES: usize = 8;
    let elements = bytes.get(HEADER_BYTES..).unwrap_or_default().chunks_exact(ELEMENT_BYTES);
    elements.filter(|element| element[4..] != UNUSED_ITEM.to_be_bytes()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Value;
    use crate::target::postgres::value::encode_field;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::frontend;

    /// The tags of what a session answers, to bytes that come in pieces of `size`.
    fn tags(write: impl FnOnce(&mut BytesMut), size: usize) -> String {
        let (answers, mut session, mut counts) = (Answers::new(1), FakeSession::default(), Counts::default());
        let mut sent = BytesMut::new();
        frontend::startup_message([("user", "u")], &mut sent).unwrap();
        write(&mut sent);
        for piece in sent.chunks(size) {
            session.take(piece, &answers, &mut counts).unwrap();
        }
        let (mut tags, mut rest) = (String::new(), &session.outbox[..]);
        while let Some((tag, mut body)) = rest.split_first() {
            tags.push(char::from(*tag));
            rest = &rest[1 + body.get_u32() as usize..];
        }
        tags
    }

    fn call_new_order(items: i32, out: &mut BytesMut) {
        frontend::parse("s", "SELECT * FROM tpcc_new_order($1)", [], out).unwrap();
        let mut array: Vec<i32> = (1..=items).collect();
        array.push(UNUSED_ITEM);
        let mut values = [Value::I32(0); 10];
        values[8] = Value::I32Array(&array);
        let write = |value: Value<'_>, out: &mut BytesMut| {
            let mut field = BytesMut::new();
            encode_field(&value, &mut field);
            out.extend_from_slice(&field[4..]);
            Ok(IsNull::No)
        };
        frontend::bind("", "s", [1], values, write, [1], out).map_err(|_| "bind").unwrap();
        frontend::execute("", 0, out).unwrap();
        frontend::sync(out);
    }

    #[test]
    fn a_login_and_a_new_order_whose_lines_are_counted() {
        for size in [1, 7, 10_000] {
            assert_eq!(tags(|out| call_new_order(3, out), size), "RSSKZ12DDDCZ", "pieces of {size} bytes");
        }
    }

    #[test]
    fn an_unknown_statement_is_an_error_up_to_the_next_sync() {
        let unknown = |out: &mut BytesMut| {
            frontend::parse("s", "SELECT 17", [], out).unwrap();
            frontend::describe(b'S', "s", out).unwrap();
            frontend::sync(out);
            frontend::query("BEGIN", out).unwrap();
        };
        assert_eq!(tags(unknown, 10_000), "RSSKZEZCZ");
    }

    #[test]
    fn nonsense_ends_the_session() {
        let (answers, mut counts) = (Answers::new(1), Counts::default());
        assert_eq!(FakeSession::default().take(b"GET / HTTP/1.1\r\n\r\n", &answers, &mut counts), Err(Closed));
    }
}
