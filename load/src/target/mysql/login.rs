//! A login, without a socket: what is sent in answer to each packet of the server.

use super::error::server_error;
use super::packet::{END, ERROR, MORE_DATA, OK, Reader, damaged, write_bytes};
use crate::target::TargetError;
use crate::target::quoted::quoted;
use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, PublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use std::fmt::Display;

/// What a client can do, and what a server can.
pub(super) mod capability {
    /// MySQL's own; a MariaDB server that leaves it out has capabilities beyond these 32.
    pub(in crate::target::mysql) const MYSQL: u32 = 1;
    pub(in crate::target::mysql) const FOUND_ROWS: u32 = 1 << 1;
    pub(in crate::target::mysql) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(in crate::target::mysql) const LOCAL_FILES: u32 = 1 << 7;
    pub(in crate::target::mysql) const PROTOCOL_41: u32 = 1 << 9;
    pub(in crate::target::mysql) const SSL: u32 = 1 << 11;
    pub(in crate::target::mysql) const TRANSACTIONS: u32 = 1 << 13;
    pub(in crate::target::mysql) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(in crate::target::mysql) const MULTI_RESULTS: u32 = 1 << 17;
    pub(in crate::target::mysql) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(in crate::target::mysql) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(in crate::target::mysql) const CONNECT_ATTRIBUTES: u32 = 1 << 20;
    pub(in crate::target::mysql) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    pub(in crate::target::mysql) const DEPRECATE_EOF: u32 = 1 << 24;
    /// Of MariaDB's further ones: definitions of columns are not repeated with each execution of a statement.
    pub(in crate::target::mysql) const CACHED_METADATA: u32 = 1 << 4;

    /// Without these there is no session.
    pub(in crate::target::mysql) const NEEDED: u32 =
        PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | PLUGIN_AUTH | PLUGIN_AUTH_LENENC | DEPRECATE_EOF;
}

const PROTOCOL: u8 = 10;
/// MariaDB calls itself so before its own version, for clients that expect MySQL's.
const REPLICATION_PREFIX: &str = "5.5.5-";
/// The longest packet that is sent or taken.
const MAX_PACKET_BYTES: u32 = 1 << 30;
/// `utf8mb4_bin`.
const CHARACTER_SET: u8 = 46;
const SCRAMBLE_BYTES: usize = 20;
const ED25519_SCRAMBLE_BYTES: usize = 32;

/// What a server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) session_id: u32,
    pub(super) capabilities: u32,
    /// MariaDB's further ones.
    pub(super) more_capabilities: u32,
    scramble: [u8; SCRAMBLE_BYTES],
    method: String,
}

impl Greeting {
    /// Reads the first packet.
    ///
    /// # Errors
    /// The server's own error instead of a greeting, [`TargetError::Refused`] for a server that is too old, and
    /// [`TargetError::Protocol`] for what is no greeting.
    pub(super) fn read(body: &[u8]) -> Result<Self, TargetError> {
        match body.first() {
            Some(&PROTOCOL) => {}
            Some(&ERROR) => return Err(server_error(body)),
            _ => return Err(TargetError::Refused("what answered is no server of MySQL's protocol".to_owned())),
        }
        let mut reader = Reader(&body[1..]);
        let version = quoted(reader.until_zero());
        let mut read = || {
            let session_id = reader.u32()?;
            let first = reader.take(8)?;
            reader.take(1)?;
            let low = reader.u16()?;
            let _character_set = reader.u8()?;
            let _status = reader.u16()?;
            let high = reader.u16()?;
            let _scramble_length = reader.u8()?;
            reader.take(6)?;
            let more_capabilities = reader.u32()?;
            let second = reader.take(SCRAMBLE_BYTES - 8 + 1)?;
            let mut scramble = [0; SCRAMBLE_BYTES];
            scramble[..8].copy_from_slice(first);
            scramble[8..].copy_from_slice(&second[..SCRAMBLE_BYTES - 8]);
            let capabilities = u32::from(low) | u32::from(high) << 16;
            let is_mysql = capabilities & capability::MYSQL != 0;
            let method = quoted(reader.until_zero());
            let version = version.strip_prefix(REPLICATION_PREFIX).unwrap_or(&version).to_owned();
            let more_capabilities = if is_mysql { 0 } else { more_capabilities };
            Some(Self { version, session_id, capabilities, more_capabilities, scramble, method })
        };
        let greeting = read().ok_or_else(|| damaged("the greeting"))?;
        if greeting.capabilities & capability::NEEDED != capability::NEEDED {
            return Err(TargetError::Refused(format!(
                "the server is of version {}: MySQL 5.7 or MariaDB 10.2 is needed",
                greeting.version
            )));
        }
        Ok(greeting)
    }
}

