//! `query`: statements outside a measurement, on a server that demands TLS.

use crate::support;

use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;
use support::mariadb::{PASSWORD, mariadb};
use support::program::{Running, command, spawn};
use support::tls::TlsServer;

fn ask(query: &Value) -> Running {
    let mut command = command();
    let mut running = spawn(command.arg("query"));
    running.stdin().write_all(query.to_string().as_bytes()).expect("it reads the query");
    running.close_stdin();
    running
}

fn answer(query: &Value) -> (i32, Value) {
    let ended = ask(query).end();
    (ended.code, ended.lines.into_iter().next().unwrap_or_else(|| panic!("no answer: {}", ended.stderr)))
}

#[test]
fn the_last_rows_come_with_the_session_that_gave_them() {
    let Some(tls) = TlsServer::start() else { return };
    let dsn =
        tls.url("only_encrypted", "localhost", &format!("sslmode=verify-full&sslrootcert={}", tls.path("root.crt")));
    let statements = ["CREATE TEMP TABLE t AS SELECT 7 AS x", "SELECT x, NULL, current_setting('work_mem') FROM t"];
    let (code, said) = answer(&json!({"dsn": dsn, "statements": statements, "settings": {"work_mem": "7MB"}}));
    assert_eq!((code, &said["failure"]), (0, &Value::Null), "{said}");
    assert_eq!(said["rows"], json!([["7", null, "7MB"]]));
    let in_force = "SELECT version || ' ' || cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let (_, theirs) = answer(&json!({"dsn": dsn, "statements": [in_force]}));
    assert_eq!(theirs["rows"][0][0], said["session"]["encryption"], "the server calls it the same");
    assert!(said["session"]["address"].as_str().unwrap().starts_with("localhost:"));
    let (_, plain) = answer(&json!({"dsn": tls.url("only_plain", "127.0.0.1", ""), "statements": ["SELECT 1"]}));
    assert_eq!(plain["session"]["encryption"], "none");
}

#[test]
fn a_failure_says_at_which_stage_and_whose_answer_it_is() {
    let Some(tls) = TlsServer::start() else { return };
    let url = |user: &str, query: &str| tls.url(user, "127.0.0.1", query);
    let forged = format!("sslmode=verify-ca&sslrootcert={}", tls.path("other.crt"));
    for (dsn, statement, code, stage, cause, sqlstate) in [
        ("redis://u@h/d".to_owned(), "SELECT 1", 2, "dsn", "client", Value::Null),
        ("postgresql://u@127.0.0.1:1/d".to_owned(), "SELECT 1", 3, "login", "lost", Value::Null),
        (url("only_encrypted", &forged), "SELECT 1", 3, "login", "client", Value::Null),
        (url("only_encrypted", "sslmode=disable"), "SELECT 1", 3, "login", "server", json!("28000")),
        (url("only_encrypted", "password=wrong"), "SELECT 1", 3, "login", "server", json!("28P01")),
        (url("only_encrypted", ""), "SELECT * FROM nothing", 6, "statement", "server", json!("42P01")),
    ] {
        let (ended, said) = answer(&json!({"dsn": dsn, "statements": [statement, "SELECT 2"]}));
        let failure = &said["failure"];
        assert_eq!(
            (ended, &failure["stage"], &failure["cause"], &failure["sqlstate"]),
            (code, &json!(stage), &json!(cause), &sqlstate),
            "{dsn}: {said}"
        );
        assert!(!said.to_string().contains("wrong"), "the password is not shown: {said}");
    }
}

#[test]
fn a_statement_is_cancelled_when_the_program_is_to_stop() {
    let Some(tls) = TlsServer::start() else { return };
    let dsn = tls.url("trusted", "127.0.0.1", "");
    let running = ask(&json!({"dsn": dsn, "statements": ["SELECT pg_sleep(600)"]}));
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'";
    let mut admin = tls.server.connect();
    let mut count = || admin.query(sleeping).expect("an answer")[0][0].clone();
    while count().as_deref() != Some("1") {
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal(Signal::TERM);
    let ended = running.end_within(support::HANGS);
    assert_eq!(ended.lines[0]["failure"]["sqlstate"], "57014", "{:?}", ended.lines);
    assert_eq!(count().as_deref(), Some("0"));
}

#[test]
fn mysql_is_asked_as_postgresql_is() {
    let Some(server) = mariadb() else { return };
    let ask = |dsn: &str, statements: &[&str]| {
        let mut command = command();
        let mut running = spawn(command.env("MYSQL_PWD", PASSWORD).arg("query"));
        running
            .stdin()
            .write_all(json!({"dsn": dsn, "statements": statements}).to_string().as_bytes())
            .expect("it reads");
        running.close_stdin();
        let ended = running.end();
        (ended.code, ended.lines.into_iter().next().unwrap_or_else(|| panic!("no answer: {}", ended.stderr)))
    };
    let statements = ["SET @a = 'x'", "SELECT CONNECTION_ID(), @a, NULL, VERSION()"];
    let (code, said) = ask(&server.dsn(), &statements);
    let (row, session) = (&said["rows"][0], &said["session"]);
    assert_eq!((code, &row[1], &row[2]), (0, &json!("x"), &Value::Null), "{said}");
    assert_eq!((row[0].as_str().unwrap(), &row[3]), (&*session["process_id"].to_string(), &session["server_version"]));
    assert!(session["encryption"].as_str().unwrap().starts_with("TLSv1."), "{said}");
    for (dsn, code, stage, cause, sqlstate) in [
        ("mysql://u@h".to_owned(), 2, "dsn", "client", Value::Null),
        ("mysql://u@127.0.0.1:1/d".to_owned(), 3, "login", "lost", Value::Null),
        (server.dsn().replace("bench@", "bench:wrong@"), 3, "login", "server", json!("28000")),
        (server.dsn(), 6, "statement", "server", json!("42S02")),
    ] {
        let (ended, said) = ask(&dsn, &["SELECT * FROM nothing"]);
        let failure = &said["failure"];
        assert_eq!(
            (ended, &failure["stage"], &failure["cause"], &failure["sqlstate"]),
            (code, &json!(stage), &json!(cause), &sqlstate),
            "{dsn}: {said}"
        );
    }
}
