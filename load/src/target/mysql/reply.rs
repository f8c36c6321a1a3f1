//! What came back in one round trip; rows are read where they lie in the receive buffer.

use super::batch::Command;
use super::error::server_error;
use super::packet::{Done, END, ERROR, LOCAL_INFILE, OK, Packet, Reader, damaged};
use super::row::{Column, Row};
use crate::target::inbox::Inbox;
use crate::target::link::Answers;
use crate::target::{SqlReply, StatementId, TargetError};
use std::ops::Range;

/// No exchange of a benchmark returns more rows.
pub(super) const MAX_ROWS: usize = 1024 * 1024;
/// No table has more columns.
pub(super) const MAX_COLUMNS: u64 = 4_096;

/// What one execution returned.
#[derive(Debug)]
struct Answer {
    statement: StatementId,
    rows: Range<usize>,
    affected: u64,
}

/// The answer to one batch; rows are read in place.
#[derive(Debug)]
pub struct Reply {
    pub(super) inbox: Inbox,
    /// A transaction is open, as far as the server has said: it says so after a success alone.
    pub(super) in_transaction: bool,
    /// A definition that the server has told once is not told again.
    pub(super) caches_metadata: bool,
    answers: Vec<Answer>,
    /// Bodies of all rows, in order.
    rows: Vec<Range<usize>>,
    progress: Progress,
    /// The columns of each prepared statement, as the server told them last.
    columns: Vec<Vec<Column>>,
}

/// How far the commands of a batch have been answered.
#[derive(Debug, Default)]
struct Progress {
    done: usize,
    first_row: usize,
    /// The number of the last packet of the command; each begins anew.
    sequence: u8,
    expected: Expected,
    failure: Option<TargetError>,
}

/// What the next packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Expected {
    #[default]
    Head,
    /// So many definitions of columns are to come.
    Definitions(u64),
    Rows,
    /// The end of a procedure that has sent its rows.
    End,
}

impl Reply {
    /// Nothing yet; what comes is read into `inbox`.
    pub(in crate::target) fn new(inbox: Inbox, caches_metadata: bool) -> Self {
        Self {
            inbox,
            in_transaction: false,
            caches_metadata,
            answers: Vec::new(),
            rows: Vec::new(),
            progress: Progress::default(),
            columns: Vec::new(),
        }
    }

    /// Sets the columns of the statement that follows those already known.
    pub(in crate::target) fn push_columns(&mut self, columns: Vec<Column>) {
        self.columns.push(columns);
    }

    fn accept(&mut self, packet: &Packet, command: Command) -> Result<(), TargetError> {
        self.progress.sequence = self.progress.sequence.wrapping_add(1);
        if packet.sequence != self.progress.sequence {
            return Err(out_of_turn());
        }
        let body = self.inbox.get(&packet.body);
        let first = *body.first().ok_or_else(|| damaged("an answer"))?;
        if first == ERROR {
            let error = server_error(body);
            self.progress.failure.get_or_insert(error);
            self.complete(command, 0);
            return Ok(());
        }
        match (self.progress.expected, command) {
            (Expected::Head | Expected::End, _) if first == OK => self.end(packet, command)?,
            (Expected::Head, _) if first == LOCAL_INFILE => return Err(wants_a_file()),
            (Expected::Head, Command::Execute(statement)) => self.begin_rows(packet, statement)?,
            (Expected::Definitions(left), Command::Execute(statement)) => {
                let column = Column::read(body).ok_or_else(|| damaged("the definition of a column"))?;
                self.columns[usize::from(statement.0)].push(column);
                self.progress.expected = if left > 1 { Expected::Definitions(left - 1) } else { Expected::Rows };
            }
            (Expected::Rows, _) if first == END => self.end(packet, command)?,
            (Expected::Rows, Command::Execute(_)) if first == OK => {
                if self.rows.len() == MAX_ROWS {
                    return Err(TargetError::Protocol(format!("an answer of more than {MAX_ROWS} rows")));
                }
                self.rows.push(packet.body.start + 1..packet.body.end);
            }
            _ => return Err(out_of_turn()),
        }
        Ok(())
    }

