//! One session with a server, waiting for each answer.

use super::batch::{Batch, PREPARE, Prepared, QUERY};
use super::dsn::Dsn;
use super::error::server_error;
use super::marks::Marked;
use super::packet::{Done, END, ERROR, LOCAL_INFILE, OK, Packet, Reader, damaged, write_packet};
use super::reply::{MAX_COLUMNS, Reply, out_of_turn, wants_a_file};
use super::row::Column;
use crate::target::inbox::Inbox;
use crate::target::link::{Link, Outbox};
use crate::target::postgres::{Address, Isolation};
use crate::target::socket::Socket;
use crate::target::{PrepareError, RowsSoFar, Statement, TargetError, TextRows};
use std::time::Duration;

/// What every session begins with: each statement is a transaction unless BEGIN says otherwise, and no value is changed
/// silently to fit its column. `||` joins texts, as in the standard.
pub const SESSION_SETTINGS: &str = "SET SESSION autocommit = 1, sql_mode = \
    'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,PIPES_AS_CONCAT', time_zone = '+00:00'";
/// Shows the isolation level of transactions, under either of its names.
pub const SHOW_ISOLATION: &str =
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')";

/// A session.
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link<Reply>,
    pub(super) outbox: Outbox,
    pub(super) statements: Vec<Prepared>,
    version: String,
    session_id: u32,
    address: Address,
    /// Where a request to cancel goes.
    dsn: Dsn,
}

/// A session that has logged in.
pub(super) struct Opened {
    pub(super) socket: Socket,
    pub(super) inbox: Inbox,
    pub(super) version: String,
    pub(super) session_id: u32,
    pub(super) caches_metadata: bool,
}

impl Connection {
    pub(super) fn new(opened: Opened, address: &Address, dsn: &Dsn) -> Self {
        let Opened { socket, inbox, version, session_id, caches_metadata } = opened;
        let link = Link::new(socket, Reply::new(inbox, caches_metadata));
        let (address, dsn) = (address.clone(), dsn.clone());
        Self { link, outbox: Outbox::default(), statements: Vec::new(), version, session_id, address, dsn }
    }

