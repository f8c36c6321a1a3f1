//! Every sequence of a server's messages, up to a length that holds each way to log in and one message more.

#[path = "../../../../tests/support/scram.rs"]
mod scram;

use super::*;
use bytes::BufMut;
use scram::Exchange;
use std::collections::BTreeSet;

const USER: &str = "me";
const PASSWORD: &str = "s3cret-of-the-test";
const LONGEST: usize = 6;

/// What a server may say. The names of those with which an honest one logs a client in are used in tables below.
const WORDS: [&str; 32] = [
    "ok",
    "password",
    "md5",
    "kerberos",
    "scm",
    "gss",
    "gss-continue",
    "sspi",
    "sasl+",
    "sasl",
    "plus",
    "sasl-other",
    "sasl-none",
    "challenge",
    "challenge-echo",
    "challenge-foreign",
    "challenge-cheap",
    "challenge-dear",
    "challenge-extension",
    "challenge-repeats",
    "challenge-unsalted",
    "signature",
    "signature-guess",
    "signature-none",
    "signature-more",
    "scram-error",
    "status",
    "key",
    "notice",
    "notification",
    "ready",
    "row",
];

const HARMLESS: [&str; 4] = ["status", "key", "notice", "notification"];

fn message(tag: u8, body: &[u8]) -> Message {
    let mut out = BytesMut::new();
    out.put_u8(tag);
    out.put_i32(4 + i32::try_from(body.len()).unwrap());
    out.put_slice(body);
    Message::parse(&mut out).unwrap().unwrap()
}

fn authentication(kind: i32, data: &[u8]) -> Message {
    message(b'R', &[&kind.to_be_bytes(), data].concat())
}

/// A server that says each word as well as it can: without an exchange it makes one up.
struct Server {
    exchange: Exchange,
    proof: Vec<u8>,
}

impl Server {
    fn new() -> Self {
        Self { exchange: Exchange::begin(b"n,,n=,r=nobody"), proof: b"c=biws,r=nobody,p=none".to_vec() }
    }

    fn say(&mut self, word: &str) -> Message {
        let ours = self.exchange.client_nonce().to_owned();
        let mut challenge = |text: String| authentication(11, self.exchange.challenge_with(&text).as_bytes());
        match word {
            "ok" => authentication(0, b""),
            "kerberos" => authentication(2, b""),
            "password" => authentication(3, b""),
            "md5" => authentication(5, b"salt"),
            "scm" => authentication(6, b""),
            "gss" => authentication(7, b""),
            "gss-continue" => authentication(8, b"token"),
            "sspi" => authentication(9, b""),
            "sasl+" => authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
            "sasl" => authentication(10, b"SCRAM-SHA-256\0\0"),
            "plus" => authentication(10, b"SCRAM-SHA-256-PLUS\0\0"),
            "sasl-other" => authentication(10, b"OAUTHBEARER\0PLAIN\0\0"),
            "sasl-none" => authentication(10, b"\0"),
            "challenge" => authentication(11, self.exchange.challenge().as_bytes()),
            "challenge-echo" => challenge(format!("r={ours},s=c2FsdA==,i=4096")),
            "challenge-foreign" => challenge("r=somebody-else,s=c2FsdA==,i=4096".to_owned()),
            "challenge-cheap" => challenge(format!("r={ours}x,s=c2FsdA==,i=4095")),
            "challenge-dear" => challenge(format!("r={ours}x,s=c2FsdA==,i=4294967295")),
            "challenge-extension" => challenge(format!("m=all,r={ours}x,s=c2FsdA==,i=4096")),
            "challenge-repeats" => challenge(format!("r={ours}x,s=c2FsdA==,i=4096,i=4096")),
            "challenge-unsalted" => challenge(format!("r={ours}x,s=,i=4096")),
            "signature" => self.sign(PASSWORD, ""),
            "signature-guess" => self.sign("a guess", ""),
            "signature-none" => authentication(12, b"v="),
            "signature-more" => self.sign(PASSWORD, ",m=all"),
            "scram-error" => authentication(12, b"e=other-error"),
            "status" => message(b'S', b"server_version\x0018.1\0"),
            "key" => message(b'K', &[0, 0, 0, 1, 0, 0, 0, 2]),
            "notice" => message(b'N', b"SNOTICE\0\0"),
            "notification" => message(b'A', b"\0\0\0\x01channel\0payload\0"),
            "ready" => message(b'Z', b"I"),
            "row" => message(b'D', &[0, 0]),
            other => panic!("nobody says {other}"),
        }
    }