    /// The number of columns, and whether their definitions follow.
    fn begin_rows(&mut self, packet: &Packet, statement: StatementId) -> Result<(), TargetError> {
        let mut reader = Reader(self.inbox.get(&packet.body));
        let count = reader.length().filter(|count| (1..=MAX_COLUMNS).contains(count));
        let count = count.ok_or_else(|| damaged("the number of columns"))?;
        let follow = !self.caches_metadata || reader.u8() != Some(0);
        let columns = &mut self.columns[usize::from(statement.0)];
        if follow {
            columns.clear();
            self.progress.expected = Expected::Definitions(count);
        } else if columns.len() as u64 == count {
            self.progress.expected = Expected::Rows;
        } else {
            return Err(damaged("the number of columns"));
        }
        Ok(())
    }

    fn end(&mut self, packet: &Packet, command: Command) -> Result<(), TargetError> {
        let done = Done::read(self.inbox.get(&packet.body))?;
        if done.more {
            if self.progress.expected != Expected::Rows {
                return Err(TargetError::Protocol("a statement with several answers".to_owned()));
            }
            self.progress.expected = Expected::End;
            return Ok(());
        }
        self.in_transaction = done.in_transaction;
        self.complete(command, done.affected);
        Ok(())
    }

    fn complete(&mut self, command: Command, affected: u64) {
        let rows = self.progress.first_row..self.rows.len();
        if let Command::Execute(statement) = command {
            let affected = if rows.is_empty() { affected } else { rows.len() as u64 };
            self.answers.push(Answer { statement, rows, affected });
        }
        self.progress.first_row = self.rows.len();
        self.progress.done += 1;
        (self.progress.sequence, self.progress.expected) = (0, Expected::Head);
    }
}

impl Reply {
    /// The error that came while nothing was asked, if one did.
    ///
    /// # Errors
    /// [`TargetError::Protocol`] for anything else that came.
    pub(super) fn farewell(&mut self) -> Result<Option<TargetError>, TargetError> {
        let Some(packet) = self.inbox.cut_packet()? else { return Ok(None) };
        match self.inbox.get(&packet.body) {
            body @ [ERROR, ..] => Ok(Some(server_error(body))),
            _ => Err(TargetError::Protocol("an answer without a request".to_owned())),
        }
    }
}

impl SqlReply for Reply {
    type Row<'a> = Row<'a>;

    fn row_count(&self, execute: usize) -> usize {
        self.answers.get(execute).map_or(0, |answer| answer.rows.len())
    }

    fn affected(&self, execute: usize) -> u64 {
        self.answers.get(execute).map_or(0, |answer| answer.affected)
    }

    fn row(&self, execute: usize, row: usize) -> Option<Row<'_>> {
        let answer = self.answers.get(execute)?;
        let body = self.rows[answer.rows.clone()].get(row)?;
        Some(Row::new(self.inbox.get(body), &self.columns[usize::from(answer.statement.0)]))
    }
}

impl Answers for Reply {
    /// The answers to these commands.
    type Due<'a> = &'a [Command];

    fn inbox(&mut self) -> &mut Inbox {
        &mut self.inbox
    }

    fn forget(&mut self) {
        self.answers.clear();
        self.rows.clear();
        self.progress = Progress::default();
    }

    fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.rows.is_empty()
    }

    /// An error does not stop what was sent behind it: the answers to all commands are read, and the first error is the
    /// outcome.
    fn parse(&mut self, commands: &[Command]) -> Result<Option<Result<(), TargetError>>, TargetError> {
        while let Some(command) = commands.get(self.progress.done) {
            let Some(packet) = self.inbox.cut_packet()? else { return Ok(None) };
            self.accept(&packet, *command)?;
            if let Some(lost @ TargetError::Lost(_)) = &self.progress.failure {
                return Err(lost.clone());
            }
        }
        Ok(Some(self.progress.failure.take().map_or(Ok(()), Err)))
    }
}

pub(super) fn out_of_turn() -> TargetError {
    TargetError::Protocol("a packet out of turn: client and server are out of sync".to_owned())
}

pub(super) fn wants_a_file() -> TargetError {
    TargetError::Protocol("the server wants a file of this machine, which nobody offered".to_owned())
}
