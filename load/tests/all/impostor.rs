//! A man in the middle, over real TLS, learns no password and is not believed.

use crate::support;

use nephoscope_load::target::TargetError;
use nephoscope_load::target::postgres::{Connection, Dsn};
use std::io;
use std::time::Duration;
use support::PASSWORD;
use support::impostor::{Handshake, Impostor, PLUS, Session, WITHOUT_PLUS};

const REQUIRE: &str = "sslmode=require&channel_binding=require";

fn open_at(port: u16, query: &str) -> Result<Connection, TargetError> {
    let url = format!("postgresql://me@127.0.0.1:{port}/d?connect_timeout=5&{query}");
    let dsn = Dsn::parse(&url, |name| (name == "PGPASSWORD").then(|| PASSWORD.to_owned())).expect("a DSN");
    Connection::open(&dsn, Some(Duration::from_secs(5)))
}

/// Why the client refuses this server, which must not have received the password or its MD5 hash.
fn refused(name: &str, query: &str, behave: fn(&mut Session) -> io::Result<()>) -> String {
    let impostor = Impostor::start(name, Handshake::Agrees, behave);
    let outcome = open_at(impostor.port, query);
    let heard = impostor.heard();
    for secret in [PASSWORD.as_bytes(), b"md5"] {
        assert!(!heard.windows(secret.len()).any(|window| window == secret), "{name} heard {:?}", heard.escape_ascii());
    }
    outcome.expect_err(name).to_string()
}

/// The second of two hosts is as little trusted as the first.
#[test]
fn every_host_of_a_dsn_is_held_to_the_same_terms() {
    let busy = Impostor::start("busy", Handshake::Agrees, |session| session.say(b"E\0\0\0\x0cC57P03\0\0"));
    let second = Impostor::start("second", Handshake::Agrees, |session| prove_then(session, 3, b""));
    let url = format!("postgresql://me@127.0.0.1:{},127.0.0.1:{}/d?{REQUIRE}", busy.port, second.port);
    let dsn = Dsn::parse(&url, |name| (name == "PGPASSWORD").then(|| PASSWORD.to_owned())).expect("a DSN");
    assert!(Connection::open(&dsn, Some(Duration::from_secs(5))).is_err());
    let heard = second.heard();
    assert!(heard.windows(3).any(|window| window == b",p="), "the second host was not asked");
    assert!(!heard.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
}

/// As far as the client's proof.
fn prove(session: &mut Session, mechanisms: &[u8]) -> io::Result<()> {
    let challenge = session.begin_scram(mechanisms)?.challenge();
    session.authentication(11, challenge.as_bytes())?;
    session.hear().map(|_| ())
}

#[test]
fn a_bound_login_that_turns_into_another_one_is_refused() {
    for (name, behave) in [
        ("password", (|session| prove_then(session, 3, b"")) as fn(&mut Session) -> io::Result<()>),
        ("md5", |session| prove_then(session, 5, b"salt")),
        ("gss", |session| prove_then(session, 7, b"")),
        ("sspi", |session| prove_then(session, 9, b"")),
        ("again", |session| prove_then(session, 10, PLUS)),
        ("nothing", |session| {
            prove(session, PLUS)?;
            session.let_in()
        }),
        ("early-password", |session| {
            session.begin_scram(PLUS)?;
            session.authentication(3, b"")?;
            session.hear().map(|_| ())
        }),
        ("early-nothing", |session| {
            session.begin_scram(PLUS)?;
            session.let_in()
        }),
    ] {
        refused(name, REQUIRE, behave);
        refused(name, "sslmode=require", behave);
    }
}

fn prove_then(session: &mut Session, kind: i32, data: &[u8]) -> io::Result<()> {
    prove(session, PLUS)?;
    session.authentication(kind, data)?;
    session.hear()?;
    session.let_in()
}

#[test]
fn a_server_that_does_not_know_the_password_cannot_sign() {
    for query in [REQUIRE, "sslmode=require"] {
        let why = refused("forger", query, |session| {
            let mut exchange = session.begin_scram(PLUS)?;
            let challenge = exchange.challenge();
            session.authentication(11, challenge.as_bytes())?;
            let proof = session.hear()?;
            session.authentication(12, exchange.signature("a guess", &proof).as_bytes())?;
            session.let_in()
        });
        assert!(why.contains("SCRAM"), "{why}");
    }
}

#[test]
fn a_server_that_offers_no_binding_is_refused_where_it_is_required() {
    let why = refused("unbound", REQUIRE, |session| session.begin_scram(WITHOUT_PLUS).map(|_| ()));
    assert!(why.contains("does not offer it"), "{why}");
    for (name, behave) in [
        ("asks-at-once", (|session| session.authentication(3, b"")) as fn(&mut Session) -> io::Result<()>),
        ("asks-for-md5", |session| session.authentication(5, b"salt")),
        ("asks-nothing", Session::let_in),
    ] {
        refused(name, REQUIRE, behave);
        refused(name, "sslmode=require&require_auth=scram-sha-256", behave);
    }
}

#[test]
fn tls_that_is_stripped_or_written_into_is_refused() {
    for (name, handshake) in [("strips", Handshake::Strips), ("injects", Handshake::Injects)] {
        for query in ["sslmode=require", REQUIRE] {
            let impostor = Impostor::start(name, handshake, Session::let_in);
            let error = open_at(impostor.port, query).expect_err(name);
            assert!(matches!(error, TargetError::Refused(_)), "{name}: {error}");
            assert!(impostor.heard().is_empty(), "{name} heard more than the request for TLS");
        }
    }
}

/// An honest server that is spoken to in TLS from the first byte on.
#[test]
fn tls_may_begin_at_once_where_the_server_says_that_it_is_postgresql() {
    let honest: fn(&mut Session) -> io::Result<()> = |session| {
        let mut exchange = session.begin_scram(PLUS)?;
        let challenge = exchange.challenge();
        session.authentication(11, challenge.as_bytes())?;
        let proof = session.hear()?;
        session.authentication(12, exchange.signature(PASSWORD, &proof).as_bytes())?;
        session.let_in()
    };
    let server = Impostor::start("direct", Handshake::Direct { protocol: Some(b"postgresql") }, honest);
    let query =
        format!("sslnegotiation=direct&sslmode=verify-full&channel_binding=require&sslrootcert={}", server.root());
    assert!(open_at(server.port, &query).expect("a session").is_encrypted());
    for (name, protocol) in [("direct-unnamed", None), ("direct-other", Some(&b"http/1.1"[..]))] {
        let server = Impostor::start(name, Handshake::Direct { protocol }, honest);
        let error = open_at(server.port, "sslnegotiation=direct&sslmode=require").expect_err(name);
        assert!(matches!(&error, TargetError::Refused(why) if why.contains("PostgreSQL 17")), "{name}: {error}");
        assert!(server.heard().is_empty(), "{name} heard something");
    }
}

/// As it reaches a real server where TLS ends too early: that offers a binding to a client that cannot have one.
#[test]
fn a_binding_that_is_offered_without_tls_betrays_who_took_the_tls_away() {
    let impostor = Impostor::start("stripped", Handshake::Strips, |session| prove(session, PLUS));
    let why = open_at(impostor.port, "sslmode=prefer").expect_err("no TLS").to_string();
    assert!(why.contains("SCRAM-SHA-256-PLUS"), "{why}");
    assert!(!impostor.heard().windows(2).any(|window| window == b"r="), "SCRAM was begun");
}
