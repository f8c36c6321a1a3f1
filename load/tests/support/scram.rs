//! The server's side of SCRAM-SHA-256 (RFC 5802), honest or not: what a test's server says is up to the test.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub const SALT: &[u8] = b"salt of the test";
pub const ITERATIONS: u32 = 4096;

/// One exchange, begun by the client's first message.
pub struct Exchange {
    /// Without the header that says how it is bound.
    client_first: String,
    challenge: String,
}

impl Exchange {
    /// `client_first` is the whole message: `n,,n=,r=NONCE`.
    pub fn begin(client_first: &[u8]) -> Self {
        let text = std::str::from_utf8(client_first).expect("text");
        let bare = text.splitn(3, ',').nth(2).expect("a header, and what it heads").to_owned();
        Self { client_first: bare, challenge: String::new() }
    }

    pub fn client_nonce(&self) -> &str {
        self.client_first.split_once("r=").expect("a nonce").1
    }

    /// What an honest server answers.
    pub fn challenge(&mut self) -> String {
        self.challenge_with(&format!("r={}server,s={},i={ITERATIONS}", self.client_nonce(), STANDARD.encode(SALT)))
    }

    /// The same, whatever the challenge is.
    pub fn challenge_with(&mut self, challenge: &str) -> String {
        self.challenge = challenge.to_owned();
        self.challenge.clone()
    }

    /// The last message of a server that takes this for the password: `v=SIGNATURE`.
    pub fn signature(&self, password: &str, client_final: &[u8]) -> String {
        let text = std::str::from_utf8(client_final).expect("text");
        let (unproven, _) = text.rsplit_once(",p=").expect("a proof");
        let message = format!("{},{},{unproven}", self.client_first, self.challenge);
        let server_key = keyed(&salted(password), b"Server Key");
        format!("v={}", STANDARD.encode(keyed(&server_key, message.as_bytes())))
    }
}

fn keyed(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length will do");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// PBKDF2, one block; each password once, as a test tries it again and again.
fn salted(password: &str) -> [u8; 32] {
    static MADE: Mutex<BTreeMap<String, [u8; 32]>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    *made.entry(password.to_owned()).or_insert_with(|| {
        let mut round = keyed(password.as_bytes(), &[SALT, &1_u32.to_be_bytes()].concat());
        let mut sum = round;
        for _ in 1..ITERATIONS {
            round = keyed(password.as_bytes(), &round);
            sum.iter_mut().zip(round).for_each(|(sum, byte)| *sum ^= byte);
        }
        sum
    })
}
