//! A login as a state machine: a server's message in, what is to be sent and the next state out. It knows no socket.
//!
//! ```text
//! Begun ─ password, md5 ───────────────────────────────► PasswordSent ─┐
//!   ├─ SASL ─► ScramBegun ─ continue ─► ScramProven ─ final ─► Verified ┤
//!   └───────────────────────────────────────────────────────────────── ok ─► Accepted ─ ready ─► a session
//! ```
//!
//! A message without an arrow ends the login: a server that has begun one method cannot change to another, and one that
//! has begun SCRAM must prove that it knows the password before its `ok` counts.

use super::dsn::{AllowedMethods, ChannelBinding, Method};
use super::scram::{Channel, Mechanism, Scram, unbound};
use crate::target::TargetError;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use std::io;
use std::mem;

/// Who logs in, and on which conditions.
#[derive(Debug)]
pub(super) struct Terms<'a> {
    pub(super) user: &'a str,
    pub(super) password: Option<&'a str>,
    pub(super) channel: Channel,
    pub(super) binding: ChannelBinding,
    pub(super) methods: &'a AllowedMethods,
}

/// What a server reports while a session starts.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    /// `server_version`, for example `18.6`.
    pub(super) server_version: Option<String>,
    /// Process id and secret with which a statement of this session can be cancelled.
    pub(super) cancel_key: Option<(i32, i32)>,
}

/// What is to be done after a message.
#[derive(Debug)]
pub(super) enum Step {
    /// Wait for the next one.
    Listen,
    /// Send this, and wait for the next one.
    Send(BytesMut),
    /// Use the session.
    Ready(Greeting),
}

enum State {
    /// The startup message is out.
    Begun,
    /// So is the password, or its MD5 hash.
    PasswordSent(Method),
    /// The client's nonce is out.
    ScramBegun(Scram),
    /// So is the proof that it knows the password.
    ScramProven(Scram),
    /// The server has proven the same.
    Verified { is_bound: bool },
    /// The client has been let in, on its terms.
    Accepted(Greeting),
    /// Nothing more is believed.
    Over,
}

/// One login.
pub(super) struct Login<'a> {
    terms: Terms<'a>,
    state: State,
}

impl<'a> Login<'a> {
    pub(super) fn new(terms: Terms<'a>) -> Self {
        Self { terms, state: State::Begun }
    }

    /// Takes the server's next message, unless that is its error, which ends the login.
    ///
    /// # Errors
    /// [`TargetError::Refused`] when the server does not do what the terms demand, [`TargetError::Database`] when there
    /// is nothing to answer it with, [`TargetError::Protocol`] when the message may not come now. After an error every
    /// message is one.
    pub(super) fn receive(&mut self, message: &Message) -> Result<Step, TargetError> {
        let (state, step) = match (mem::replace(&mut self.state, State::Over), message) {
            (State::Begun, Message::AuthenticationCleartextPassword) => {
                let password = self.password_for(Method::Password)?;
                let reply = send(|out| frontend::password_message(password.as_bytes(), out))?;
                (State::PasswordSent(Method::Password), reply)
            }
            (State::Begun, Message::AuthenticationMd5Password(body)) => {
                let password = self.password_for(Method::Md5)?;
                let hash = md5_hash(self.terms.user.as_bytes(), password.as_bytes(), body.salt());
                let reply = send(|out| frontend::password_message(hash.as_bytes(), out))?;
                (State::PasswordSent(Method::Md5), reply)
            }
            (State::Begun, Message::AuthenticationSasl(body)) => self.begin_scram(body)?,
            (State::ScramBegun(scram), Message::AuthenticationSaslContinue(body)) => {
                let scram = scram.prove(body.data())?;
                let reply = send(|out| frontend::sasl_response(scram.message(), out))?;
                (State::ScramProven(scram), reply)
            }
            (State::ScramProven(scram), Message::AuthenticationSaslFinal(body)) => {
                (State::Verified { is_bound: scram.verify(body.data())? }, Step::Listen)
            }
            (State::Begun, Message::AuthenticationOk) => self.accept(Method::None, false)?,
            (State::PasswordSent(method), Message::AuthenticationOk) => self.accept(method, false)?,
            (State::Verified { is_bound }, Message::AuthenticationOk) => self.accept(Method::ScramSha256, is_bound)?,
            (State::Accepted(greeting), message) => return self.await_ready(greeting, message),
            (state, message) => return Err(state.stray(message)),
        };
        self.state = state;
        Ok(step)
    }

