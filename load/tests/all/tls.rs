//! TLS, logins over it, and several hosts, against a real server that has it.

use crate::support;

use nephoscope_load::target::TargetError;
use nephoscope_load::target::postgres::{Connection, Dsn};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use support::program::{exec, point_select, start};
use support::tls::TlsServer;
use support::{PASSWORD, USER};

fn open_with(url: &str, password: Option<&str>, home: Option<&str>) -> Result<Connection, TargetError> {
    let environment = |name: &str| match name {
        "PGPASSWORD" => password.map(str::to_owned),
        "HOME" => home.map(str::to_owned),
        _ => None,
    };
    Connection::open(&Dsn::parse(url, environment).expect("a DSN"), Some(Duration::from_secs(10)))
}

fn open(url: &str) -> Result<Connection, TargetError> {
    open_with(url, Some(PASSWORD), None)
}

/// Whether the server itself says that it encrypts this session.
fn encrypted(mut connection: Connection) -> bool {
    let answer = connection.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").unwrap();
    let ssl = answer[0][0].as_deref() == Some("t");
    assert_eq!(connection.is_encrypted(), ssl);
    ssl
}

fn refusal(outcome: Result<Connection, TargetError>) -> String {
    match outcome {
        Err(TargetError::Refused(why)) => why,
        Err(other) => panic!("a refusal of the client is expected, not {other}"),
        Ok(_) => panic!("a refusal of the client is expected, and it went on"),
    }
}

fn sqlstate(outcome: Result<Connection, TargetError>) -> String {
    match outcome {
        Err(TargetError::Database { sqlstate, .. }) => sqlstate,
        Err(other) => panic!("a server's error is expected, not {other}"),
        Ok(_) => panic!("a server's error is expected, and it let us in"),
    }
}

#[test]
fn every_sslmode_on_a_server_that_takes_both() {
    let Some(tls) = TlsServer::start() else { return };
    let root = tls.path("root.crt");
    for (host, query, expected) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), false),
        ("127.0.0.1", "sslmode=allow".to_owned(), false),
        ("127.0.0.1", String::new(), true),
        ("127.0.0.1", "sslmode=prefer".to_owned(), true),
        ("127.0.0.2", "sslmode=require".to_owned(), true),
        ("127.0.0.2", format!("sslmode=require&sslrootcert={root}"), true),
        ("127.0.0.2", format!("sslmode=verify-ca&sslrootcert={root}"), true),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}"), true),
        ("localhost", format!("sslmode=verify-full&sslrootcert={root}"), true),
    ] {
        let connection = open(&tls.url(USER, host, &query)).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(encrypted(connection), expected, "{host} {query}");
    }
    assert!(!encrypted(open(&tls.server.socket_dsn().replace('?', "?sslmode=require&")).unwrap()));
}

#[test]
fn allow_and_prefer_fall_back_where_the_servers_rules_want_the_other() {
    let Some(tls) = TlsServer::start() else { return };
    let open = |user: &str, mode: &str| open(&tls.url(user, "127.0.0.1", &format!("sslmode={mode}")));
    for (user, mode, expected) in [
        ("only_encrypted", "allow", true),
        ("only_encrypted", "prefer", true),
        ("only_encrypted", "require", true),
        ("only_plain", "disable", false),
        ("only_plain", "allow", false),
        ("only_plain", "prefer", false),
    ] {
        assert_eq!(encrypted(open(user, mode).unwrap()), expected, "{user} {mode}");
    }
    assert_eq!(sqlstate(open("only_encrypted", "disable")), "28000");
    assert_eq!(sqlstate(open("only_plain", "require")), "28000");
}

#[test]
fn a_server_that_cannot_prove_who_it_is_is_refused() {
    let Some(tls) = TlsServer::start() else { return };
    let (root, other, nowhere) = (tls.path("root.crt"), tls.path("other.crt"), tls.path("nowhere.crt"));
    for (host, query, expected) in [
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={other}"), "UnknownIssuer"),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={other}"), "UnknownIssuer"),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={other}"), "UnknownIssuer"),
        ("127.0.0.1", "sslrootcert=system".to_owned(), ""),
        ("127.0.0.2", format!("sslmode=verify-full&sslrootcert={root}"), "for localhost, 127.0.0.1, server, not for"),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={nowhere}"), "nowhere.crt"),
        ("127.0.0.1", "sslmode=verify-ca".to_owned(), "sslrootcert"),
    ] {
        let why = refusal(open(&tls.url(USER, host, &query)));
        assert!(why.contains(expected), "{query}: {why}");
    }
    // As libpq: without encryption being required, a server that cannot be trusted is talked to in plain.
    let fallback = open(&tls.url(USER, "127.0.0.1", &format!("sslmode=prefer&sslrootcert={other}"))).unwrap();
    assert!(!encrypted(fallback));
}