/// Who logs in, and how far the channel may be trusted with a password.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
    pub(super) database: &'a str,
    /// The loader sends rows as a local file.
    pub(super) sends_files: bool,
    /// TLS, or a socket of this machine.
    pub(super) is_private: bool,
    pub(super) is_encrypted: bool,
    pub(super) server_key: ServerKey<'a>,
}

/// The server's public key, with which a password may be encrypted where the channel is not private.
#[derive(Debug, Clone, Copy)]
pub(super) enum ServerKey<'a> {
    /// Nobody allows it: who sits between may give a key of their own.
    Unknown,
    /// The one that the server gives is believed.
    Asked,
    /// A PEM file's text.
    Known(&'a str),
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Listen,
    Send(Vec<u8>),
    /// The session is open.
    Ready,
}

/// A login under way.
#[derive(Debug)]
pub(super) struct Login<'a> {
    terms: Terms<'a>,
    method: Method,
    scramble: Vec<u8>,
    /// The server has asked for another method: it may do so once.
    switched: bool,
    /// The next message is the server's public key.
    awaits_key: bool,
    capabilities: u32,
    more_capabilities: u32,
}

/// How it is proven who logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Native,
    CachingSha2,
    /// MariaDB's own.
    Ed25519,
}

impl Method {
    fn of(name: &str) -> Option<Self> {
        match name {
            "mysql_native_password" => Some(Self::Native),
            "caching_sha2_password" => Some(Self::CachingSha2),
            "client_ed25519" => Some(Self::Ed25519),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Ed25519 => "client_ed25519",
        }
    }

    fn scramble_bytes(self) -> usize {
        if self == Self::Ed25519 { ED25519_SCRAMBLE_BYTES } else { SCRAMBLE_BYTES }
    }

    /// The proof that the password is known, for one login.
    fn proof(self, password: &str, scramble: &[u8]) -> Vec<u8> {
        // MariaDB asks for a signature by an empty password, too.
        if password.is_empty() && self != Self::Ed25519 {
            return Vec::new();
        }
        match self {
            Self::Native => {
                let once = Sha1::digest(password);
                let salted = Sha1::new().chain_update(scramble).chain_update(Sha1::digest(once)).finalize();
                once.iter().zip(salted).map(|(a, b)| a ^ b).collect()
            }
            Self::CachingSha2 => {
                let once = Sha256::digest(password);
                let salted = Sha256::new().chain_update(Sha256::digest(once)).chain_update(scramble);
                once.iter().zip(salted.finalize()).map(|(a, b)| a ^ b).collect()
            }
            Self::Ed25519 => {
                let key = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
                raw_sign::<Sha512>(&key, scramble, &VerifyingKey::from(&key)).to_bytes().to_vec()
            }
        }
    }
}

