//! What is sent in one round trip.

use super::marks::{Mark, marked};
use super::packet::{HEADER_BYTES, close_packet, write_packet};
use super::value::{type_of, write_parameter};
use crate::target::{Request, SqlBatch, StatementId, Value};

const PING: u8 = 0x0E;
pub(super) const QUERY: u8 = 0x03;
pub(super) const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// One command of a batch, in the order in which the server will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::target) enum Command {
    Begin,
    Commit,
    Rollback,
    Ping,
    Execute(StatementId),
}

/// What a session knows of a statement that it has prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The server's number for it.
    pub(super) number: u32,
    /// The types under which its values were sent last: the server remembers them.
    pub(super) types: Vec<u8>,
    pub(super) parameters: u16,
    /// What is sent for each of them; empty where it is each value, in order.
    pub(super) marks: Vec<Mark>,
}

/// Commands in order. Reused, so that a warm batch allocates nothing.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    commands: Vec<Command>,
    /// The session's, while the batch is filled.
    statements: Vec<Prepared>,
}

impl Batch {
    /// Appends a question that needs no work.
    pub fn ping(&mut self) {
        write_packet(&mut self.bytes, 0, |out| out.push(PING));
        self.commands.push(Command::Ping);
    }

    /// An empty batch of a session that has prepared a statement without parameters.
    #[cfg(feature = "testkit")]
    pub(in crate::target) fn of_one_statement() -> Self {
        Self { statements: vec![Prepared::default()], ..Self::default() }
    }

    fn text(&mut self, command: Command, sql: &str) {
        write_packet(&mut self.bytes, 0, |out| {
            out.push(QUERY);
            out.extend_from_slice(sql.as_bytes());
        });
        self.commands.push(command);
    }

    pub(in crate::target) fn commands(&self) -> &[Command] {
        &self.commands
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives the batch a session's statements and the bytes that it has still to send, or takes them back.
    pub(super) fn swap(&mut self, statements: &mut Vec<Prepared>, outbox: &mut Vec<u8>) {
        std::mem::swap(&mut self.statements, statements);
        std::mem::swap(&mut self.bytes, outbox);
    }

    /// Whether the answer means that something was committed; `open`: a transaction is open before the batch.
    pub(super) fn commits(&self, mut open: bool) -> bool {
        for command in &self.commands {
            match command {
                Command::Begin => open = true,
                Command::Rollback => open = false,
                Command::Ping => {}
                Command::Execute(_) if open => {}
                Command::Commit | Command::Execute(_) => return true,
            }
        }
        false
    }
}

impl SqlBatch for Batch {
    /// # Panics
    /// Where the statement has another number of parameters, or was not prepared: the workload is wrong.
    fn execute_each<'a>(&mut self, statement: StatementId, values: impl IntoIterator<Item = Value<'a>>) {
        let Self { bytes, statements, .. } = self;
        let prepared = &mut statements[usize::from(statement.0)];
        let start = bytes.len();
        bytes.extend_from_slice(&[0; HEADER_BYTES]);
        bytes.push(EXECUTE);
        bytes.extend_from_slice(&prepared.number.to_le_bytes());
        bytes.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor; once
        let parameters = usize::from(prepared.parameters);
        if !prepared.marks.is_empty() {
            let marks = std::mem::take(&mut prepared.marks);
            write_values(bytes, prepared, marked(&marks, values.into_iter()));
            prepared.marks = marks;
        } else if parameters > 0 {
            write_values(bytes, prepared, values.into_iter());
        }
        close_packet(bytes, start, 0);
        self.commands.push(Command::Execute(statement));
    }

    fn begin(&mut self) {
        self.text(Command::Begin, "BEGIN");
    }

    fn commit(&mut self) {
        self.text(Command::Commit, "COMMIT");
    }

    fn rollback(&mut self) {
        self.text(Command::Rollback, "ROLLBACK");
    }
}

/// Which values are NULL, their types if they are others than last time, and the values.
fn write_values<'a>(bytes: &mut Vec<u8>, prepared: &mut Prepared, values: impl Iterator<Item = Value<'a>>) {
    let parameters = usize::from(prepared.parameters);
    let nulls_at = bytes.len();
    let types_at = nulls_at + parameters.div_ceil(8) + 1;
    bytes.resize(types_at, 0);
    let mut has_other_types = false;
    let mut count = 0;
    for value in values {
        match type_of(&value) {
            None => bytes[nulls_at + count / 8] |= 1 << (count % 8),
            Some(kind) if prepared.types.get(count) == Some(&kind) => {}
            Some(kind) => {
                prepared.types.resize(parameters, super::value::kind::NULL);
                prepared.types[count] = kind;
                has_other_types = true;
            }
        }
        write_parameter(&value, bytes);
        count += 1;
    }
    assert_eq!(count, parameters, "the values of a statement");
    if has_other_types {
        bytes[types_at - 1] = 1;
        bytes.splice(types_at..types_at, prepared.types.iter().flat_map(|&kind| [kind, 0]));
    }
}

impl Request for Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.commands.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(parameters: u16) -> Batch {
        Batch { statements: vec![Prepared { number: 9, parameters, ..Prepared::default() }], ..Batch::default() }
    }

    #[test]
    fn types_are_sent_once_and_again_when_they_change() {
        let mut batch = batch(3);
        let mut sent = |values: [Value<'_>; 3]| {
            batch.clear();
            batch.execute(StatementId(0), &values);
            batch.bytes().to_vec()
        };
        let head = |length: u8| [length, 0, 0, 0, 0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0];
        let first = [Value::I32(7), Value::Text("ab"), Value::Null];
        let body = [0b100, 1, 3, 0, 0xFD, 0, 6, 0, 7, 0, 0, 0, 2, b'a', b'b'];
        assert_eq!(sent(first), [&head(25)[..], &body].concat());
        let body = [0b100, 0, 7, 0, 0, 0, 2, b'a', b'b'];
        assert_eq!(sent(first), [&head(19)[..], &body].concat());
        let body = [0, 1, 3, 0, 0xFD, 0, 8, 0, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(sent([Value::I32(7), Value::Text(""), Value::I64(1)]), [&head(31)[..], &body].concat());
        assert_eq!(sent(first)[15], 0, "NULL has any type");
    }

    #[test]
    fn a_batch_commits_by_commit_or_outside_a_transaction() {
        let filled = |fill: &[fn(&mut Batch)]| {
            let mut batch = batch(0);
            fill.iter().for_each(|add| add(&mut batch));
            batch
        };
        let execute: fn(&mut Batch) = |batch| batch.execute(StatementId(0), &[]);
        for (batch, open, commits) in [
            (filled(&[execute]), false, true),
            (filled(&[execute]), true, false),
            (filled(&[SqlBatch::begin, execute]), false, false),
            (filled(&[SqlBatch::commit]), true, true),
            (filled(&[SqlBatch::rollback]), true, false),
            (filled(&[Batch::ping]), false, false),
        ] {
            assert_eq!(batch.commits(open), commits, "{batch:?}");
        }
    }
}
