//! Reaching a server: the hosts of a DSN in their order, each with or without TLS as `sslmode` says.

use super::connection::{Connection, Opened};
use super::dsn::{Address, Dsn, Negotiation, SessionAttributes, SslMode, first_that_will_do};
use super::startup;
use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::socket::Socket;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::time::Duration;

/// How a session is attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encryption {
    None,
    IfOffered,
    Required,
}

impl Connection {
    /// Connects and logs in to the first host that will do, within the DSN's connect timeout for each. As libpq
    /// has it, only a host that cannot be reached, is not up yet or is not what `target_session_attrs` wants leads to
    /// the next one. Afterwards a server whose answer takes longer than `timeout` counts as lost; `None`
    /// waits for ever (only keep-alive finds a dead machine).
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the server cannot be reached, [`TargetError::Database`] when it rejects the
    /// login, [`TargetError::Refused`] when we refuse what it offers.
    pub fn open(dsn: &Dsn, timeout: Option<Duration>) -> Result<Self, TargetError> {
        first_that_will_do(dsn.addresses(), leads_to_the_next_host, |address| Self::open_at(dsn, address, timeout))
    }

    fn open_at(dsn: &Dsn, address: &Address, timeout: Option<Duration>) -> Result<Self, TargetError> {
        let mut connection = Self::new(open_at(dsn, address)?, address, dsn.connect_timeout());
        if !connection.suits(dsn.session_attributes())? {
            let wanted = format!("{:?}", dsn.session_attributes());
            return Err(TargetError::Lost(format!(
                "the server at {address} does not match target_session_attrs ({wanted})"
            )));
        }
        connection.link.socket.opened(timeout)?;
        Ok(connection)
    }

    fn suits(&mut self, wanted: SessionAttributes) -> Result<bool, TargetError> {
        let (question, answer) = match wanted {
            SessionAttributes::Any => return Ok(true),
            SessionAttributes::ReadWrite => ("SHOW transaction_read_only", "off"),
            SessionAttributes::ReadOnly => ("SHOW transaction_read_only", "on"),
            SessionAttributes::Primary => ("SELECT pg_catalog.pg_is_in_recovery()", "f"),
            SessionAttributes::Standby => ("SELECT pg_catalog.pg_is_in_recovery()", "t"),
        };
        Ok(self.query(question)? == [[Some(answer.to_owned())]])
    }
}

/// Unreachable, or (57P03) starting up or shutting down.
#[must_use]
pub fn leads_to_the_next_host(error: &TargetError) -> bool {
    match error {
        TargetError::Lost(_) => true,
        TargetError::Database { sqlstate, .. } => sqlstate == "57P03",
        TargetError::Refused(_) | TargetError::Protocol(_) => false,
    }
}

fn open_at(dsn: &Dsn, address: &Address) -> Result<Opened, TargetError> {
    let mode = match address {
        Address::Unix(_) => SslMode::Disable, // never encrypted, whatever the mode: it does not leave the machine
        Address::Tcp { .. } => dsn.tls().settings().mode,
    };
    let (first, second) = match mode {
        SslMode::Disable => (Encryption::None, None),
        SslMode::Allow => (Encryption::None, Some(Encryption::Required)),
        SslMode::Prefer => (Encryption::IfOffered, Some(Encryption::None)),
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => (Encryption::Required, None),
    };
    let error = match (attempt(dsn, address, first), second) {
        (Err(error), Some(second)) if may_depend_on_encryption(&error) => match attempt(dsn, address, second) {
            Err(other) => both(error, second, &other),
            opened => return opened,
        },
        (outcome, _) => return outcome,
    };
    Err(error)
}

/// The rules of a server (`pg_hba.conf`) tell encrypted sessions from others; so do its certificates, of course.
fn may_depend_on_encryption(error: &TargetError) -> bool {
    match error {
        TargetError::Database { sqlstate, .. } => sqlstate.starts_with("28"),
        TargetError::Refused(_) => true,
        TargetError::Lost(_) | TargetError::Protocol(_) => false,
    }
}

/// The first attempt's error, with what the second one met.
fn both(first: TargetError, second: Encryption, other: &TargetError) -> TargetError {
    let how = if second == Encryption::None { "without TLS" } else { "with TLS" };
    match first {
        TargetError::Database { sqlstate, message } => {
            TargetError::Database { sqlstate, message: format!("{message} ({how}: {other})") }
        }
        TargetError::Refused(message) => TargetError::Refused(format!("{message} ({how}: {other})")),
        same => same,
    }
}

fn attempt(dsn: &Dsn, address: &Address, encryption: Encryption) -> Result<Opened, TargetError> {
    let mut socket = Socket::connect(address, dsn.connect_timeout())?;
    socket.set_timeout(Some(dsn.connect_timeout()))?;
    if let (Address::Tcp { host, .. }, true) = (address, encryption != Encryption::None) {
        socket = encrypt(socket, dsn, host, encryption)?;
    }
    let mut inbox = Inbox::default();
    let greeting = startup::start(&mut socket, &mut inbox, dsn, address)?;
    Ok(Opened { socket, inbox, greeting })
}

/// Asks for TLS, unless it begins at once, and starts it; the socket as it was when the server has none and that is
/// allowed.
fn encrypt(mut socket: Socket, dsn: &Dsn, host: &str, encryption: Encryption) -> Result<Socket, TargetError> {
    if dsn.tls().settings().negotiation == Negotiation::Direct {
        return socket.start_tls(dsn.tls(), host);
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.send(&request)?;
    // One byte and no more: whatever else came before the handshake would be trusted without having been encrypted.
    let mut answer = [0];
    socket.receive(&mut answer)?;
    match &answer {
        b"S" => socket.start_tls(dsn.tls(), host),
        b"N" if encryption == Encryption::IfOffered => Ok(socket),
        b"N" => Err(TargetError::Refused(format!("the server at {host} does not support TLS, which sslmode requires"))),
        [first] => Err(other_answer(socket, host, *first)),
    }
}

/// What a server is that answers the request for TLS with neither of the two letters.
fn other_answer(mut socket: Socket, host: &str, first: u8) -> TargetError {
    let mut greeting = vec![first];
    let mut more = [0; 64];
    if let Ok(count) = socket.receive(&mut more) {
        greeting.extend_from_slice(&more[..count]);
    }
    if startup::is_mysqls_greeting(&greeting) {
        return startup::mysql_answered();
    }
    TargetError::Lost(format!("the server at {host} answered the TLS request with an error"))
}
