//! Statements that are sent with each execution, because no session keeps them.

use super::command::Command;
use super::isolation::Isolation;
use crate::target::{Dialect, Statement};
use bytes::BytesMut;
use postgres_protocol::message::frontend;

/// Statements without a name: for each, the Parse message that goes before its Bind.
#[derive(Debug)]
pub struct Unnamed {
    begin: BytesMut,
    commit: BytesMut,
    rollback: BytesMut,
    restart: [BytesMut; 3],
    statements: Vec<BytesMut>,
}

impl Unnamed {
    /// Of a workload's statements, with transactions at this isolation level.
    #[must_use]
    pub fn new(statements: &[Statement], isolation: Isolation) -> Self {
        Self {
            begin: parse(&isolation.begin_sql()),
            commit: parse("COMMIT"),
            rollback: parse("ROLLBACK"),
            restart: Dialect::RESTART_PROTOCOL.map(parse),
            statements: statements.iter().map(|statement| parse(&statement.sql)).collect(),
        }
    }

    pub(super) fn parse_of(&self, command: Command) -> &[u8] {
        match command {
            Command::Begin => &self.begin,
            Command::Commit => &self.commit,
            Command::Rollback => &self.rollback,
            Command::Savepoint => &self.restart[0],
            Command::Release => &self.restart[1],
            Command::RollbackToSavepoint => &self.restart[2],
            Command::Execute(statement) => &self.statements[usize::from(statement.0)],
        }
    }
}

fn parse(sql: &str) -> BytesMut {
    let mut message = BytesMut::new();
    frontend::parse("", sql, [], &mut message).expect("a statement has no zero byte and fewer than 2 GiB");
    message
}
