//! One session with a server: blocking, one exchange at a time.

use super::batch::{Batch, Retry};
use super::command::{
    BEGIN_NAME, COMMIT_NAME, RELEASE_NAME, ROLLBACK_NAME, ROLLBACK_TO_NAME, SAVEPOINT_NAME, StatementName,
};
use super::dsn::Address;
use super::inbox::is_asynchronous;
use super::isolation::Isolation;
use super::login::Greeting;
use super::reply::{Reply, TransactionStatus};
use crate::target::inbox::Inbox;
use crate::target::link::Link;
use crate::target::socket::Socket;
use crate::target::{Dialect, PrepareError, RowsSoFar, Statement, StatementId, TargetError, TextRows};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{self, Message};
use postgres_protocol::message::frontend;
use std::time::Duration;

/// A session.
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link<Reply>,
    /// How much of the batch in flight the kernel has taken; only of exchanges that do not wait.
    pub(super) sent: usize,
    greeting: Greeting,
    address: Address,
    connect_timeout: Duration,
}

/// A session that has logged in.
pub(super) struct Opened {
    pub(super) socket: Socket,
    pub(super) inbox: Inbox,
    pub(super) greeting: Greeting,
}

/// Cancels what a session is doing, from outside.
#[derive(Debug, Clone)]
pub struct Canceller {
    address: Address,
    connect_timeout: Duration,
    process_id: i32,
    secret_key: i32,
}

impl Canceller {
    /// Of a session that does not exist.
    #[cfg(test)]
    pub(crate) fn of_nobody(dsn: &super::Dsn, process_id: i32) -> Self {
        let address = dsn.addresses()[0].clone();
        Self { address, connect_timeout: dsn.connect_timeout(), process_id, secret_key: 0 }
    }

    /// Asks the server that the session is with; it never says whether it did. The request is not encrypted: it
    /// holds nothing but a key that is of no use afterwards.
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the server cannot be reached.
    pub fn cancel(self) -> Result<(), TargetError> {
        let mut out = BytesMut::new();
        frontend::cancel_request(self.process_id, self.secret_key, &mut out);
        Socket::connect(&self.address, self.connect_timeout)?.send(&out)
    }
}

impl Connection {
    pub(super) fn new(opened: Opened, address: &Address, connect_timeout: Duration) -> Self {
        let Opened { socket, inbox, greeting } = opened;
        let link = Link::new(socket, Reply::new(inbox));
        Self { link, sent: 0, greeting, address: address.clone(), connect_timeout }
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

    /// Whether the session is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.link.socket.is_encrypted()
    }

    /// How the session is encrypted, as `pg_stat_ssl` has it: `TLSv1.3 TLS_AES_256_GCM_SHA384`; `none` without TLS.
    #[must_use]
    pub fn encryption(&self) -> String {
        self.link.socket.encryption().unwrap_or_else(|| "none".to_owned())
    }

    /// The server's `server_version`, if it told one.
    #[must_use]
    pub fn server_version(&self) -> Option<&str> {
        self.greeting.server_version.as_deref()
    }

    /// The first number of the server's version, if it told one.
    #[must_use]
    pub fn major_version(&self) -> Option<u32> {
        let version = self.server_version()?;
        version.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    }

    /// The process that the login named; `None` when it named none.
    #[must_use]
    pub fn process_id(&self) -> Option<i32> {
        self.greeting.cancel_key.map(|(process_id, _)| process_id)
    }

    /// What cancels a statement of this session; `None` when the server gave no key.
    #[must_use]
    pub fn canceller(&self) -> Option<Canceller> {
        let (process_id, secret_key) = self.greeting.cancel_key?;
        let (address, connect_timeout) = (self.address.clone(), self.connect_timeout);
        Some(Canceller { address, connect_timeout, process_id, secret_key })
    }

    /// Makes statements outside an explicit transaction run at this level.
    ///
    /// # Errors
    /// [`PrepareError`] when the server refuses.
    pub fn set_isolation(&mut self, isolation: Isolation) -> Result<(), PrepareError> {
        let set = self.query(&isolation.session_sql());
        set.map(|_| ()).map_err(|error| PrepareError { statement: "isolation level", error })
    }