    fn begin_scram(&self, body: &AuthenticationSaslBody) -> Result<(State, Step), TargetError> {
        let offered: Vec<_> = body.mechanisms().collect().map_err(|error| protocol(&error))?;
        let Terms { channel, binding, .. } = &self.terms;
        let mechanism = Mechanism::choose(&offered, channel, *binding)?;
        let (name, password) = (mechanism.name, self.password_for(Method::ScramSha256)?);
        let scram = Scram::new(password, mechanism);
        let reply = send(|out| frontend::sasl_initial_response(name, scram.message(), out))?;
        Ok((State::ScramBegun(scram), reply))
    }

    /// The server has let the client in after a login by `method`.
    fn accept(&self, method: Method, is_bound: bool) -> Result<(State, Step), TargetError> {
        self.allow(method)?;
        if self.terms.binding == ChannelBinding::Require && !is_bound {
            return Err(unbound("the server accepted the login without it"));
        }
        Ok((State::Accepted(Greeting::default()), Step::Listen))
    }

    fn await_ready(&mut self, mut greeting: Greeting, message: &Message) -> Result<Step, TargetError> {
        match message {
            Message::ReadyForQuery(_) => return Ok(Step::Ready(greeting)),
            Message::ParameterStatus(body) => {
                if body.name().map_err(|error| protocol(&error))? == "server_version" {
                    greeting.server_version = Some(body.value().map_err(|error| protocol(&error))?.to_owned());
                }
            }
            Message::BackendKeyData(body) => greeting.cancel_key = Some((body.process_id(), body.secret_key())),
            Message::NoticeResponse(_) | Message::NotificationResponse(_) => {}
            message => return Err(State::Accepted(greeting).stray(message)),
        }
        self.state = State::Accepted(greeting);
        Ok(Step::Listen)
    }

    /// The password, if the server may be answered with it in this way.
    fn password_for(&self, method: Method) -> Result<&'a str, TargetError> {
        self.allow(method)?;
        let user = self.terms.user;
        let wanted = match method {
            Method::ScramSha256 => "a password (SCRAM-SHA-256)",
            Method::Md5 => "an MD5 password",
            _ => "a password",
        };
        // A man in the middle would ask for the password itself: so a client that requires the binding does not send it.
        if self.terms.binding == ChannelBinding::Require && method != Method::ScramSha256 {
            return Err(unbound(&format!("the server requires {wanted}")));
        }
        let password = self.terms.password.filter(|password| !password.is_empty());
        password.ok_or_else(|| refuse(format!("the server requires {wanted} from {user}: set PGPASSWORD")))
    }

    fn allow(&self, method: Method) -> Result<(), TargetError> {
        let methods = self.terms.methods;
        if methods.allow(method) {
            return Ok(());
        }
        let what = match method {
            Method::None => "accepted the login without asking for anything".to_owned(),
            method => format!("asks for {}", name_of(method)),
        };
        Err(TargetError::Refused(format!("the server {what}, which require_auth={} does not allow", methods.written())))
    }
}

impl State {
    /// What is wrong with a message that has no arrow from here.
    fn stray(&self, message: &Message) -> TargetError {
        match (self, message) {
            (Self::Begun, message) if other_method(message) => {
                let known = "trust, password, md5 and scram";
                refuse(format!("the server requires an authentication method other than {known}"))
            }
            (Self::ScramBegun(_) | Self::ScramProven(_), Message::AuthenticationOk) => TargetError::Protocol(
                "the server accepted a SCRAM-SHA-256 login before it had proven that it knows the password".to_owned(),
            ),
            (Self::ScramBegun(_) | Self::ScramProven(_) | Self::Verified { .. }, _) => {
                TargetError::Protocol("the server turned from a SCRAM-SHA-256 login to something else".to_owned())
            }
            _ => TargetError::Protocol("a message of the login came out of order".to_owned()),
        }
    }
}

fn other_method(message: &Message) -> bool {
    matches!(
        message,
        Message::AuthenticationKerberosV5
            | Message::AuthenticationScmCredential
            | Message::AuthenticationGss
            | Message::AuthenticationSspi
    )
}

fn name_of(method: Method) -> &'static str {
    Method::ALL.iter().find(|(_, other)| *other == method).map_or("", |(name, _)| name)
}

fn send(write: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> Result<Step, TargetError> {
    let mut out = BytesMut::new();
    write(&mut out).map_err(|error| protocol(&error))?;
    Ok(Step::Send(out))
}

/// The client's own refusal, under the SQLSTATE the server would use (invalid authorization specification).
fn refuse(message: String) -> TargetError {
    TargetError::Database { sqlstate: "28000".to_owned(), message }
}

fn protocol(error: &io::Error) -> TargetError {
    TargetError::Protocol(error.to_string())
}

#[cfg(test)]
mod tests;
