//! Start-up: sends who logs in, and drives the login over a socket.

use super::dsn::{Address, Dsn};
use super::inbox::HEADER_BYTES;
use super::login::{Greeting, Login, Step, Terms};
use super::scram::Channel;
use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::socket::Socket;
use bytes::BytesMut;
use postgres_protocol::message::backend::{ERROR_RESPONSE_TAG, Message};
use postgres_protocol::message::frontend;

/// As in libpq, no message of a login is longer.
const MAX_MESSAGE_BYTES: usize = 30_000;

/// Logs in and waits until the session is ready.
pub(super) fn start(
    socket: &mut Socket,
    inbox: &mut Inbox,
    dsn: &Dsn,
    address: &Address,
) -> Result<Greeting, TargetError> {
    let parameters = [
        ("user", dsn.user()),
        ("database", dsn.database()),
        ("application_name", dsn.application_name()),
        ("client_encoding", "UTF8"),
    ];
    let parameters = parameters.into_iter().chain(dsn.options().map(|options| ("options", options)));
    let mut out = BytesMut::new();
    frontend::startup_message(parameters, &mut out).map_err(|error| TargetError::Protocol(error.to_string()))?;
    socket.send(&out)?;
    let password = dsn.password(address);
    let mut login = Login::new(terms(dsn, password.as_deref(), socket));
    loop {
        match login.receive(&receive(socket, inbox)?)? {
            Step::Listen => {}
            Step::Send(bytes) => socket.send(&bytes)?,
            Step::Ready(greeting) => return Ok(greeting),
        }
    }
}

fn terms<'a>(dsn: &'a Dsn, password: Option<&'a str>, socket: &Socket) -> Terms<'a> {
    Terms {
        user: dsn.user(),
        password,
        channel: match socket.is_encrypted() {
            true => Channel::Encrypted { end_point: socket.server_end_point() },
            false => Channel::Plain,
        },
        binding: dsn.tls().settings().channel_binding,
        methods: dsn.methods(),
    }
}

/// Whether a server of MySQL's protocol speaks, which it does first: a length, the number 0, protocol 10, and its version.
/// As a message of PostgreSQL's it would have an unknown tag, or a length beyond all others.
pub(super) fn is_mysqls_greeting(bytes: &[u8]) -> bool {
    matches!(bytes, [_, 0, 0, 0, 10, version, ..] if version.is_ascii_digit())
}

pub(super) fn mysql_answered() -> TargetError {
    TargetError::Refused("the server speaks MySQL's protocol: use mysql://".to_owned())
}

/// The next message; an error message ends the login.
fn receive(socket: &mut Socket, inbox: &mut Inbox) -> Result<Message, TargetError> {
    inbox.restart();
    let frame = inbox.next_within(socket, MAX_MESSAGE_BYTES);
    let first = match &frame {
        Ok(frame) => inbox.get(&(frame.body.start - HEADER_BYTES..frame.body.end)),
        Err(_) => inbox.unread(),
    };
    if is_mysqls_greeting(first) {
        return Err(mysql_answered());
    }
    let frame = frame?;
    if frame.tag == ERROR_RESPONSE_TAG {
        return Err(inbox.error(&frame)?.refusal());
    }
    inbox.message(&frame)
}
