//! Start-up and authentication: trust, clear text, MD5 and SCRAM-SHA-256, without channel binding (there is no TLS).

use super::dsn::Dsn;
use super::inbox::Inbox;
use super::socket::Socket;
use crate::target::TargetError;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use std::io;

/// What a server tells while a session starts.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    /// `server_version`, for example `18.6`.
    pub(super) server_version: Option<String>,
}

/// Logs in and waits until the session is ready.
pub(super) fn start(socket: &mut Socket, inbox: &mut Inbox, dsn: &Dsn) -> Result<Greeting, TargetError> {
    let mut login = Login { socket, inbox, dsn, out: BytesMut::new(), scram: None };
    let parameters = [
        ("user", dsn.user()),
        ("database", dsn.database()),
        ("application_name", dsn.application_name()),
        ("client_encoding", "UTF8"),
    ];
    frontend::startup_message(parameters, &mut login.out).map_err(protocol)?;
    login.send()?;
    login.authenticate()?;
    login.wait_until_ready()
}

struct Login<'a> {
    socket: &'a mut Socket,
    inbox: &'a mut Inbox,
    dsn: &'a Dsn,
    out: BytesMut,
    scram: Option<ScramSha256>,
}

impl Login<'_> {
    fn authenticate(&mut self) -> Result<(), TargetError> {
        loop {
            match self.receive()? {
                Message::AuthenticationOk => return Ok(()),
                Message::AuthenticationCleartextPassword => {
                    let password = self.password("a password")?;
                    self.answer(|out| frontend::password_message(password.as_bytes(), out))?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let password = self.password("an MD5 password")?;
                    let hash = md5_hash(self.dsn.user().as_bytes(), password.as_bytes(), body.salt());
                    self.answer(|out| frontend::password_message(hash.as_bytes(), out))?;
                }
                Message::AuthenticationSasl(body) => self.begin_scram(&body)?,
                Message::AuthenticationSaslContinue(body) => {
                    let mut scram = self.scram.take().ok_or_else(out_of_order)?;
                    scram.update(body.data()).map_err(refused)?;
                    self.answer(|out| frontend::sasl_response(scram.message(), out))?;
                    self.scram = Some(scram);
                }
                Message::AuthenticationSaslFinal(body) => {
                    let mut scram = self.scram.take().ok_or_else(out_of_order)?;
                    scram.finish(body.data()).map_err(refused)?;
                }
                _ => {
                    return Err(refuse("the server asks for an authentication other than trust, password, md5, scram"));
                }
            }
        }
    }

    fn begin_scram(&mut self, body: &AuthenticationSaslBody) -> Result<(), TargetError> {
        let offered = body.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256)).map_err(protocol)?;
        if !offered {
            return Err(refuse("the server offers no SCRAM-SHA-256"));
        }
        let password = self.password("a password (SCRAM-SHA-256)")?;
        let scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        self.answer(|out| frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out))?;
        self.scram = Some(scram);
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<Greeting, TargetError> {
        let mut greeting = Greeting::default();
        loop {
            match self.receive()? {
                Message::ReadyForQuery(_) => return Ok(greeting),
                Message::ParameterStatus(body) if body.name().map_err(protocol)? == "server_version" => {
                    greeting.server_version = Some(body.value().map_err(protocol)?.to_owned());
                }
                _ => {}
            }
        }
    }

    fn password(&self, wanted: &str) -> Result<String, TargetError> {
        self.dsn.password().map(str::to_owned).ok_or_else(|| {
            refuse(&format!("the server asks {} for {wanted} and none was given: set PGPASSWORD", self.dsn.user()))
        })
    }

    fn answer(&mut self, write: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> Result<(), TargetError> {
        write(&mut self.out).map_err(protocol)?;
        self.send()
    }

    fn send(&mut self) -> Result<(), TargetError> {
        let sent = self.socket.send(&self.out);
        self.out.clear();
        sent
    }

    /// The next message; an error message ends the login.
    fn receive(&mut self) -> Result<Message, TargetError> {
        self.inbox.restart();
        let frame = self.inbox.next(self.socket)?;
        if frame.tag == postgres_protocol::message::backend::ERROR_RESPONSE_TAG {
            return Err(self.inbox.error(&frame)?.refusal());
        }
        self.inbox.message(&frame)
    }
}

/// The client's own refusal, under the SQLSTATE the server would use (invalid authorization specification).
fn refuse(message: &str) -> TargetError {
    TargetError::Database { sqlstate: "28000".to_owned(), message: message.to_owned() }
}

fn refused(error: io::Error) -> TargetError {
    refuse(&format!("SCRAM-SHA-256: {error}"))
}

fn out_of_order() -> TargetError {
    TargetError::Protocol("SCRAM messages out of order".to_owned())
}

fn protocol(error: io::Error) -> TargetError {
    TargetError::Protocol(error.to_string())
}
