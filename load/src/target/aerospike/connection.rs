//! One session with a node.

use super::INFO;
use super::message::{Messages, question};
use super::reply::Reply;
use super::result::name_of;
use crate::target::link::Link;
use crate::target::postgres::Address;
use crate::target::quoted::quoted;
use crate::target::socket::Socket;
use crate::target::{Poll, Session, TargetError};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// What a node calls itself.
pub(super) const NODE: &str = "node";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A session. It carries one exchange at a time.
#[derive(Debug)]
pub struct Connection {
    link: Link<Reply>,
    /// How much of the exchange's request the kernel has taken.
    sent: usize,
}

impl Connection {
    /// Connects, and asks for the node's name: who answers is a node of Aerospike. Afterwards a node whose answer
    /// takes longer than `timeout` counts as lost; `None` waits for ever.
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the server cannot be reached, [`TargetError::Database`] when the node asks for a user,
    /// [`TargetError::Protocol`] when it is none.
    pub fn open(address: &Address, timeout: Option<Duration>) -> Result<Self, TargetError> {
        Self::open_within(address, timeout, CONNECT_TIMEOUT)
    }

    /// The same; it must be open within `most`.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_within(address: &Address, timeout: Option<Duration>, most: Duration) -> Result<Self, TargetError> {
        let most = most.min(CONNECT_TIMEOUT);
        let mut socket = Socket::connect(address, most)?;
        socket.set_timeout(Some(most))?;
        let mut connection = Self { link: Link::new(socket, Reply::default()), sent: 0 };
        connection.ask(&[NODE])?;
        connection.link.socket.opened(timeout)?;
        Ok(connection)
    }

    /// Sends messages and waits for their answers.
    ///
    /// # Errors
    /// [`TargetError::Database`] for the first that is refused (the others are still answered), and others when the session
    /// is no longer usable.
    pub fn exchange(&mut self, messages: &Messages) -> Result<&Reply, TargetError> {
        self.link.exchange(messages.bytes(), messages.due())
    }

    /// What the node says about these, in their order.
    ///
    /// # Errors
    /// As [`Connection::exchange`]; a single name that the node does not know is no error, its value says so.
    pub fn ask(&mut self, names: &[&str]) -> Result<Vec<String>, TargetError> {
        let reply = self.link.exchange(&question(names), (1, INFO))?;
        let text = String::from_utf8_lossy(reply.text(0));
        let mut lines = text.lines();
        let value = |name: &&str| match lines.next() {
            Some(line) => match line.split_once('\t') {
                Some((said, value)) if said == *name => Ok(value.to_owned()),
                _ => Err(info_refusal(line)),
            },
            None => Err(TargetError::Protocol(format!("the server did not answer {name}"))),
        };
        names.iter().map(value).collect()
    }

    /// Sends what the kernel takes of the rest of the request.
    fn send_rest(&mut self, request: &Messages) -> Result<(), TargetError> {
        self.sent += self.link.send(&request.bytes()[self.sent..])?;
        Ok(())
    }
}

/// `ERROR:80:not authenticated`, or something that is no answer at all.
pub(super) fn info_refusal(text: &str) -> TargetError {
    let mut parts = text.splitn(3, ':');
    let Some("ERROR" | "FAIL") = parts.next() else {
        return TargetError::Protocol(format!("unexpected answer \"{}\"", quoted(text.as_bytes())));
    };
    let code = parts.next().unwrap_or_default();
    let sqlstate = code.parse().map_or_else(|_| "ERROR".to_owned(), name_of);
    TargetError::Database { sqlstate, message: quoted(parts.next().unwrap_or(code).as_bytes()) }
}

impl Session for Connection {
    type Request = Messages;
    type Reply = Reply;

    fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        self.link.socket.set_nonblocking()
    }

    fn begin(&mut self, request: &mut Messages) -> Result<(), TargetError> {
        self.sent = 0;
        self.send_rest(request)
    }

    fn advance(&mut self, request: &Messages) -> Result<Poll, TargetError> {
        if self.wants_write(request) {
            self.send_rest(request)?;
        }
        self.link.advance(request.due())
    }

    fn wants_write(&self, request: &Messages) -> bool {
        self.sent < request.bytes().len()
    }

    fn reply(&self) -> &Reply {
        &self.link.reply
    }

    fn listen(&mut self) -> Result<(), TargetError> {
        self.link.listen()
    }

    fn commits(&self, _: &Messages) -> bool {
        // Each message takes effect, and is counted, when the node has read it.
        true
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_question_has_the_servers_word() {
        for (text, state, message) in [
            ("ERROR:80:not authenticated", "NOT_AUTHENTICATED", "not authenticated"),
            ("ERROR:4:unrecognized command", "PARAMETER", "unrecognized command"),
            ("ERROR::timeout", "ERROR", "timeout"),
            ("ERROR", "ERROR", ""),
        ] {
            let expected = TargetError::Database { sqlstate: state.to_owned(), message: message.to_owned() };
            assert_eq!(info_refusal(text), expected);
        }
        assert!(matches!(info_refusal("HTTP/1.1 400 Bad Request"), TargetError::Protocol(_)));
    }
}