impl<'a> Login<'a> {
    pub(super) fn new(greeting: &Greeting, terms: Terms<'a>) -> Self {
        let mut capabilities = capability::NEEDED
            | capability::FOUND_ROWS
            | capability::CONNECT_WITH_DB
            | capability::MULTI_RESULTS
            | capability::PS_MULTI_RESULTS
            | capability::CONNECT_ATTRIBUTES;
        if terms.sends_files {
            capabilities |= capability::LOCAL_FILES;
        }
        if terms.is_encrypted {
            capabilities |= capability::SSL;
        }
        capabilities &= greeting.capabilities;
        capabilities |= greeting.capabilities & capability::MYSQL;
        Self {
            terms,
            // One that this client does not have, or that needs more than the greeting holds, may be the server's
            // habit, and not this user's.
            method: Method::of(&greeting.method)
                .filter(|method| method.scramble_bytes() == SCRAMBLE_BYTES)
                .unwrap_or(Method::Native),
            scramble: greeting.scramble.to_vec(),
            switched: false,
            awaits_key: false,
            capabilities,
            more_capabilities: greeting.more_capabilities & capability::CACHED_METADATA,
        }
    }

    /// Definitions of columns come once.
    pub(super) fn caches_metadata(&self) -> bool {
        self.more_capabilities & capability::CACHED_METADATA != 0
    }

    /// The first 32 bytes of the answer to the greeting; alone they ask for TLS.
    pub(super) fn tls_request(&self) -> Vec<u8> {
        let mut out = (self.capabilities | capability::SSL).to_le_bytes().to_vec();
        out.extend_from_slice(&MAX_PACKET_BYTES.to_le_bytes());
        out.push(CHARACTER_SET);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&self.more_capabilities.to_le_bytes());
        out
    }

    /// The answer to the greeting.
    pub(super) fn response(&self) -> Vec<u8> {
        let mut out = self.tls_request();
        out[..4].copy_from_slice(&self.capabilities.to_le_bytes());
        let terminated = |out: &mut Vec<u8>, text: &str| {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        };
        terminated(&mut out, self.terms.user);
        write_bytes(&mut out, &self.method.proof(self.terms.password, &self.scramble));
        terminated(&mut out, self.terms.database);
        terminated(&mut out, self.method.name());
        if self.capabilities & capability::CONNECT_ATTRIBUTES != 0 {
            let mut attributes = Vec::new();
            for text in ["program_name", "nephoscope-load", "_client_version", env!("CARGO_PKG_VERSION")] {
                write_bytes(&mut attributes, text.as_bytes());
            }
            write_bytes(&mut out, &attributes);
        }
        out
    }

    /// Judges the next packet.
    ///
    /// # Errors
    /// The server's refusal, [`TargetError::Refused`] for a method that this client does not have or a password that
    /// would go over the wire in clear, [`TargetError::Protocol`] for what has no place in a login.
    pub(super) fn receive(&mut self, body: &[u8]) -> Result<Step, TargetError> {
        match body {
            [OK, ..] => Ok(Step::Ready),
            [ERROR, ..] => Err(server_error(body)),
            [END, rest @ ..] if !self.switched => self.switch(rest),
            [MORE_DATA, key @ ..] if self.awaits_key => self.by_given_key(key),
            [MORE_DATA, FAST_PATH] if self.method == Method::CachingSha2 => Ok(Step::Listen),
            [MORE_DATA, FULL_PATH] if self.method == Method::CachingSha2 => self.password_itself(),
            _ => Err(TargetError::Protocol("a message that has no place in a login".to_owned())),
        }
    }

    /// The user's method is another one than the server's habit.
    fn switch(&mut self, rest: &[u8]) -> Result<Step, TargetError> {
        self.switched = true;
        let mut reader = Reader(rest);
        let name = reader.until_zero();
        let Some(method) = std::str::from_utf8(name).ok().and_then(Method::of) else {
            return Err(TargetError::Refused(format!(
                "the server wants the login method {}, which this client does not have: create the user with \
                 mysql_native_password, caching_sha2_password or ed25519",
                quoted(name)
            )));
        };
        self.method = method;
        let scramble = reader.0.get(..method.scramble_bytes());
        self.scramble = scramble.ok_or_else(|| damaged("the wish for another method"))?.to_vec();
        Ok(Step::Send(method.proof(self.terms.password, &self.scramble)))
    }

    fn password_itself(&mut self) -> Result<Step, TargetError> {
        if self.terms.is_private {
            return Ok(Step::Send(self.password_with_end()));
        }
        match self.terms.server_key {
            ServerKey::Known(pem) => self.encrypted(pem, "server-public-key-path").map(Step::Send),
            ServerKey::Asked => {
                self.awaits_key = true;
                Ok(Step::Send(vec![ASK_FOR_KEY]))
            }
            ServerKey::Unknown => Err(TargetError::Refused(
                "the server wants the password itself (caching_sha2_password, not logged in since its start), and the \
                 connection is not encrypted: use ssl-mode=REQUIRED or its socket, or name the server's public key by \
                 server-public-key-path"
                    .to_owned(),
            )),
        }
    }

    fn by_given_key(&mut self, key: &[u8]) -> Result<Step, TargetError> {
        self.awaits_key = false;
        let pem = std::str::from_utf8(key).map_err(|_| damaged("the server's public key"))?;
        self.encrypted(pem, "the answer of the server").map(Step::Send)
    }

    /// The password, which only the holder of the key and of this login's scramble reads.
    fn encrypted(&self, pem: &str, whence: &str) -> Result<Vec<u8>, TargetError> {
        let refused = |why: &dyn Display| TargetError::Refused(format!("no public key of RSA in {whence}: {why}"));
        let key = PublicKey::from_public_key_pem(pem.trim_end_matches(['\0', '\n'])).map_err(|why| refused(&why))?;
        let hidden: Vec<u8> =
            self.password_with_end().iter().zip(self.scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
        key.encrypt(&mut rand::rng(), Oaep::<Sha1>::new(), &hidden).map_err(|why| refused(&why))
    }

    fn password_with_end(&self) -> Vec<u8> {
        [self.terms.password.as_bytes(), &[0]].concat()
    }
}

