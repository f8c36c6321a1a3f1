//! Reaching a server: the hosts of a DSN in their order, each with or without TLS as `ssl-mode` says.

use super::connection::{Connection, Opened, SESSION_SETTINGS};
use super::dsn::Dsn;
use super::login::{Greeting, Login, ServerKey, Step, Terms, capability};
use super::packet::write_packet;
use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::postgres::{Address, SslMode, first_that_will_do};
use crate::target::socket::Socket;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A login is over after this many packets.
const MAX_PACKETS: usize = 8;
/// How long a server may take to say what it is, once it has said nothing.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Asks a server of PostgreSQL's protocol for TLS: it answers with one letter.
const POSTGRES_PROBE: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const REDIS_PROBE: &[u8] = b"PING\r\n";

impl Connection {
    /// Connects and logs in to the first host that will do, within the DSN's connect timeout for each; only a host that
    /// cannot be reached, or that is shutting down, leads to the next one. Afterwards a server whose answer takes longer
    /// than `timeout` counts as lost; `None` waits for ever (only keep-alive finds a dead machine).
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the server cannot be reached, [`TargetError::Database`] when it rejects the login,
    /// [`TargetError::Refused`] when we refuse what it offers.
    pub fn open(dsn: &Dsn, timeout: Option<Duration>) -> Result<Self, TargetError> {
        Self::open_first(dsn, timeout, false)
    }

    /// The same for a session that may send rows as a local file when it asks for that itself.
    pub(super) fn open_first(dsn: &Dsn, timeout: Option<Duration>, sends_files: bool) -> Result<Self, TargetError> {
        first_that_will_do(dsn.addresses(), leads_to_the_next_host, |address| {
            open_at(dsn, address, timeout, sends_files)
        })
    }
}

/// Unreachable, or shutting down.
#[must_use]
pub fn leads_to_the_next_host(error: &TargetError) -> bool {
    matches!(error, TargetError::Lost(_))
}

fn open_at(
    dsn: &Dsn,
    address: &Address,
    timeout: Option<Duration>,
    sends_files: bool,
) -> Result<Connection, TargetError> {
    let mut socket = Socket::connect(address, dsn.connect_timeout())?;
    socket.set_timeout(Some(dsn.connect_timeout()))?;
    let mut inbox = Inbox::default();
    let greeting = match inbox.next_packet(&mut socket) {
        Ok(packet) => Greeting::read(inbox.get(&packet.body))?,
        // A server of MySQL's protocol speaks first; others wait for their client.
        Err(lost) if inbox.unread().is_empty() => return Err(identify(address).unwrap_or(lost)),
        Err(TargetError::Protocol(_)) => return Err(identify(address).unwrap_or_else(no_such_protocol)),
        Err(lost) => return Err(lost),
    };
    let (socket, inbox, caches_metadata) = log_in(socket, inbox, dsn, address, &greeting, sends_files)?;
    let Greeting { version, session_id, .. } = greeting;
    let opened = Opened { socket, inbox, version, session_id, caches_metadata };
    let mut connection = Connection::new(opened, address, dsn);
    connection.query(SESSION_SETTINGS)?;
    connection.link.socket.opened(timeout)?;
    Ok(connection)
}

fn log_in(
    mut socket: Socket,
    mut inbox: Inbox,
    dsn: &Dsn,
    address: &Address,
    greeting: &Greeting,
    sends_files: bool,
) -> Result<(Socket, Inbox, bool), TargetError> {
    let host = encrypted_host(dsn, address, greeting)?;
    let no_file = |path: &Path, why| TargetError::Refused(format!("cannot read {}: {why}", path.display()));
    let key = dsn.server_key.as_ref().map(|path| fs::read_to_string(path).map_err(|why| no_file(path, why)));
    let key = key.transpose()?;
    let server_key = match &key {
        Some(pem) => ServerKey::Known(pem),
        None if dsn.asks_server_key => ServerKey::Asked,
        None => ServerKey::Unknown,
    };
    let terms = Terms {
        user: &dsn.user,
        password: &dsn.password,
        database: &dsn.database,
        sends_files,
        is_private: host.is_some() || matches!(address, Address::Unix(_)),
        is_encrypted: host.is_some(),
        server_key,
    };
    let mut login = Login::new(greeting, terms);
    let mut sequence = 1;
    if let Some(host) = host {
        // Whatever came with the greeting would be trusted without having been encrypted.
        if !inbox.unread().is_empty() {
            return Err(TargetError::Protocol("an answer before the TLS handshake".to_owned()));
        }
        send(&mut socket, sequence, &login.tls_request())?;
        socket = socket.start_tls(&dsn.tls, host)?;
        sequence += 1;
    }
    send(&mut socket, sequence, &login.response())?;
    for _ in 0..MAX_PACKETS {
        inbox.restart();
        let packet = inbox.next_packet(&mut socket)?;
        match login.receive(inbox.get(&packet.body))? {
            Step::Listen => {}
            Step::Send(bytes) => send(&mut socket, packet.sequence.wrapping_add(1), &bytes)?,
            Step::Ready => return Ok((socket, inbox, login.caches_metadata())),
        }
    }
    Err(TargetError::Protocol("a login without an end".to_owned()))
}

/// The host that TLS is started with, where it is. A socket's bytes do not leave the machine: they are never encrypted.
fn encrypted_host<'a>(dsn: &Dsn, address: &'a Address, greeting: &Greeting) -> Result<Option<&'a str>, TargetError> {
    let Address::Tcp { host, .. } = address else { return Ok(None) };
    let offered = greeting.capabilities & capability::SSL != 0;
    match dsn.tls.settings().mode {
        SslMode::Disable | SslMode::Allow => Ok(None),
        SslMode::Prefer => Ok(offered.then_some(host)),
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull if offered => Ok(Some(host)),
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
            Err(TargetError::Refused(format!("the server at {host} does not support TLS, which ssl-mode requires")))
        }
    }
}

fn send(socket: &mut Socket, sequence: u8, body: &[u8]) -> Result<(), TargetError> {
    let mut out = Vec::new();
    write_packet(&mut out, sequence, |out| out.extend_from_slice(body));
    socket.send(&out)
}

/// What answers at an address where a server of MySQL's protocol would have spoken first.
fn identify(address: &Address) -> Option<TargetError> {
    let first = |probe: &[u8]| -> Option<u8> {
        let mut socket = Socket::connect(address, PROBE_TIMEOUT).ok()?;
        socket.set_timeout(Some(PROBE_TIMEOUT)).ok()?;
        socket.send(probe).ok()?;
        let mut answer = [0];
        socket.receive(&mut answer).ok()?;
        Some(answer[0])
    };
    let (what, scheme) = match (first(&POSTGRES_PROBE), first(REDIS_PROBE)) {
        (Some(b'S' | b'N'), _) => ("PostgreSQL", "postgresql"),
        (_, Some(b'+' | b'-')) => ("Redis", "redis"),
        _ => return None,
    };
    Some(TargetError::Refused(format!("the server at {address} speaks {what}'s protocol: use {scheme}://")))
}

fn no_such_protocol() -> TargetError {
    TargetError::Refused("what answered is no server of MySQL's protocol".to_owned())
}
