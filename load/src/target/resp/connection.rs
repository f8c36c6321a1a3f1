//! One session with a server.

use super::commands::Commands;
use super::reply::{Answer, Reply};
use super::url::Url;
use crate::target::inbox::Filled;
use crate::target::socket::Socket;
use crate::target::{Poll, Session, TargetError};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What the server shows in CLIENT LIST.
const CLIENT_NAME: &[u8] = b"nephoscope-load";

/// A session.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    reply: Reply,
    /// Begun, and not yet taken by the kernel.
    outbox: Vec<u8>,
    /// How much of it the kernel has taken.
    sent: usize,
    /// Part of the oldest exchange's answer may have been read.
    answering: bool,
    /// The last read took all that was there: no need to look again before something is sent or comes.
    drained: bool,
}

impl Connection {
    /// Connects, logs in and chooses the database. Afterwards a server that is silent for `timeout` while an answer is due
    /// counts as lost; `None` waits for ever.
    ///
    /// # Errors
    /// [`TargetError::Lost`] when nobody answers, [`TargetError::Database`] when the server refuses us.
    pub fn open(url: &Url, timeout: Option<Duration>) -> Result<Self, TargetError> {
        Self::open_within(url, timeout, CONNECT_TIMEOUT)
    }

    /// The same; until it is open, each wait for the server is at most `most` long.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_within(url: &Url, timeout: Option<Duration>, most: Duration) -> Result<Self, TargetError> {
        let most = most.min(CONNECT_TIMEOUT);
        let socket = Socket::connect(&url.address, most)?;
        socket.set_timeout(Some(most))?;
        let mut connection =
            Self { socket, reply: Reply::default(), outbox: Vec::new(), sent: 0, answering: false, drained: false };
        let mut commands = Commands::default();
        match (&url.user, &url.password) {
            (Some(user), Some(password)) => {
                commands.all(&[b"AUTH", user.as_bytes(), password.as_bytes()]);
            }
            (None, Some(password)) => {
                commands.all(&[b"AUTH", password.as_bytes()]);
            }
            (_, None) => {}
        }
        if url.database > 0 {
            commands.all(&[b"SELECT", url.database.to_string().as_bytes()]);
        }
        commands.all(&[b"CLIENT", b"SETNAME", CLIENT_NAME]);
        connection.exchange(&mut commands)?;
        connection.socket.set_timeout(timeout)?;
        Ok(connection)
    }

    /// Sends commands and waits for their answers.
    ///
    /// # Errors
    /// [`TargetError::Database`] for the first that is refused (the others are answered all the same), and others when the
    /// session is of no more use.
    pub fn exchange(&mut self, commands: &mut Commands) -> Result<&Reply, TargetError> {
        self.socket.send(commands.bytes())?;
        self.reply.expect();
        loop {
            if let Some(outcome) = self.reply.parse(commands.count())? {
                return outcome.map(|()| &self.reply);
            }
            self.reply.make_room();
            self.reply.inbox.fill(&mut self.socket)?;
        }
    }

    fn is_unsent(&self) -> bool {
        self.sent < self.outbox.len()
    }

    /// One command and its answer.
    ///
    /// # Errors
    /// As [`Connection::exchange`].
    pub fn call(&mut self, parts: &[&[u8]]) -> Result<&Reply, TargetError> {
        let mut commands = Commands::default();
        commands.all(parts);
        self.exchange(&mut commands)
    }

    /// The text that a command answers; empty when it is something else.
    ///
    /// # Errors
    /// As [`Connection::exchange`].
    pub fn text(&mut self, parts: &[&[u8]]) -> Result<String, TargetError> {
        match self.call(parts)?.answer(0) {
            Some(Answer::Text(text)) => Ok(String::from_utf8_lossy(text).into_owned()),
            _ => Ok(String::new()),
        }
    }
}

impl Session for Connection {
    type Request = Commands;
    type Reply = Reply;

    fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        self.socket.set_nonblocking()
    }

    fn begin(&mut self, request: &mut Commands) -> Result<(), TargetError> {
        self.outbox.extend_from_slice(request.bytes());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        self.drained = false;
        while self.is_unsent() {
            match self.socket.try_send(&self.outbox[self.sent..])? {
                Some(count) => self.sent += count,
                None => return Ok(()),
            }
        }
        self.outbox.clear();
        self.sent = 0;
        Ok(())
    }

    fn advance(&mut self, request: &Commands) -> Result<Poll, TargetError> {
        if self.is_unsent() {
            self.flush()?;
        }
        if !std::mem::replace(&mut self.answering, true) {
            self.reply.expect();
        }
        loop {
            if let Some(outcome) = self.reply.parse(request.count())? {
                self.answering = false;
                return outcome.map(|()| Poll::Ready);
            }
            if std::mem::take(&mut self.drained) {
                return Ok(Poll::Pending);
            }
            self.reply.make_room();
            match self.reply.inbox.try_fill(&mut self.socket)? {
                Filled::Nothing => return Ok(Poll::Pending),
                Filled::All => self.drained = true,
                Filled::PerhapsMore => {}
            }
        }
    }

    fn wants_write(&self, _: &Commands) -> bool {
        self.is_unsent()
    }

    fn reply(&self) -> &Reply {
        &self.reply
    }

    fn listen(&mut self) -> Result<(), TargetError> {
        self.reply.expect();
        match self.reply.inbox.try_fill(&mut self.socket)? {
            Filled::Nothing => Ok(()),
            Filled::All | Filled::PerhapsMore => Err(TargetError::Protocol("an answer to nothing".to_owned())),
        }
    }

    fn commits(&self, _: &Commands) -> bool {
        // Each command takes effect, and is counted, when the server has read it.
        true
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
