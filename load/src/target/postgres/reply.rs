//! What came back in one round trip; rows are read where they lie in the receive buffer.

use super::command::Command;
use super::inbox::{Frame, ServerError, is_asynchronous};
use super::numeric;
use super::value::{BPCHAR_OID, BYTEA_OID, INT2_OID, INT4_OID, INT8_OID, NUMERIC_OID, TEXT_OID, VARCHAR_OID};
use crate::target::inbox::Inbox;
use crate::target::link::Answers;
use crate::target::{SqlReply, SqlRow, StatementId, TargetError};
use postgres_protocol::message::backend;
use std::ops::Range;

/// No exchange of a benchmark returns more rows.
const MAX_ROWS: usize = 1024 * 1024;

/// The session's state as every `ReadyForQuery` reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TransactionStatus {
    #[default]
    Idle,
    Open,
    Failed,
}

impl TransactionStatus {
    pub(super) fn read(body: &[u8]) -> Result<Self, TargetError> {
        match body {
            b"I" => Ok(Self::Idle),
            b"T" => Ok(Self::Open),
            b"E" => Ok(Self::Failed),
            _ => Err(TargetError::Protocol(format!("unknown transaction status {body:?}"))),
        }
    }
}

/// What one `execute` returned.
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
    /// As the end of the last answer reports it.
    pub(super) status: TransactionStatus,
    answers: Vec<Answer>,
    /// Bodies of all `DataRow` messages, in order.
    rows: Vec<Range<usize>>,
    progress: Progress,
    /// Column types of each prepared statement.
    columns: Vec<Vec<u32>>,
}

impl Reply {
    /// Nothing yet; what comes is read into `inbox`.
    pub(in crate::target) fn new(inbox: Inbox) -> Self {
        Self {
            inbox,
            status: TransactionStatus::Idle,
            answers: Vec::new(),
            rows: Vec::new(),
            progress: Progress::default(),
            columns: Vec::new(),
        }
    }

    /// Sets the column types of the statement that follows those already known.
    pub(in crate::target) fn push_columns(&mut self, types: Vec<u32>) {
        self.columns.push(types);
    }

    /// Whether an error came with what was parsed so far.
    pub(super) fn met_an_error(&self) -> bool {
        self.progress.failure.is_some()
    }

    fn accept(&mut self, frame: Frame, commands: &[Command]) -> Result<(), TargetError> {
        match frame.tag {
            backend::DATA_ROW_TAG if self.rows.len() == MAX_ROWS => {
                return Err(TargetError::Protocol(format!("an answer of more than {MAX_ROWS} rows")));
            }
            backend::DATA_ROW_TAG => self.rows.push(frame.body),
            backend::PARSE_COMPLETE_TAG | backend::BIND_COMPLETE_TAG => {}
            backend::COMMAND_COMPLETE_TAG => {
                let command = commands.get(self.progress.done).ok_or_else(|| surplus(frame.tag))?;
                self.complete(*command, &frame.body);
            }
            backend::ERROR_RESPONSE_TAG => self.progress.failure = Some(Failure::Server(self.inbox.error(&frame)?)),
            tag if is_asynchronous(tag) => {}
            tag => return Err(surplus(tag)),
        }
        Ok(())
    }

    fn complete(&mut self, command: Command, tag: &Range<usize>) {
        let (tag, progress) = (self.inbox.get(tag), &mut self.progress);
        match command {
            Command::Execute(statement) => {
                let rows = progress.first_row..self.rows.len();
                self.answers.push(Answer { statement, rows, affected: affected_rows(tag) });
            }
            // The server answers COMMIT in a failed transaction with ROLLBACK, and calls that a success.
            Command::Commit if tag != b"COMMIT\0" => {
                progress.failure.get_or_insert(Failure::CommitRolledBack);
            }
            _ => {}
        }
        progress.first_row = self.rows.len();
        progress.done += 1;
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
        self.rows(execute).nth(row)
    }

    fn rows(&self, execute: usize) -> impl Iterator<Item = Row<'_>> {
        let answer = self.answers.get(execute);
        let types = answer.map_or(&[][..], |answer| &self.columns[usize::from(answer.statement.0)]);
        let bodies = answer.map_or(&[][..], |answer| &self.rows[answer.rows.clone()]);
        // A body without a column count has no columns.
        bodies.iter().map(move |body| Row { fields: self.inbox.get(body).get(2..).unwrap_or(&[]), types })
    }
}

