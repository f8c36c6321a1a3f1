//! What is sent in one round trip.

use super::command::{Command, StatementName};
use super::unnamed::Unnamed;
use super::value::encode_field;
use crate::target::{Request, SqlBatch, StatementId, Value};
use bytes::{BufMut, BytesMut};
use clap::ValueEnum;
use postgres_protocol::message::frontend;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The end of a Bind message, which asks for binary results, and an Execute of its portal, which has no name, for all
/// rows.
const RESULTS_AND_EXECUTE: [u8; 14] = [0, 1, 0, 1, b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];

/// How to retry a transaction after a serialization failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// ROLLBACK, then BEGIN again.
    #[default]
    Restart,
    /// CockroachDB's protocol: SAVEPOINT cockroach_restart after BEGIN, ROLLBACK TO it, RELEASE before COMMIT; they
    /// take no round trips of their own. The transaction keeps its priority.
    Savepoint,
}

/// One round trip: commands in order, ended by one `Sync`. Reused, so that a warm batch allocates nothing.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: BytesMut,
    commands: Vec<Command>,
    retry: Retry,
    /// The transaction is open, at its savepoint: the next BEGIN was sent before.
    restarted: bool,
    /// `None`: all statements were prepared under their names.
    unnamed: Option<Arc<Unnamed>>,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch whose transactions can be retried so, and whose statements have names unless they are given.
    #[must_use]
    pub fn with(retry: Retry, unnamed: Option<Arc<Unnamed>>) -> Self {
        Self { retry, unnamed, ..Self::default() }
    }

    /// Makes this the batch that goes back to where the transaction is retried from.
    pub fn restart(&mut self) {
        match self.retry {
            Retry::Restart => self.abandon(),
            Retry::Savepoint => {
                self.clear();
                self.command(Command::RollbackToSavepoint, []);
                self.restarted = true;
            }
        }
    }

    /// Makes this the batch that leaves the transaction.
    pub fn abandon(&mut self) {
        self.clear();
        self.rollback();
    }

    /// Appends Bind + Execute. The n-th call to `execute` in a batch is answered by `Reply::row(n, …)`;
    /// `begin`, `commit` and `rollback` are not counted.
    ///
    /// # Panics
    /// With more than 65,535 values, which the protocol cannot carry.
    pub fn execute<'a>(&mut self, statement: StatementId, values: &[Value<'a>]) {
        self.execute_each(statement, values.iter().copied());
    }

    /// The same with values that come one by one.
    ///
    /// # Panics
    /// As [`Batch::execute`].
    pub fn execute_each<'a>(&mut self, statement: StatementId, values: impl IntoIterator<Item = Value<'a>>) {
        self.command(Command::Execute(statement), values);
    }

    /// Appends `BEGIN` with the target's isolation level.
    pub fn begin(&mut self) {
        if std::mem::take(&mut self.restarted) {
            return;
        }
        self.command(Command::Begin, []);
        if self.retry == Retry::Savepoint {
            self.command(Command::Savepoint, []);
        }
    }

    /// Appends `COMMIT`.
    pub fn commit(&mut self) {
        if self.retry == Retry::Savepoint {
            self.command(Command::Release, []);
        }
        self.command(Command::Commit, []);
    }

    /// Appends `ROLLBACK`.
    pub fn rollback(&mut self) {
        self.restarted = false;
        self.command(Command::Rollback, []);
    }

    fn command<'a>(&mut self, command: Command, values: impl IntoIterator<Item = Value<'a>>) {
        let mut space = [0; StatementName::MAX_BYTES];
        let name = match &self.unnamed {
            Some(unnamed) => {
                self.bytes.extend_from_slice(unnamed.parse_of(command));
                ""
            }
            None => command.name(&mut space),
        };
        self.bind_and_execute(name, values);
        self.commands.push(command);
    }

    /// Whether the answer, once it is there, means that something was committed: a COMMIT, or a statement outside a
    /// transaction. `open` says whether a transaction is open before the batch.
    #[must_use]
    pub(super) fn commits(&self, mut open: bool) -> bool {
        for command in &self.commands {
            match command {
                Command::Begin => open = true,
                Command::Rollback => open = false,
                Command::Savepoint | Command::RollbackToSavepoint => {}
                Command::Execute(_) if open => {}
                // CockroachDB commits at RELEASE.
                Command::Commit | Command::Release | Command::Execute(_) => return true,
            }
        }
        false
    }

    /// True when nothing would be sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The commands that will be answered.
    pub(in crate::target) fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// The bytes to send.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes to send, closed by `Sync`, and the commands that will be answered.
    pub(super) fn close(&mut self) -> (&[u8], &[Command]) {
        frontend::sync(&mut self.bytes);
        (&self.bytes, &self.commands)
    }

    /// Appends the two messages, written here: `postgres_protocol` writes the same in five times as many instructions.
    fn bind_and_execute<'a>(&mut self, name: &str, values: impl IntoIterator<Item = Value<'a>>) {
        let out = &mut self.bytes;
        let start = out.len();
        out.put_slice(&[b'B', 0, 0, 0, 0, 0]); // its length, and a portal without a name
        out.put_slice(name.as_bytes());
        out.put_slice(&[0, 0, 1, 0, 1, 0, 0]); // the name's end; one format for all values, binary; their number
        let values_at = out.len();
        let mut count = 0_usize;
        for value in values {
            encode_field(&value, out);
            count += 1;
        }
        let count = u16::try_from(count).expect("a Bind message has at most 65,535 values");
        out[values_at - 2..values_at].copy_from_slice(&count.to_be_bytes());
        out.put_slice(&RESULTS_AND_EXECUTE);
        // Without the tag, and without Execute.
        let length = i32::try_from(out.len() - start - 11).expect("a Bind message is shorter than 2 GiB");
        out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    }
}