#[test]
fn a_root_file_in_the_home_folder_makes_require_verify() {
    let Some(tls) = TlsServer::start() else { return };
    let home = tls.path("home");
    fs::create_dir_all(format!("{home}/.postgresql")).unwrap();
    let require = || open_with(&tls.url(USER, "127.0.0.2", "sslmode=require"), Some(PASSWORD), Some(&home));
    assert!(encrypted(require().unwrap()));
    fs::copy(tls.path("other.crt"), format!("{home}/.postgresql/root.crt")).unwrap();
    assert!(refusal(require()).contains("UnknownIssuer"));
    fs::copy(tls.path("root.crt"), format!("{home}/.postgresql/root.crt")).unwrap();
    assert!(encrypted(require().unwrap()));
}

#[test]
fn logins_are_bound_to_the_channel_where_that_is_required() {
    let Some(tls) = TlsServer::start() else { return };
    let open = |user: &str, query: &str| open(&tls.url(user, "127.0.0.1", query));
    for binding in ["disable", "prefer", "require"] {
        let query = format!("sslmode=require&channel_binding={binding}");
        assert!(encrypted(open(USER, &query).unwrap()), "{binding}");
    }
    for (user, query, expected) in [
        (USER, "sslmode=disable&channel_binding=require", "not encrypted"),
        ("trusted", "sslmode=require&channel_binding=require", "accepted the login without it"),
        ("old", "sslmode=require&channel_binding=require", "MD5"),
    ] {
        let why = refusal(open(user, query));
        assert!(why.contains(expected), "{user} {query}: {why}");
    }
}

#[test]
fn a_server_lets_nobody_in_by_a_method_that_require_auth_does_not_allow() {
    let Some(tls) = TlsServer::start() else { return };
    let open = |user: &str, methods: &str| {
        open(&tls.url(user, "127.0.0.1", &format!("sslmode=require&channel_binding=prefer&require_auth={methods}")))
    };
    for (user, methods) in [
        (USER, "scram-sha-256"),
        (USER, "!password,!md5,!none"),
        ("old", "md5,scram-sha-256"),
        ("trusted", "none"),
        ("trusted", "!md5"),
    ] {
        assert!(encrypted(open(user, methods).unwrap()), "{user} {methods}");
    }
    for (user, methods, expected) in [
        ("trusted", "scram-sha-256", "without asking for anything"),
        ("trusted", "!none", "without asking for anything"),
        ("old", "scram-sha-256", "asks for md5"),
        ("old", "!md5", "asks for md5"),
        (USER, "none", "asks for scram-sha-256"),
        (USER, "md5", "asks for scram-sha-256"),
    ] {
        let why = refusal(open(user, methods));
        assert!(why.contains(expected) && why.contains(&format!("require_auth={methods}")), "{user}: {why}");
    }
}

#[test]
fn every_way_to_log_in_over_tls() {
    let Some(tls) = TlsServer::start() else { return };
    let login =
        |user: &str, password: &str| open_with(&tls.url(user, "127.0.0.1", "sslmode=require"), Some(password), None);
    for user in [USER, "old", "trusted"] {
        assert!(encrypted(login(user, PASSWORD).unwrap()), "{user}");
    }
    for user in [USER, "old"] {
        assert_eq!(sqlstate(login(user, "wrong")), "28P01", "{user}");
    }
}