impl Answers for Reply {
    /// The answers to these commands, up to `ReadyForQuery`.
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

    /// The first error ends the commands (the server skips the rest up to `Sync`), but the answer is read to its end,
    /// so that the connection stays usable.
    fn parse(&mut self, commands: &[Command]) -> Result<Option<Result<(), TargetError>>, TargetError> {
        while let Some(frame) = self.inbox.cut()? {
            if frame.tag == backend::READY_FOR_QUERY_TAG {
                self.status = TransactionStatus::read(self.inbox.get(&frame.body))?;
                return std::mem::take(&mut self.progress).outcome(commands).map(Some);
            }
            self.accept(frame, commands)?;
        }
        Ok(None)
    }

    /// A connection that ended after a fatal error was lost because of that error.
    fn explain(&mut self, lost: TargetError) -> TargetError {
        match self.progress.failure.take() {
            Some(Failure::Server(error)) => error.into_target_error(),
            _ => lost,
        }
    }
}

/// How far the commands of a batch have been answered.
#[derive(Debug, Default)]
struct Progress {
    done: usize,
    first_row: usize,
    failure: Option<Failure>,
}

#[derive(Debug)]
enum Failure {
    Server(ServerError),
    CommitRolledBack,
}

impl Progress {
    fn outcome(self, commands: &[Command]) -> Result<Result<(), TargetError>, TargetError> {
        match self.failure {
            Some(Failure::Server(error)) => Ok(Err(error.into_target_error())),
            Some(Failure::CommitRolledBack) => Ok(Err(TargetError::Database {
                sqlstate: "40000".to_owned(),
                message: "the server rolled back instead of committing".to_owned(),
            })),
            None if self.done == commands.len() => Ok(Ok(())),
            None => Err(TargetError::Protocol(format!("{} of {} commands answered", self.done, commands.len()))),
        }
    }
}

fn surplus(tag: u8) -> TargetError {
    TargetError::Protocol(format!("unexpected message {:?} in the answer to a batch", char::from(tag)))
}

/// The number that ends a command tag: `INSERT 0 3`, `SELECT 2`; 0 when there is none, the largest when it is larger.
fn affected_rows(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(b"\0").unwrap_or(tag);
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    tag[tag.len() - digits..]
        .iter()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// One row, decoded on demand. Every getter answers `None` for SQL NULL and for a value of another type or length.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Of each column a length, and so many bytes.
    fields: &'a [u8],
    types: &'a [u32],
}

impl<'a> Row<'a> {
    fn integer(&self, column: usize, types: &[u32]) -> Option<i64> {
        let bytes = self.field(column, types)?;
        match bytes.len() {
            2 => Some(i64::from(i16::from_be_bytes(bytes.try_into().ok()?))),
            4 => Some(i64::from(i32::from_be_bytes(bytes.try_into().ok()?))),
            8 => Some(i64::from_be_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// Walks the columns: rows of benchmarks are short, an index would cost more than it saves.
    fn field(&self, column: usize, types: &[u32]) -> Option<&'a [u8]> {
        if !types.contains(self.types.get(column)?) {
            return None;
        }
        first_field(self.after(column).fields)
    }
}

impl<'a> SqlRow<'a> for Row<'a> {
    /// `int4`, `int2`, or `int8`, which CockroachDB makes of integer arithmetic.
    fn i32(&self, column: usize) -> Option<i32> {
        i32::try_from(self.integer(column, &[INT4_OID, INT2_OID, INT8_OID])?).ok()
    }

    fn i64(&self, column: usize) -> Option<i64> {
        self.integer(column, &[INT8_OID, INT4_OID, INT2_OID])
    }

    /// `text`, `varchar`, `char`.
    fn text(&self, column: usize) -> Option<&'a str> {
        std::str::from_utf8(self.field(column, &[TEXT_OID, VARCHAR_OID, BPCHAR_OID])?).ok()
    }

    fn is_text(&self, column: usize, text: &str) -> Option<bool> {
        Some(self.field(column, &[TEXT_OID, VARCHAR_OID, BPCHAR_OID])? == text.as_bytes())
    }

    fn after(&self, columns: usize) -> Self {
        let mut fields = self.fields;
        for _ in 0..columns {
            fields = skip_field(fields).unwrap_or(&[]);
        }
        Self { fields, types: self.types.get(columns..).unwrap_or(&[]) }
    }

    fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        self.field(column, &[BYTEA_OID])
    }

    fn numeric(&self, column: usize, scale: u8) -> Option<i64> {
        numeric::decode(self.field(column, &[NUMERIC_OID])?, scale)
    }
}

/// What follows the first field. A length below 0 is that of NULL.
fn skip_field(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.get(i32::from_be_bytes(*length).max(0) as usize..)
}

/// The first field; `None`: NULL.
fn first_field(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.get(..usize::try_from(i32::from_be_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::socket::Socket;

    #[test]
    fn affected_rows_of_command_tags() {
        for (tag, rows) in [("SELECT 2", 2), ("INSERT 0 13", 13), ("UPDATE 0", 0), ("BEGIN", 0), ("", 0)]
            .into_iter()
            .chain([("INSERT 0 99999999999999999999", u64::MAX)])
        {
            assert_eq!(affected_rows(format!("{tag}\0").as_bytes()), rows, "{tag}");
        }
    }

    #[test]
    fn getters_answer_none_for_null_for_other_types_and_past_the_end() {
        let mut fields = vec![0, 0, 0, 4, 0, 0, 0, 9]; // int4 9
        fields.extend([0xFF; 4]); // NULL
        fields.extend([0, 0, 0, 2, b'o', b'k']);
        let row = Row { fields: &fields, types: &[INT4_OID, INT8_OID, BPCHAR_OID] };
        assert_eq!((row.i32(0), row.i64(0), row.text(0), row.numeric(0, 0)), (Some(9), Some(9), None, None));
        assert_eq!((row.i64(1), row.i32(1)), (None, None));
        assert_eq!((row.text(2), row.i32(2)), (Some("ok"), None));
        assert_eq!(
            [(2, "ok"), (2, "o"), (1, "")].map(|(at, text)| row.is_text(at, text)),
            [Some(true), Some(false), None]
        );
        assert_eq!(row.i32(3), None);
        assert_eq!((row.after(2).text(0), row.after(2).text(1), row.after(4).i32(0)), (Some("ok"), None, None));
        let damaged = Row { fields: &fields[..6], types: &[INT4_OID, INT4_OID] };
        assert_eq!((damaged.i32(0), damaged.i32(1)), (None, None));
    }

    /// What a server says to BEGIN, a SELECT of two rows and COMMIT, with a notice between.
    fn recorded() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut message = |tag: u8, body: &[u8]| {
            bytes.push(tag);
            bytes.extend((body.len() as i32 + 4).to_be_bytes());
            bytes.extend(body);
        };
        message(b'2', b"");
        message(b'C', b"BEGIN\0");
        message(b'2', b"");
        message(b'D', &[0, 1, 0, 0, 0, 4, 0, 0, 1, 7]);
        message(b'N', b"SNOTICE\0Mhello\0\0");
        message(b'D', &[0, 1, 0, 0, 0, 4, 0, 0, 2, 9]);
        message(b'C', b"SELECT 2\0");
        message(b'2', b"");
        message(b'C', b"COMMIT\0");
        message(b'Z', b"T");
        bytes
    }

    #[test]
    fn a_reply_cut_anywhere_is_the_same_reply() {
        use std::io::Write as _;
        let commands = [Command::Begin, Command::Execute(StatementId(0)), Command::Commit];
        let bytes = recorded();
        for cut in 0..bytes.len() {
            let (mut server, client) = std::os::unix::net::UnixStream::pair().unwrap();
            let mut socket = Socket::unix(client);
            socket.set_nonblocking().unwrap();
            let mut reply = Reply::new(Inbox::default());
            reply.push_columns(vec![INT4_OID]);
            server.write_all(&bytes[..cut]).unwrap();
            reply.inbox.try_fill(&mut socket).unwrap();
            assert!(reply.parse(&commands).unwrap().is_none(), "cut at {cut}");
            server.write_all(&bytes[cut..]).unwrap();
            reply.inbox.try_fill(&mut socket).unwrap();
            let outcome = reply.parse(&commands).unwrap().expect("the whole answer");
            assert_eq!((reply.status, outcome), (TransactionStatus::Open, Ok(())));
            let values: Vec<_> = (0..reply.row_count(0)).map(|row| reply.row(0, row).unwrap().i32(0)).collect();
            assert_eq!((values, reply.affected(0)), (vec![Some(263), Some(521)], 2), "cut at {cut}");
        }
    }
}