    /// Prepares the workload's statements, and BEGIN (at this isolation level), COMMIT and ROLLBACK. Call it once,
    /// before the first exchange.
    ///
    /// # Errors
    /// [`PrepareError`] naming the first statement that the server refuses.
    pub fn prepare(&mut self, statements: &[Statement], isolation: Isolation) -> Result<(), PrepareError> {
        self.prepare_one(BEGIN_NAME, &isolation.begin_sql())
            .and_then(|_| self.prepare_one(COMMIT_NAME, "COMMIT"))
            .and_then(|_| self.prepare_one(ROLLBACK_NAME, "ROLLBACK"))
            .map_err(|error| PrepareError { statement: "transaction control", error })?;
        for (index, statement) in statements.iter().enumerate() {
            let id = StatementId(u16::try_from(index).expect("a workload has fewer than 65,536 statements"));
            let mut name = [0; StatementName::MAX_BYTES];
            let types = self
                .prepare_one(StatementName::write(id, &mut name), &statement.sql)
                .map_err(|error| PrepareError { statement: statement.name, error })?;
            self.link.reply.push_columns(types);
        }
        Ok(())
    }

    /// Lets the server check statements that are sent with each execution, and notes the types of their columns.
    /// Nothing stays in the session, which may be another one for the next transaction.
    ///
    /// # Errors
    /// [`PrepareError`] naming the first statement that the server refuses.
    pub fn describe(&mut self, statements: &[Statement]) -> Result<(), PrepareError> {
        for statement in statements {
            let described = self.prepare_one("", &statement.sql);
            let types = described.map_err(|error| PrepareError { statement: statement.name, error })?;
            self.link.reply.push_columns(types);
        }
        Ok(())
    }

    /// Whether a connection pooler answers for the server: the session that executes is not the one that the login
    /// named. False where the login named none.
    ///
    /// # Errors
    /// As [`Connection::exchange`].
    pub fn is_pooled(&mut self) -> Result<bool, TargetError> {
        let Some((process_id, _)) = self.greeting.cancel_key else { return Ok(false) };
        Ok(self.query(Self::BACKEND)? != [[Some(process_id.to_string())]])
    }

    /// The process that executes.
    pub const BACKEND: &'static str = "SELECT pg_backend_pid()";

    /// The isolation level that a transaction begun at `isolation` has, in the server's words.
    ///
    /// # Errors
    /// As [`Connection::exchange`].
    pub fn isolation_in_force(&mut self, isolation: Isolation) -> Result<String, TargetError> {
        self.query(&isolation.begin_sql())?;
        let shown = self.query(Isolation::SHOW)?;
        self.query("ROLLBACK")?;
        match shown.into_iter().flatten().next() {
            Some(Some(level)) => Ok(level),
            _ => Err(TargetError::Protocol(format!("no answer to {}", Isolation::SHOW))),
        }
    }

