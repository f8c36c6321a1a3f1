//! Start-up and authentication: trust, clear text, MD5 and SCRAM-SHA-256, bound to the TLS channel where there is one.

use super::dsn::{ChannelBinding as Wanted, Dsn};
use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::socket::Socket;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use std::io;

/// What a server reports while a session starts.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    /// `server_version`, for example `18.6`.
    pub(super) server_version: Option<String>,
    /// Process id and secret with which a statement of this session can be cancelled.
    pub(super) cancel_key: Option<(i32, i32)>,
}

/// Logs in and waits until the session is ready.
pub(super) fn start(socket: &mut Socket, inbox: &mut Inbox, dsn: &Dsn) -> Result<Greeting, TargetError> {
    let mut login = Login { socket, inbox, dsn, out: BytesMut::new(), scram: None, bound: false };
    let parameters = [
        ("user", dsn.user()),
        ("database", dsn.database()),
        ("application_name", dsn.application_name()),
        ("client_encoding", "UTF8"),
    ];
    let parameters = parameters.into_iter().chain(dsn.options().map(|options| ("options", options)));
    frontend::startup_message(parameters, &mut login.out).map_err(protocol)?;
    login.send()?;
    login.authenticate()?;
    if login.wanted() == Wanted::Require && !login.bound {
        return Err(unbound("the server accepted the login without it"));
    }
    login.wait_until_ready()
}

struct Login<'a> {
    socket: &'a mut Socket,
    inbox: &'a mut Inbox,
    dsn: &'a Dsn,
    out: BytesMut,
    scram: Option<ScramSha256>,
    /// A SCRAM login with channel binding has been finished.
    bound: bool,
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
                    return Err(refuse(
                        "the server requires an authentication method other than trust, password, md5 and scram",
                    ));
                }
            }
        }
    }

    fn begin_scram(&mut self, body: &AuthenticationSaslBody) -> Result<(), TargetError> {
        let mechanisms: Vec<_> =
            body.mechanisms().map(|mechanism| Ok(mechanism.to_owned())).collect().map_err(protocol)?;
        let (mechanism, binding) = self.choose_binding(&mechanisms)?;
        let password = self.password("a password (SCRAM-SHA-256)")?;
        let scram = ScramSha256::new(password.as_bytes(), binding);
        self.answer(|out| frontend::sasl_initial_response(mechanism, scram.message(), out))?;
        self.scram = Some(scram);
        Ok(())
    }

    /// RFC 5802, section 6: bound where both can; and where only the client can it says so, so that a man in the
    /// middle who struck the better mechanism off the list is found.
    fn choose_binding(&mut self, offered: &[String]) -> Result<(&'static str, ChannelBinding), TargetError> {
        let offers = |mechanism: &str| offered.iter().any(|offer| offer == mechanism);
        let end_point = if self.wanted() == Wanted::Disable { None } else { self.socket.server_end_point() };
        match (end_point, self.wanted()) {
            (Some(end_point), _) if offers(SCRAM_SHA_256_PLUS) => {
                self.bound = true;
                Ok((SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(end_point)))
            }
            (None, Wanted::Require) if self.socket.is_encrypted() => {
                Err(unbound("the server's certificate has no known hash function"))
            }
            (None, Wanted::Require) => Err(unbound("the session is not encrypted")),
            (Some(_), Wanted::Require) => Err(unbound("the server does not offer it")),
            _ if !offers(SCRAM_SHA_256) => Err(refuse("the server offers no SCRAM-SHA-256")),
            (Some(_), _) => Ok((SCRAM_SHA_256, ChannelBinding::unrequested())),
            (None, _) => Ok((SCRAM_SHA_256, ChannelBinding::unsupported())),
        }
    }

    fn wanted(&self) -> Wanted {
        self.dsn.tls().settings().channel_binding
    }

    fn wait_until_ready(&mut self) -> Result<Greeting, TargetError> {
        let mut greeting = Greeting::default();
        loop {
            match self.receive()? {
                Message::ReadyForQuery(_) => return Ok(greeting),
                Message::ParameterStatus(body) if body.name().map_err(protocol)? == "server_version" => {
                    greeting.server_version = Some(body.value().map_err(protocol)?.to_owned());
                }
                Message::BackendKeyData(body) => greeting.cancel_key = Some((body.process_id(), body.secret_key())),
                _ => {}
            }
        }
    }

    fn password(&self, wanted: &str) -> Result<String, TargetError> {
        // A man in the middle would ask for the password itself: so a client that requires the binding does not send
        // it.
        if self.wanted() == Wanted::Require && !self.bound {
            return Err(unbound(&format!("the server requires {wanted}")));
        }
        self.dsn
            .password()
            .map(str::to_owned)
            .ok_or_else(|| refuse(&format!("the server requires {wanted} from {}: set PGPASSWORD", self.dsn.user())))
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

fn unbound(why: &str) -> TargetError {
    TargetError::Refused(format!("channel_binding=require is impossible: {why}"))
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