    fn sign(&self, password: &str, more: &str) -> Message {
        authentication(12, (self.exchange.signature(password, &self.proof) + more).as_bytes())
    }

    /// Reads what the client says; whether that is the password or what stands for it.
    fn hear(&mut self, bytes: &[u8]) -> bool {
        assert_eq!(bytes[0], b'p');
        let body = &bytes[5..];
        if let Some(rest) = body.strip_prefix(b"SCRAM-SHA-256-PLUS\0").or(body.strip_prefix(b"SCRAM-SHA-256\0")) {
            self.exchange = Exchange::begin(&rest[4..]);
        } else if body.starts_with(b"c=") {
            self.proof = body.to_vec();
        } else {
            return true;
        }
        assert!(!bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
        false
    }
}

fn methods(written: &str) -> AllowedMethods {
    let url = format!("postgresql://u@h/d?require_auth={written}");
    crate::target::postgres::Dsn::parse(&url, |_| None).unwrap().methods().clone()
}

fn encrypted() -> Channel {
    Channel::Encrypted { end_point: Some(vec![7; 32]) }
}

/// How a sequence of words ends.
#[derive(Debug, Default)]
struct End {
    ready: bool,
    error: Option<TargetError>,
    gave_the_password: bool,
}

fn play(words: &[&str], terms: Terms<'_>) -> End {
    let (mut server, mut login, mut end) = (Server::new(), Login::new(terms), End::default());
    for word in words {
        match login.receive(&server.say(word)) {
            Ok(Step::Listen) => {}
            Ok(Step::Send(bytes)) => end.gave_the_password |= server.hear(&bytes),
            Ok(Step::Ready(_)) => end.ready = true,
            Err(error) => end.error = Some(error),
        }
        if end.ready || end.error.is_some() {
            break;
        }
    }
    if end.ready || end.error.is_some() {
        for word in ["ok", "password", "sasl", "status", "ready"] {
            assert!(login.receive(&server.say(word)).is_err(), "{words:?} is over, and {word} was taken");
        }
    }
    end
}

/// The sequences after which a session is used, and the first words of those by which a server gets the password. Of the
/// messages that may come between `ok` and `ready`, which change nothing, only the first is followed, and once.
fn explore(binding: ChannelBinding, channel: &Channel, methods: &AllowedMethods) -> (Vec<String>, Vec<String>) {
    let (mut ready, mut gave, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![Vec::new()]);
    while let Some(words) = open.pop() {
        for word in WORDS {
            let words = [&words[..], &[word]].concat();
            let channel = channel.clone();
            let terms = Terms { user: USER, password: Some(PASSWORD), channel, binding, methods };
            let end = play(&words, terms);
            if end.gave_the_password {
                gave.insert(words[0].to_owned());
            }
            let harmless: Vec<_> = words.iter().filter(|word| HARMLESS.contains(word)).collect();
            if end.ready {
                let said: Vec<_> = words.iter().filter(|word| !HARMLESS.contains(word)).copied().collect();
                ready.insert(said.join(" "));
            } else if end.error.is_none() && words.len() < LONGEST && harmless.iter().all(|word| **word == "status") {
                open.push(words);
            }
        }
    }
    (ready.into_iter().collect(), gave.into_iter().collect())
}

/// Logins that end well, without what every one of them ends with, and the requests that are answered by the password.
fn expect(binding: ChannelBinding, channel: &Channel, required: &str, logins: &[&str], passwords: &[&str]) {
    let mut expected: Vec<_> = logins.iter().map(|login| format!("{login} ok ready").trim_start().to_owned()).collect();
    expected.sort();
    let (ready, gave) = explore(binding, channel, &methods(required));
    assert_eq!(ready, expected, "{binding:?} {channel:?} {required:?}");
    assert_eq!(gave, passwords, "{binding:?} {channel:?} {required:?}");
}

const SASL: &str = "sasl challenge signature";
const BOTH: &str = "sasl+ challenge signature";
const PLUS: &str = "plus challenge signature";
const PASSWORDS: [&str; 2] = ["md5", "password"];

#[test]
fn of_all_sequences_only_whole_logins_end_in_a_session() {
    use ChannelBinding::{Disable, Prefer, Require};
    let unhashed = Channel::Encrypted { end_point: None };
    for (channel, binding, logins) in [
        (Channel::Plain, Disable, &["", "password", "md5", SASL][..]),
        (Channel::Plain, Prefer, &["", "password", "md5", SASL]),
        (encrypted(), Disable, &["", "password", "md5", SASL, BOTH]),
        (encrypted(), Prefer, &["", "password", "md5", SASL, BOTH, PLUS]),
        (unhashed.clone(), Disable, &["", "password", "md5", SASL, BOTH]),
        (unhashed.clone(), Prefer, &["", "password", "md5", SASL, BOTH]),
    ] {
        expect(binding, &channel, "", logins, &PASSWORDS);
    }
    expect(Require, &encrypted(), "", &[BOTH, PLUS], &[]);
    expect(Require, &unhashed, "", &[], &[]);
    expect(Require, &Channel::Plain, "", &[], &[]);
}

#[test]
fn of_all_sequences_only_those_that_require_auth_allows_end_in_a_session() {
    use ChannelBinding::{Prefer, Require};
    for (required, logins, passwords) in [
        ("scram-sha-256", &[SASL, BOTH, PLUS][..], &[][..]),
        ("none", &[""], &[]),
        ("none,md5", &["", "md5"], &["md5"]),
        ("password", &["password"], &["password"]),
        ("gss,sspi,oauth", &[], &[]),
        ("!none", &["password", "md5", SASL, BOTH, PLUS], &PASSWORDS),
        ("!password,!md5", &["", SASL, BOTH, PLUS], &[]),
        ("!scram-sha-256,!none", &["password", "md5"], &PASSWORDS),
    ] {
        expect(Prefer, &encrypted(), required, logins, passwords);
    }
    expect(Require, &encrypted(), "scram-sha-256", &[BOTH, PLUS], &[]);
    expect(Require, &encrypted(), "none,password", &[], &[]);
}

/// The first field of SCRAM says whether the client can bind: a server that could have, and was kept from saying so,
/// then knows.
#[test]
fn the_client_says_what_it_could_have_been_bound_to() {
    use ChannelBinding::{Disable, Prefer};
    let unhashed = Channel::Encrypted { end_point: None };
    for (binding, channel, offered, expected) in [
        (Prefer, Channel::Plain, "sasl", "n,,"),
        (Prefer, encrypted(), "sasl", "y,,"),
        (Prefer, encrypted(), "sasl+", "p=tls-server-end-point,,"),
        (Prefer, encrypted(), "plus", "p=tls-server-end-point,,"),
        (Prefer, unhashed.clone(), "sasl", "y,,"),
        (Prefer, unhashed, "sasl+", "n,,"),
        (Disable, encrypted(), "sasl", "n,,"),
        (Disable, encrypted(), "sasl+", "n,,"),
    ] {
        let all = AllowedMethods::default();
        let terms = Terms { user: USER, password: Some(PASSWORD), channel, binding, methods: &all };
        let Ok(Step::Send(bytes)) = Login::new(terms).receive(&Server::new().say(offered)) else { panic!("{offered}") };
        let header = bytes.windows(expected.len()).any(|window| window == expected.as_bytes());
        assert!(header, "{binding:?} {offered}: {:?}", bytes.escape_ascii());
    }
}

#[test]
fn a_refusal_says_what_the_server_did() {
    use ChannelBinding::{Prefer, Require};
    for (words, binding, required, expected) in [
        ("ok", Prefer, "scram-sha-256", "without asking for anything, which require_auth=scram-sha-256"),
        ("password", Prefer, "!password", "asks for password, which require_auth=!password does not allow"),
        ("sasl", Prefer, "md5", "asks for scram-sha-256, which require_auth=md5"),
        ("password", Require, "", "channel_binding=require is impossible: the server requires a password"),
        ("ok", Require, "", "accepted the login without it"),
        ("sasl", Require, "", "does not offer it"),
        ("sasl-other", Prefer, "", "offers no SCRAM-SHA-256"),
        ("gss", Prefer, "", "other than trust, password, md5 and scram"),
        ("sasl+ ok", Prefer, "", "before it had proven"),
        ("sasl+ challenge ok", Prefer, "none,scram-sha-256", "before it had proven"),
        ("sasl+ challenge password", Prefer, "", "turned from a SCRAM-SHA-256 login"),
        ("sasl+ challenge challenge", Prefer, "", "turned from a SCRAM-SHA-256 login"),
        ("sasl+ sasl+", Prefer, "", "turned from a SCRAM-SHA-256 login"),
        ("sasl+ challenge signature signature", Prefer, "", "turned from a SCRAM-SHA-256 login"),
        ("sasl+ signature", Prefer, "", "turned from a SCRAM-SHA-256 login"),
        ("sasl+ challenge-cheap", Prefer, "", "4095 iterations; 4096 to 100000 are allowed"),
        ("sasl+ challenge-dear", Prefer, "", "4294967295 iterations"),
        ("sasl+ challenge-echo", Prefer, "", "does not extend the client's nonce"),
        ("sasl+ challenge-foreign", Prefer, "", "does not extend the client's nonce"),
        ("sasl+ challenge-unsalted", Prefer, "", "no salt"),
        ("sasl+ challenge-extension", Prefer, "", "not a nonce, a salt and a count"),
        ("sasl+ challenge-repeats", Prefer, "", "not a nonce, a salt and a count"),
        ("sasl+ challenge signature-guess", Prefer, "", "verification error"),
        ("challenge", Prefer, "", "out of order"),
        ("notice", Prefer, "", "out of order"),
        ("password password", Prefer, "", "out of order"),
        ("ok ok", Prefer, "", "out of order"),
        ("ok password", Prefer, "", "out of order"),
        ("ok row", Prefer, "", "out of order"),
    ] {
        let all: Vec<_> = words.split(' ').collect();
        let methods = methods(required);
        let terms = Terms { user: USER, password: Some(PASSWORD), channel: encrypted(), binding, methods: &methods };
        let error = play(&all, terms).error.unwrap_or_else(|| panic!("{words} was taken")).to_string();
        assert!(error.contains(expected), "{words}: {error}");
    }
}

#[test]
fn without_a_password_nothing_is_answered() {
    for password in [None, Some("")] {
        for word in ["password", "md5", "sasl", "sasl+"] {
            let all = AllowedMethods::default();
            let (binding, channel) = (ChannelBinding::Prefer, encrypted());
            let error = play(&[word], Terms { user: USER, password, channel, binding, methods: &all }).error;
            let error = error.unwrap_or_else(|| panic!("{word} was answered")).to_string();
            assert!(error.contains("from me: set PGPASSWORD"), "{word}: {error}");
        }
    }
}