/// `caching_sha2_password`: the server knows the password's hash, and what was proven is enough …
const FAST_PATH: u8 = 3;
/// … or it does not, and needs the password.
const FULL_PATH: u8 = 4;
/// Has the server send its public key.
const ASK_FOR_KEY: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use ed25519_dalek::Signature;

    /// What MariaDB 10.11 of Debian 12 says.
    const RECORDED: &[u8] =
        b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\x00\x27\0\0\0\x3d\x4b\x7b\x32\x40\x55\x3a\x79\0\xfe\xf7\x2d\x02\
        \0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0\x24\x47\x52\x37\x6f\x33\x3a\x3a\x6f\x54\x44\x5f\0mysql_native_password\0";

    fn terms(is_private: bool) -> Terms<'static> {
        Terms {
            user: "u",
            password: "secret",
            database: "d",
            sends_files: false,
            is_private,
            is_encrypted: false,
            server_key: ServerKey::Unknown,
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_recorded_greeting_is_read_and_none_that_is_cut() {
        let greeting = Greeting::read(RECORDED).unwrap();
        assert_eq!((greeting.version.as_str(), greeting.session_id), ("10.11.19-MariaDB-0+deb12u1", 39));
        assert!(Login::new(&greeting, terms(false)).caches_metadata());
        assert_eq!(&greeting.scramble, b"=K{2@U:y$GR7o3::oTD_");
        let end = RECORDED.len() - "mysql_native_password\0".len();
        for cut in 0..end {
            assert!(Greeting::read(&RECORDED[..cut]).is_err(), "{cut}");
        }
        let mut old = RECORDED.to_vec();
        let at = RECORDED.iter().position(|byte| *byte == 0).unwrap() + 1 + 4 + 8 + 1 + 2 + 1 + 2 + 1;
        old[at] &= !1; // CLIENT_DEPRECATE_EOF
        assert!(matches!(Greeting::read(&old), Err(TargetError::Refused(why)) if why.contains("MariaDB 10.2")));
    }

    /// Computed by Python's hashlib from the definitions of both methods.
    #[test]
    fn proofs() {
        let scramble: Vec<u8> = (1..=20).collect();
        let native = Method::Native.proof("secret", &scramble);
        assert_eq!(hex(&native), NATIVE_PROOF);
        assert_eq!(hex(&Method::CachingSha2.proof("secret", &scramble)), SHA2_PROOF);
        assert!(Method::Native.proof("", &scramble).is_empty() && Method::CachingSha2.proof("", &scramble).is_empty());
    }
    const NATIVE_PROOF: &str = "b32bb3a583e1340c0a1108d58b1be49781ad8c2f";
    const SHA2_PROOF: &str = "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9";

    #[test]
    fn a_password_goes_in_clear_only_where_nobody_else_can_read_it() {
        let greeting = Greeting::read(RECORDED).unwrap();
        let switch = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";
        for is_private in [false, true] {
            let mut login = Login::new(&greeting, terms(is_private));
            let expected = Method::CachingSha2.proof("secret", b"abcdefghijklmnopqrst");
            assert_eq!(login.receive(switch).unwrap(), Step::Send(expected));
            assert_eq!(login.receive(&[1, 3]).unwrap(), Step::Listen);
            match login.receive(&[1, 4]) {
                Ok(Step::Send(password)) => assert!(is_private && password == b"secret\0"),
                Err(TargetError::Refused(why)) => assert!(!is_private && why.contains("server-public-key-path")),
                other => panic!("{other:?}"),
            }
            assert!(matches!(login.receive(switch), Err(TargetError::Protocol(_))), "twice");
            assert_eq!(login.receive(&[0, 0, 0, 2, 0, 0, 0]).unwrap(), Step::Ready);
        }
    }

    /// What MariaDB 10.11 stores for `IDENTIFIED VIA ed25519 USING PASSWORD('secret')`.
    const ED25519_KEY: &str = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";

    #[test]
    fn a_signature_of_ed25519_is_one_by_the_key_that_mariadb_stores() {
        let scramble = b"0123456789abcdefghijklmnopqrstuv";
        let key = STANDARD_NO_PAD.decode(ED25519_KEY).unwrap();
        let key = VerifyingKey::from_bytes(key[..].try_into().unwrap()).unwrap();
        let mut login = Login::new(&Greeting::read(RECORDED).unwrap(), terms(false));
        let switch = [b"\xfeclient_ed25519\0", &scramble[..]].concat();
        let Step::Send(proof) = login.receive(&switch).unwrap() else { panic!("nothing is sent") };
        let signed = |bytes: &[u8]| key.verify_strict(bytes, &Signature::from_slice(&proof).unwrap()).is_ok();
        assert!(signed(scramble) && !signed(&scramble[1..]));
    }

    #[test]
    fn what_is_no_public_key_gets_no_password() {
        let greeting = Greeting::read(RECORDED).unwrap();
        for key in [&b""[..], b"\xff", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            let mut login = Login::new(&greeting, Terms { server_key: ServerKey::Asked, ..terms(false) });
            login.receive(b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0").unwrap();
            assert_eq!(login.receive(&[1, 4]).unwrap(), Step::Send(vec![ASK_FOR_KEY]));
            login.receive(&[&[MORE_DATA], key].concat()).unwrap_err();
        }
    }

    #[test]
    fn what_has_no_place_in_a_login_is_refused() {
        let greeting = Greeting::read(RECORDED).unwrap();
        for (packet, expected) in [
            (&b"\xfeclient_ed25519\0too short"[..], "damaged"),
            (b"\xfemysql_clear_password\0", "mysql_clear_password"),
            (b"\xfeparsec\0", "ed25519"),
            (b"\xfemysql_native_password\0short", "damaged"),
            (b"\xfb/etc/passwd", "no place"),
            (&[1, 4], "no place"),
            (b"", "no place"),
            (b"\xff\x15\x04#28000Access denied", "28000"),
        ] {
            let error = Login::new(&greeting, terms(true)).receive(packet).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