    /// Prepares what trying again needs beside ROLLBACK.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn prepare_retry(&mut self, retry: Retry) -> Result<(), PrepareError> {
        let statements: &[_] = match retry {
            Retry::Restart => &[],
            Retry::Savepoint => &[
                (SAVEPOINT_NAME, Dialect::RESTART_PROTOCOL[0]),
                (RELEASE_NAME, Dialect::RESTART_PROTOCOL[1]),
                (ROLLBACK_TO_NAME, Dialect::RESTART_PROTOCOL[2]),
            ],
        };
        for (name, sql) in statements {
            self.prepare_one(name, sql).map_err(|error| PrepareError { statement: "savepoint", error })?;
        }
        Ok(())
    }

    /// Parse + Describe + Sync; the types of the statement's columns. One round trip a statement: it is done once,
    /// and an error then belongs to one statement.
    pub(super) fn prepare_one(&mut self, name: &str, sql: &str) -> Result<Vec<u32>, TargetError> {
        let mut out = BytesMut::new();
        frontend::parse(name, sql, [], &mut out)
            .and_then(|()| frontend::describe(b'S', name, &mut out))
            .map_err(|error| TargetError::Protocol(error.to_string()))?;
        frontend::sync(&mut out);
        self.link.socket.send(&out)?;
        let mut types = Vec::new();
        self.read_until_ready(|message| {
            if let Message::RowDescription(body) = message {
                types = body.fields().map(|field| Ok(field.type_oid())).collect().map_err(damaged)?;
            }
            Ok(())
        })?;
        Ok(types)
    }

    /// Sends a batch and waits for its answer. The batch must be cleared before it is filled again.
    ///
    /// # Errors
    /// [`TargetError::Database`] for the first command that failed (the server skipped the rest; call
    /// [`Connection::reset`]), [`TargetError::Lost`] and [`TargetError::Protocol`] when the session is of no more use.
    pub fn exchange(&mut self, batch: &mut Batch) -> Result<&Reply, TargetError> {
        let (bytes, commands) = batch.close();
        self.link.exchange(bytes, commands)
    }

    /// Leaves a failed or open transaction, so that the next batch starts afresh. The number of round trips it took.
    ///
    /// # Errors
    /// As [`Connection::exchange`].
    pub fn reset(&mut self) -> Result<u32, TargetError> {
        if self.link.reply.status == TransactionStatus::Idle {
            return Ok(0);
        }
        self.query("ROLLBACK")?;
        Ok(1)
    }

    /// Runs one or more statements in the simple protocol; the rows of the last one that returned any, as text.
    ///
    /// # Errors
    /// As [`Connection::exchange`].
    pub fn query(&mut self, sql: &str) -> Result<TextRows, TargetError> {
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out).map_err(|error| TargetError::Protocol(error.to_string()))?;
        self.text_rows(&out)
    }

    /// Executes a prepared statement without parameters.
    pub(super) fn execute_named(&mut self, name: &str) -> Result<TextRows, TargetError> {
        let mut out = BytesMut::new();
        let no_values = |(), _: &mut BytesMut| Ok(postgres_protocol::IsNull::Yes);
        frontend::bind("", name, [], [], no_values, [], &mut out)
            .map_err(|_| TargetError::Protocol("a statement's name with a zero byte".to_owned()))?;
        frontend::execute("", 0, &mut out).map_err(|error| TargetError::Protocol(error.to_string()))?;
        frontend::sync(&mut out);
        self.text_rows(&out)
    }

    /// Sends a request; the rows of its last statement that returned any.
    fn text_rows(&mut self, request: &[u8]) -> Result<TextRows, TargetError> {
        self.link.socket.send(request)?;
        let mut rows = RowsSoFar::default();
        self.read_until_ready(|message| {
            match message {
                Message::RowDescription(_) => rows.clear(),
                Message::DataRow(body) => {
                    let text =
                        |range: std::ops::Range<usize>| String::from_utf8_lossy(&body.buffer()[range]).into_owned();
                    let row = body.ranges().map(|range| Ok(range.map(text))).collect();
                    rows.push(row.map_err(damaged)?)?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(rows.all())
    }

    /// Reads to `ReadyForQuery`, handing each message on. The server's first error is returned at the end.
    fn read_until_ready(
        &mut self,
        mut handle: impl FnMut(&Message) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let mut failure = None;
        loop {
            let Link { socket, reply, .. } = &mut self.link;
            reply.inbox.restart();
            let frame = match reply.inbox.next(socket) {
                Ok(frame) => frame,
                Err(lost) => return Err(failure.unwrap_or(lost)),
            };
            match frame.tag {
                backend::READY_FOR_QUERY_TAG => {
                    reply.status = TransactionStatus::read(reply.inbox.get(&frame.body))?;
                    return failure.map_or(Ok(()), Err);
                }
                backend::ERROR_RESPONSE_TAG => {
                    let error = reply.inbox.error(&frame)?.into_target_error();
                    failure.get_or_insert(error);
                }
                tag if is_asynchronous(tag) => {}
                _ => handle(&reply.inbox.message(&frame)?)?,
            }
        }
    }

    /// Sends a COPY statement and waits until the server is ready for rows.
    pub(super) fn start_copy(&mut self, sql: &str) -> Result<(), TargetError> {
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out).map_err(|error| TargetError::Protocol(error.to_string()))?;
        self.link.socket.send(&out)?;
        loop {
            let Link { socket, reply, .. } = &mut self.link;
            reply.inbox.restart();
            let frame = reply.inbox.next(socket)?;
            match frame.tag {
                backend::COPY_IN_RESPONSE_TAG => return Ok(()),
                backend::ERROR_RESPONSE_TAG => {
                    let error = reply.inbox.error(&frame)?.into_target_error();
                    return self.read_until_ready(|_| Ok(())).and(Err(error));
                }
                tag if is_asynchronous(tag) => {}
                tag => return Err(TargetError::Protocol(format!("the answer to COPY was {:?}", char::from(tag)))),
            }
        }
    }

    /// Sends the message that ends a COPY; the rows that the server took.
    pub(super) fn finish_copy(&mut self, end: &[u8]) -> Result<u64, TargetError> {
        self.link.socket.send(end)?;
        let mut rows = 0;
        self.read_until_ready(|message| {
            if let Message::CommandComplete(body) = message {
                let number = body.tag().map_err(damaged)?.rsplit(' ').next().and_then(|number| number.parse().ok());
                rows = number.unwrap_or(0);
            }
            Ok(())
        })?;
        Ok(rows)
    }

    pub(super) fn send_raw(&mut self, bytes: &[u8]) -> Result<(), TargetError> {
        self.link.socket.send(bytes)
    }
}

fn damaged(error: std::io::Error) -> TargetError {
    TargetError::Protocol(error.to_string())
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        // The session is over either way; saying so only keeps "unexpected EOF" out of the server's log.
        let _ = self.link.socket.send(&out);
    }
}
