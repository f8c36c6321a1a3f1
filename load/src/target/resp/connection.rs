//! One session with a server.

use super::commands::Commands;
use super::reply::{Answer, Reply};
use super::url::Url;
use crate::target::link::{Link, Outbox};
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
    link: Link<Reply>,
    outbox: Outbox,
}

impl Connection {
    /// Connects, logs in and chooses the database. Afterwards a server whose answer takes longer than `timeout` counts
    /// as lost; `None` waits for ever.
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the server cannot be reached, [`TargetError::Database`] when it rejects the login.
    pub fn open(url: &Url, timeout: Option<Duration>) -> Result<Self, TargetError> {
        Self::open_within(url, timeout, CONNECT_TIMEOUT)
    }

    /// The same; it must be open within `most`.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_within(url: &Url, timeout: Option<Duration>, most: Duration) -> Result<Self, TargetError> {
        let most = most.min(CONNECT_TIMEOUT);
        let mut socket = Socket::connect(&url.address, most)?;
        socket.set_timeout(Some(most))?;
        let mut connection = Self { link: Link::new(socket, Reply::default()), outbox: Outbox::default() };
        let mut commands = Commands::default();
        match (&url.user, &url.password) {
            // A user who needs no password (`nopass`) may give any: without AUTH the session would be another user's.
            (Some(user), password) => {
                let password = password.as_deref().unwrap_or_default();
                commands.all(&[b"AUTH", user.as_bytes(), password.as_bytes()]);
            }
            (None, Some(password)) => {
                commands.all(&[b"AUTH", password.as_bytes()]);
            }
            (None, None) => {}
        }
        if url.database > 0 {
            commands.all(&[b"SELECT", url.database.to_string().as_bytes()]);
        }
        if commands.count() > 0 {
            connection.exchange(&mut commands)?;
        }
        connection.set_name()?;
        connection.link.socket.opened(timeout)?;
        Ok(connection)
    }

    /// Shows in CLIENT LIST whose session this is, unless the user may not do that or the server has no such command.
    fn set_name(&mut self) -> Result<(), TargetError> {
        match self.call(&[b"CLIENT", b"SETNAME", CLIENT_NAME]) {
            Err(error) if is_too_many_clients(&error) => Err(error),
            Err(TargetError::Database { sqlstate, .. }) if matches!(sqlstate.as_str(), "NOPERM" | "ERR") => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    /// Sends commands and waits for their answers.
    ///
    /// # Errors
    /// [`TargetError::Database`] for the first that is refused (the others are still answered), and others when the session
    /// is no longer usable.
    pub fn exchange(&mut self, commands: &mut Commands) -> Result<&Reply, TargetError> {
        self.link.exchange(commands.bytes(), commands.count())
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

/// The first answer on a connection that the server closes at once, because it has as many as it takes.
#[must_use]
pub fn is_too_many_clients(error: &TargetError) -> bool {
    matches!(error, TargetError::Database { message, .. } if message.starts_with("max number of clients"))
}

impl Session for Connection {
    type Request = Commands;
    type Reply = Reply;

    fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        self.link.socket.set_nonblocking()
    }

    /// Behind what was started before: values are copied once.
    fn fill<R>(&mut self, request: &mut Commands, fill: impl FnOnce(&Reply, &mut Commands) -> R) -> R {
        std::mem::swap(request.bytes_mut(), self.outbox.bytes_mut());
        let filled = fill(&self.link.reply, request);
        std::mem::swap(request.bytes_mut(), self.outbox.bytes_mut());
        filled
    }

    fn begin(&mut self, request: &mut Commands) -> Result<(), TargetError> {
        self.outbox.begin(request.bytes());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        self.outbox.flush(&mut self.link)
    }

    fn advance(&mut self, request: &Commands) -> Result<Poll, TargetError> {
        if self.wants_write(request) {
            self.flush()?;
        }
        self.link.advance(request.count())
    }

    fn wants_write(&self, _: &Commands) -> bool {
        !self.outbox.is_empty()
    }

    fn reply(&self) -> &Reply {
        &self.link.reply
    }

    fn listen(&mut self) -> Result<(), TargetError> {
        self.link.listen()
    }

    fn commits(&self, _: &Commands) -> bool {
        // Each command takes effect, and is counted, when the server has read it.
        true
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.socket.as_fd()
    }
}