    /// How long the server may be silent from now on while an answer is due; `None`: for ever.
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the socket does not take it.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), TargetError> {
        self.link.socket.set_timeout(timeout)
    }

    /// The host that answered, of those that the DSN names.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The server's version: MariaDB's has its name in it.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// The session's number, as `SHOW PROCESSLIST` has it.
    #[must_use]
    pub fn session_id(&self) -> u32 {
        self.session_id
    }

    /// What reaches this session's server once more.
    pub(super) fn dsn(&self) -> &Dsn {
        &self.dsn
    }

    /// How the session is encrypted: `TLSv1.3 TLS_AES_256_GCM_SHA384`; `none` without TLS.
    #[must_use]
    pub fn encryption(&self) -> String {
        self.link.socket.encryption().unwrap_or_else(|| "none".to_owned())
    }

    /// Makes transactions run at this level, single statements among them.
    ///
    /// # Errors
    /// [`PrepareError`] when the server refuses.
    pub fn set_isolation(&mut self, isolation: Isolation) -> Result<(), PrepareError> {
        let set = self.query(&set_isolation_sql(isolation));
        set.map(|_| ()).map_err(|error| PrepareError { statement: "isolation level", error })
    }

    /// The isolation level of the session's transactions, as a spec writes it.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn isolation_in_force(&mut self) -> Result<String, TargetError> {
        match self.query(SHOW_ISOLATION)?.into_iter().next().as_deref() {
            Some([_, Some(level)]) => Ok(level.to_lowercase().replace('-', " ")),
            _ => Err(TargetError::Protocol(format!("no answer to {SHOW_ISOLATION}"))),
        }
    }

    /// Prepares the workload's statements. Call it once, before the first exchange.
    ///
    /// # Errors
    /// [`PrepareError`] naming the first statement that the server refuses.
    pub fn prepare(&mut self, statements: &[Statement]) -> Result<(), PrepareError> {
        for statement in statements {
            let prepared = self.prepare_one(&statement.sql);
            let (prepared, columns) = prepared.map_err(|error| PrepareError { statement: statement.name, error })?;
            self.statements.push(prepared);
            self.link.reply.push_columns(columns);
        }
        Ok(())
    }

    fn prepare_one(&mut self, sql: &str) -> Result<(Prepared, Vec<Column>), TargetError> {
        let Marked { sql, count: marked, marks } = Marked::read(sql);
        self.send(PREPARE, sql.as_bytes())?;
        let packet = self.receive(1)?;
        let mut reader = Reader(self.body(&packet));
        let head = || {
            let (_, number) = (reader.u8().filter(|first| *first == OK)?, reader.u32()?);
            let (columns, parameters) = (reader.u16()?, reader.u16()?);
            Some((Prepared { number, parameters, marks, ..Prepared::default() }, columns))
        };
        let (prepared, count) = head().ok_or_else(|| damaged("the answer to a statement to prepare"))?;
        if usize::from(prepared.parameters) != marked {
            let counts = prepared.parameters;
            return Err(TargetError::Protocol(format!(
                "the server counts {counts} parameters, not {marked}, in {sql}"
            )));
        }
        let mut sequence = 1_u8;
        let mut columns = Vec::new();
        for index in 0..u32::from(prepared.parameters) + u32::from(count) {
            sequence = sequence.wrapping_add(1);
            let definition = self.receive(sequence)?;
            if index >= u32::from(prepared.parameters) {
                let column = Column::read(self.body(&definition));
                columns.push(column.ok_or_else(|| damaged("the definition of a column"))?);
            }
        }
        Ok((prepared, columns))
    }

    /// Fills a batch, sends it and waits for its answer.
    ///
    /// # Errors
    /// [`TargetError::Database`] for the first command that failed (those behind it were executed all the same),
    /// [`TargetError::Lost`] and [`TargetError::Protocol`] when the session is of no more use.
    pub fn exchange(&mut self, batch: &mut Batch, fill: impl FnOnce(&mut Batch)) -> Result<&Reply, TargetError> {
        let mut before = Vec::new();
        batch.swap(&mut self.statements, &mut before);
        fill(batch);
        batch.swap(&mut self.statements, &mut before);
        self.link.exchange(&before, batch.commands())
    }

    /// Leaves a failed or open transaction. The number of round trips it took.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn reset(&mut self) -> Result<u32, TargetError> {
        if !self.link.reply.in_transaction {
            return Ok(0);
        }
        self.query("ROLLBACK")?;
        Ok(1)
    }

    /// Runs a statement; the rows of the last answer that has any, as text.
    ///
    /// # Errors
    /// [`TargetError::Database`] when the server refuses it, and others when the session is of no more use.
    pub fn query(&mut self, sql: &str) -> Result<TextRows, TargetError> {
        self.send(QUERY, sql.as_bytes())?;
        let (mut rows, mut sequence) = (RowsSoFar::default(), 0);
        loop {
            sequence = next(sequence);
            let head = self.receive(sequence)?;
            let body = self.body(&head);
            let done = match body.first() {
                Some(&OK) => Done::read(body)?,
                Some(&LOCAL_INFILE) => return Err(wants_a_file()),
                _ => {
                    let count = Reader(body).length().filter(|count| (1..=MAX_COLUMNS).contains(count));
                    let count = count.ok_or_else(|| damaged("the number of columns"))?;
                    rows.clear();
                    self.text_rows(count, &mut sequence, &mut rows)?
                }
            };
            self.link.reply.in_transaction = done.in_transaction;
            if !done.more {
                return Ok(rows.all());
            }
        }
    }

    fn text_rows(&mut self, columns: u64, sequence: &mut u8, rows: &mut RowsSoFar) -> Result<Done, TargetError> {
        for _definition in 0..columns {
            *sequence = next(*sequence);
            self.receive(*sequence)?;
        }
        loop {
            *sequence = next(*sequence);
            let packet = self.receive(*sequence)?;
            let body = self.body(&packet);
            // A row that begins so would have a value of 16 MiB, which no packet holds.
            if body.first() == Some(&END) {
                return Done::read(body);
            }
            rows.push(text_row(body, columns).ok_or_else(|| damaged("a row"))?)?;
        }
    }

    /// Begins a command.
    pub(super) fn send(&mut self, command: u8, argument: &[u8]) -> Result<(), TargetError> {
        let mut out = Vec::with_capacity(argument.len() + 5);
        write_packet(&mut out, 0, |out| {
            out.push(command);
            out.extend_from_slice(argument);
        });
        self.link.socket.send(&out)
    }

    /// Waits for the packet of this number. What came before is forgotten.
    ///
    /// # Errors
    /// The server's error, where that is what came.
    pub(super) fn receive(&mut self, sequence: u8) -> Result<Packet, TargetError> {
        let Link { socket, reply, .. } = &mut self.link;
        reply.inbox.restart();
        let packet = reply.inbox.next_packet(socket)?;
        if reply.inbox.get(&packet.body).first() == Some(&ERROR) {
            return Err(server_error(reply.inbox.get(&packet.body)));
        }
        if packet.sequence != sequence {
            return Err(out_of_turn());
        }
        Ok(packet)
    }

    pub(super) fn body(&self, packet: &Packet) -> &[u8] {
        self.link.reply.inbox.get(&packet.body)
    }
}

fn next(sequence: u8) -> u8 {
    sequence.wrapping_add(1)
}

/// The values of a row: a length and so many bytes each, or the mark of NULL.
fn text_row(body: &[u8], columns: u64) -> Option<Vec<Option<String>>> {
    let mut reader = Reader(body);
    let mut row = Vec::new();
    for _ in 0..columns {
        if reader.0.first() == Some(&LOCAL_INFILE) {
            reader.take(1);
            row.push(None);
        } else {
            row.push(Some(String::from_utf8_lossy(reader.bytes()?).into_owned()));
        }
    }
    reader.0.is_empty().then_some(row)
}

/// Sets the isolation level of a session.
#[must_use]
pub fn set_isolation_sql(isolation: Isolation) -> String {
    format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", isolation.sql())
}