#[test]
fn a_client_certificate_lets_its_owner_in() {
    let Some(tls) = TlsServer::start() else { return };
    let query = |name: &str| {
        format!(
            "sslmode=require&sslcert={}&sslkey={}",
            tls.path(&format!("{name}.crt")),
            tls.path(&format!("{name}.key"))
        )
    };
    let open = |query: &str| open_with(&tls.url("certified", "127.0.0.1", query), None, None);
    assert!(encrypted(open(&query("certified")).unwrap()));
    assert_eq!(sqlstate(open("sslmode=require")), "28000");
    assert!(open(&query("forged")).is_err());
    let key = tls.path("certified.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refusal(open(&query("certified"))).contains("chmod 600"));
}

#[test]
fn a_server_without_tls_is_refused_only_where_tls_is_required() {
    let Some(server) = support::server() else { return };
    let url = |mode: &str| format!("{}?sslmode={mode}", server.dsn());
    for mode in ["disable", "allow", "prefer"] {
        assert!(!open(&url(mode)).unwrap().is_encrypted(), "{mode}");
    }
    assert!(refusal(open(&url("require"))).contains("does not support TLS"));
}

#[test]
fn much_data_and_a_cancelled_statement_over_tls() {
    let Some(tls) = TlsServer::start() else { return };
    let mut connection = open(&tls.url(USER, "127.0.0.1", "sslmode=require")).unwrap();
    let bytes = 5_000_000;
    let answer = connection.query(&format!("SELECT repeat('x', {bytes})")).unwrap();
    assert_eq!(answer[0][0].as_ref().map(String::len), Some(bytes));
    let sent = "y".repeat(bytes);
    assert_eq!(connection.query(&format!("SELECT length('{sent}')")).unwrap()[0][0], Some(bytes.to_string()));

    let canceller = connection.canceller().unwrap();
    let asker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        canceller.cancel()
    });
    let cancelled = connection.query("SELECT pg_sleep(20)");
    asker.join().unwrap().unwrap();
    assert!(matches!(&cancelled, Err(TargetError::Database { sqlstate, .. }) if sqlstate == "57014"), "{cancelled:?}");
    a_statement_may_take_longer_than_the_login(&tls);
}

/// A load sets no time-out, because an index may take hours; that of the login ends with the login.
fn a_statement_may_take_longer_than_the_login(tls: &TlsServer) {
    let url = tls.url(USER, "127.0.0.1", "sslmode=require&connect_timeout=1");
    let dsn = Dsn::parse(&url, |name| (name == "PGPASSWORD").then(|| PASSWORD.to_owned())).unwrap();
    let mut connection = Connection::open(&dsn, None).unwrap();
    for statement in ["SELECT pg_sleep(1.5)", "SELECT 1"] {
        assert!(connection.query(statement).is_ok(), "{statement}");
    }
}

#[test]
fn the_first_of_several_hosts_that_will_do_is_taken() {
    let Some(tls) = TlsServer::start() else { return };
    let (live, dead) = (tls.server.port, support::free_port());
    let url = |user: &str, wanted: &str| {
        format!("postgresql://{user}@127.0.0.1:{dead},127.0.0.2:{live}/postgres?target_session_attrs={wanted}")
    };
    for (user, wanted) in [(USER, "any"), (USER, "read-write"), (USER, "primary"), ("reader", "read-only")] {
        let connection = open(&url(user, wanted)).unwrap_or_else(|error| panic!("{wanted}: {error}"));
        assert_eq!(connection.address().to_string(), format!("127.0.0.2:{live}"));
    }
    for (user, wanted) in [("reader", "read-write"), (USER, "read-only"), (USER, "standby")] {
        let error = open(&url(user, wanted)).unwrap_err();
        assert!(matches!(&error, TargetError::Lost(why) if why.contains(&dead.to_string())), "{wanted}: {error}");
    }
    // A host that refuses us ends the search: the next one would only be asked for the same password.
    let both = format!("postgresql://{USER}@127.0.0.1:{live},127.0.0.2:{live}/postgres?sslmode=require");
    assert_eq!(sqlstate(open_with(&both, Some("wrong"), None)), "28P01");
}

/// The engine reads and writes through the same non-blocking sockets, whatever lies between.
#[test]
fn load_is_driven_over_tls() {
    let Some(tls) = TlsServer::start() else { return };
    let dsn = tls.url(USER, "127.0.0.1", &format!("sslmode=verify-full&sslrootcert={}", tls.path("root.crt")));
    exec(&point_select("load", &dsn)).expect(0);
    let mut spec = point_select("run", &dsn);
    spec["threads"] = json!(2);
    spec["operations"] = json!(4_000);
    spec["duration_s"] = json!(60);
    let ended = exec(&spec).expect(0);
    assert_eq!(ended.finished()["round_trips"], 4_000);
    spec["operations"] = json!(1_000_000_000);
    let mut running = start(&spec);
    running.wait_for("interval");
    let sessions = "SELECT count(*) FILTER (WHERE ssl), count(*) FROM pg_stat_ssl \
        JOIN pg_stat_activity USING (pid) WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    assert_eq!(open(&dsn).unwrap().query(sessions).unwrap()[0], ["4", "4"].map(|count| Some(count.to_owned())));
    running.signal(rustix::process::Signal::INT);
    assert!(running.end().expect(130).finished()["round_trips"].as_u64().unwrap() > 0);
}