impl Request for Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.commands.clear();
    }
}

impl SqlBatch for Batch {
    fn execute_each<'a>(&mut self, statement: StatementId, values: impl IntoIterator<Item = Value<'a>>) {
        self.execute_each(statement, values);
    }

    fn begin(&mut self) {
        self.begin();
    }

    fn commit(&mut self) {
        self.commit();
    }

    fn rollback(&mut self) {
        self.rollback();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_commits_by_commit_or_outside_a_transaction() {
        let batch = |fill: &dyn Fn(&mut Batch)| {
            let mut batch = Batch::new();
            fill(&mut batch);
            batch
        };
        let execute = |batch: &mut Batch| batch.execute(StatementId(0), &[]);
        for (filled, open, commits) in [
            (batch(&execute), false, true),
            (batch(&execute), true, false),
            (batch(&Batch::begin), false, false),
            (batch(&Batch::commit), true, true),
            (batch(&Batch::rollback), true, false),
            (batch(&|batch| [Batch::begin, execute, Batch::rollback].iter().for_each(|add| add(batch))), false, false),
            (batch(&|batch| [Batch::begin, execute, Batch::commit].iter().for_each(|add| add(batch))), false, true),
        ] {
            assert_eq!(filled.commits(open), commits, "{filled:?}");
        }
    }

    #[test]
    fn bind_and_execute_are_those_of_the_protocol() {
        use postgres_protocol::IsNull;
        let mut expected = BytesMut::new();
        let fields: [&[u8]; 3] = [&[0, 0, 0, 7], b"text", &[]];
        let write = |place: usize, out: &mut BytesMut| {
            out.put_slice(fields[place]);
            Ok(if place == 2 { IsNull::Yes } else { IsNull::No })
        };
        let bound = frontend::bind("", "s12", [1], 0..3, write, [1], &mut expected);
        assert!(bound.is_ok() && frontend::execute("", 0, &mut expected).is_ok());
        let mut batch = Batch::new();
        batch.execute(StatementId(12), &[Value::I32(7), Value::Text("text"), Value::Null]);
        assert_eq!(batch.bytes(), expected);
    }

    #[test]
    fn a_warm_batch_keeps_its_memory() {
        let mut batch = Batch::new();
        let mut addresses = Vec::new();
        for round in 0..100 {
            batch.clear();
            batch.begin();
            batch.execute(StatementId(3), &[Value::I32(round), Value::Text("warm"), Value::Null]);
            batch.commit();
            let (bytes, commands) = batch.close();
            assert_eq!(commands, [Command::Begin, Command::Execute(StatementId(3)), Command::Commit]);
            addresses.push((bytes.as_ptr(), bytes.len()));
        }
        assert!(addresses.iter().all(|address| *address == addresses[99]), "the buffer moved or grew");
    }
}
