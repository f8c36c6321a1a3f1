//! SCRAM-SHA-256 on the client's side: what the library computes, and what it leaves to its user to check.

use super::dsn::ChannelBinding as Wanted;
use crate::target::TargetError;
use crate::target::quoted::quoted;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use std::io;
use std::ops::RangeInclusive;

/// How often the password may be hashed. The fewer rounds, the sooner a password is guessed from its proof, so a false
/// server asks for one round; RFC 7677 (section 4) wants at least 4,096. The library computes no more than 100,000, so
/// that a server cannot keep its clients busy.
const ITERATIONS: RangeInclusive<u32> = 4096..=100_000;

/// What lies between client and server.
#[derive(Debug, Clone)]
pub(super) enum Channel {
    /// Nothing: everybody on the way reads and writes.
    Plain,
    /// TLS.
    Encrypted {
        /// What a login can be bound to; `None` when the certificate names no hash function.
        end_point: Option<Vec<u8>>,
    },
}

/// The mechanism that is used, and what it is bound to.
pub(super) struct Mechanism {
    pub(super) name: &'static str,
    pub(super) is_bound: bool,
    binding: ChannelBinding,
}

impl Mechanism {
    /// RFC 5802, section 6: bound where both can; and where only the client can it says so, so that a man in the
    /// middle who struck the better mechanism off the list is found.
    pub(super) fn choose(offered: &[&str], channel: &Channel, wanted: Wanted) -> Result<Self, TargetError> {
        let offers = |mechanism: &str| offered.contains(&mechanism);
        let plain = |binding| match offers(SCRAM_SHA_256) {
            true => Ok(Self { name: SCRAM_SHA_256, is_bound: false, binding }),
            false => Err(TargetError::Refused("the server offers no SCRAM-SHA-256".to_owned())),
        };
        match (channel, wanted) {
            // No server offers what it cannot do: it has TLS with somebody else, who has none with us.
            (Channel::Plain, _) if offers(SCRAM_SHA_256_PLUS) => Err(TargetError::Refused(format!(
                "the server offers {SCRAM_SHA_256_PLUS} in a session without TLS: something on the way has taken the \
                 TLS away"
            ))),
            (Channel::Plain, Wanted::Require) => Err(unbound("the session is not encrypted")),
            (_, Wanted::Disable) | (Channel::Plain, _) => plain(ChannelBinding::unsupported()),
            (Channel::Encrypted { .. }, Wanted::Require) if !offers(SCRAM_SHA_256_PLUS) => {
                Err(unbound("the server does not offer it"))
            }
            (Channel::Encrypted { .. }, _) if !offers(SCRAM_SHA_256_PLUS) => plain(ChannelBinding::unrequested()),
            (Channel::Encrypted { end_point: Some(hash) }, _) => {
                let binding = ChannelBinding::tls_server_end_point(hash.clone());
                Ok(Self { name: SCRAM_SHA_256_PLUS, is_bound: true, binding })
            }
            (Channel::Encrypted { end_point: None }, Wanted::Require) => {
                Err(unbound("the server's certificate has no known hash function"))
            }
            (Channel::Encrypted { end_point: None }, Wanted::Prefer) => plain(ChannelBinding::unsupported()),
        }
    }
}

/// One exchange. Each of its steps can be taken once, in their order.
pub(super) struct Scram {
    inner: ScramSha256,
    is_bound: bool,
}

impl Scram {
    pub(super) fn new(password: &str, mechanism: Mechanism) -> Self {
        Self { inner: ScramSha256::new(password.as_bytes(), mechanism.binding), is_bound: mechanism.is_bound }
    }

    /// What is to be sent.
    pub(super) fn message(&self) -> &[u8] {
        self.inner.message()
    }

    /// Takes the server's challenge; afterwards the message proves that we know the password.
    pub(super) fn prove(mut self, challenge: &[u8]) -> Result<Self, TargetError> {
        let nonce = self.message().rsplit(|&byte| byte == b',').next().unwrap_or_default();
        check(challenge, nonce)?;
        self.inner.update(challenge).map_err(wrong)?;
        Ok(self)
    }

    /// Takes the server's own proof; whether that is bound to the channel.
    pub(super) fn verify(mut self, signature: &[u8]) -> Result<bool, TargetError> {
        self.inner.finish(signature).map_err(wrong)?;
        Ok(self.is_bound)
    }
}

/// `r=NONCE,s=SALT,i=COUNT` and nothing else, with something new in the nonce and the salt. `nonce` is `r=` and ours.
fn check(challenge: &[u8], nonce: &[u8]) -> Result<(), TargetError> {
    let broken = |what: &str| TargetError::Protocol(format!("SCRAM-SHA-256: the server's challenge {what}"));
    let fields: Vec<_> = challenge.split(|&byte| byte == b',').collect();
    let [extended, salt, count] = fields[..] else { return Err(broken("is not a nonce, a salt and a count")) };
    if !extended.starts_with(nonce) || extended.len() == nonce.len() {
        return Err(broken("does not extend the client's nonce"));
    }
    if salt.len() <= b"s=".len() {
        return Err(broken("has no salt"));
    }
    let count = count.strip_prefix(b"i=").and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let count: u32 = count.ok_or_else(|| broken("has no count of iterations"))?;
    if !ITERATIONS.contains(&count) {
        let (least, most) = (ITERATIONS.start(), ITERATIONS.end());
        return Err(TargetError::Refused(format!(
            "the server wants SCRAM-SHA-256 with {count} iterations; {least} to {most} are allowed: set \
             scram_iterations and then the role's password again"
        )));
    }
    Ok(())
}

pub(super) fn unbound(why: &str) -> TargetError {
    TargetError::Refused(format!("channel_binding=require is impossible: {why}"))
}

/// What the library says may quote the server.
fn wrong(error: io::Error) -> TargetError {
    TargetError::Protocol(format!("SCRAM-SHA-256: {}", quoted(error.to_string().as_bytes())))
}
