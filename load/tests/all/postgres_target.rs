//! The PostgreSQL target against a real server.

use crate::support;

use nephoscope_load::target::RowWriter;
use nephoscope_load::target::postgres::{Batch, Connection, CopyWriter, Isolation};
use nephoscope_load::target::{Fill, Request, SqlReply, SqlRow, Statement, StatementId, TargetError, Value};
use std::time::Duration;

fn statement(name: &'static str, sql: &str) -> Statement {
    Statement { name, sql: sql.to_owned() }
}

fn sqlstate<T: std::fmt::Debug>(outcome: Result<T, TargetError>) -> String {
    match outcome.expect_err("an error is expected") {
        TargetError::Database { sqlstate, .. } => sqlstate,
        other => panic!("a server's error is expected, not {other:?}"),
    }
}

#[test]
fn every_value_survives_the_way_to_the_server_and_back() {
    let Some(server) = support::server() else { return };
    let mut connection = server.connect();
    let echo = [
        statement("int", "SELECT $1::int4, $1::int4::int8, NULL::int4, 3000000000"),
        statement("text", "SELECT $1::text, $1::varchar(20), $1::char(6)"),
        statement("numeric", "SELECT $1::numeric, ($1::numeric)::text"),
        statement("timestamp", "SELECT ($1::timestamp)::text"),
        statement("arrays", "SELECT $1::int4[]::text, $2::text[]::text, $3::numeric[]::text"),
        statement("null", "SELECT $1::text IS NULL AS is_null, $1::text"),
    ];
    connection.prepare(&echo, Isolation::ReadCommitted).unwrap();
    let mut batch = Batch::new();
    batch.execute(StatementId(0), &[Value::I32(-7)]);
    batch.execute(StatementId(1), &[Value::Text("süß")]);
    batch.execute(StatementId(3), &[Value::TimestampMicros(1_700_000_000_123_456)]);
    let three = [
        Value::I32Array(&[1, -2]),
        Value::TextArray(&["a", ""]),
        Value::NumericArray { unscaled: &[-5, 120], scale: 2 },
    ];
    batch.execute(StatementId(4), &three);
    batch.execute(
        StatementId(4),
        &[Value::I32Array(&[]), Value::TextArray(&[]), Value::NumericArray { unscaled: &[], scale: 2 }],
    );
    batch.execute(StatementId(5), &[Value::Null]);
    let reply = connection.exchange(&mut batch).unwrap();
    let row = reply.row(0, 0).unwrap();
    assert_eq!((row.i32(0), row.i64(1), row.i32(1), row.i32(2)), (Some(-7), Some(-7), Some(-7), None));
    assert_eq!((row.i32(3), row.i64(3)), (None, Some(3_000_000_000)), "what does not fit is not cut");
    let row = reply.row(1, 0).unwrap();
    assert_eq!((row.text(0), row.text(1), row.text(2)), (Some("süß"), Some("süß"), Some("süß   ")));
    assert_eq!(reply.row(2, 0).unwrap().text(0), Some("2023-11-14 22:13:20.123456"));
    let row = reply.row(3, 0).unwrap();
    assert_eq!((row.text(0), row.text(1), row.text(2)), (Some("{1,-2}"), Some("{a,\"\"}"), Some("{-0.05,1.20}")));
    assert_eq!(reply.row(4, 0).unwrap().text(0), Some("{}"));
    assert_eq!(reply.row(5, 0).unwrap().text(1), None);
    assert!(reply.row(0, 1).is_none() && reply.row(6, 0).is_none());

    for (unscaled, scale) in [(0, 0), (-1, 4), (123_456_789, 5), (i64::MAX, 18), (i64::MIN, 0), (10_000, 4)] {
        batch.clear();
        batch.execute(StatementId(2), &[Value::Numeric { unscaled, scale }]);
        let row = connection.exchange(&mut batch).unwrap().row(0, 0).unwrap();
        assert_eq!(row.numeric(0, scale), Some(unscaled), "{unscaled} scale {scale}: the server has {:?}", row.text(1));
    }
}

#[test]
fn a_transaction_in_one_round_trip_and_the_way_back_from_an_error() {
    let Some(server) = support::server() else { return };
    let mut connection = server.connect();
    connection.query("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL)").unwrap();
    let statements = [
        statement("insert", "INSERT INTO t VALUES ($1, $2)"),
        statement("update", "UPDATE t SET v = v + $1"),
        statement("divide", "SELECT 1 / $1::int4"),
        statement("level", "SELECT current_setting('transaction_isolation')"),
    ];
    connection.prepare(&statements, Isolation::Serializable).unwrap();
    let mut batch = Batch::new();
    batch.begin();
    batch.execute(StatementId(0), &[Value::I32(1), Value::I32(10)]);
    batch.execute(StatementId(0), &[Value::I32(2), Value::I32(20)]);
    batch.execute(StatementId(1), &[Value::I32(5)]);
    batch.execute(StatementId(3), &[]);
    batch.commit();
    let reply = connection.exchange(&mut batch).unwrap();
    assert_eq!((reply.affected(0), reply.affected(2), reply.row_count(2)), (1, 2, 0));
    assert_eq!(reply.row(3, 0).unwrap().text(0), Some("serializable"));

    batch.clear();
    batch.begin();
    batch.execute(StatementId(1), &[Value::I32(1000)]);
    batch.execute(StatementId(2), &[Value::I32(0)]);
    batch.commit();
    assert_eq!(sqlstate(connection.exchange(&mut batch)), "22012");
    assert_eq!(connection.reset().unwrap(), 1);
    assert_eq!(connection.reset().unwrap(), 0);
    assert_eq!(connection.query("SELECT sum(v) FROM t").unwrap(), [[Some("40".to_owned())]]);
}

#[test]
fn a_commit_that_the_server_turns_into_a_rollback_is_an_error() {
    let Some(server) = support::server() else { return };
    let mut connection = server.connect();
    connection.prepare(&[statement("divide", "SELECT 1 / $1::int4")], Isolation::ReadCommitted).unwrap();
    let mut batch = Batch::new();
    batch.begin();
    batch.execute(StatementId(0), &[Value::I32(0)]);
    assert_eq!(sqlstate(connection.exchange(&mut batch)), "22012");
    batch.clear();
    batch.commit();
    assert_eq!(sqlstate(connection.exchange(&mut batch)), "40000");
}

#[test]
fn copy_writes_rows_counts_them_and_reports_the_servers_complaint() {
    let Some(server) = support::server() else { return };
    let mut connection = server.connect();
    connection
        .query("CREATE TABLE t (id int PRIMARY KEY, name varchar(40), price numeric(12,2), at timestamp)")
        .unwrap();
    let rows = 20_000;
    let mut writer = CopyWriter::start(&mut connection, "COPY t (id, name, price, at) FROM STDIN WITH BINARY").unwrap();
    let row = |id: i32| {
        [
            Value::I32(id),
            Value::Text("a name that fills some bytes"),
            Value::Numeric { unscaled: i64::from(id) - 100, scale: 2 },
            if id % 2 == 0 { Value::Null } else { Value::TimestampMicros(0) },
        ]
    };
    for id in 1..=rows {
        writer.row(&row(id)).unwrap();
    }
    let copied = writer.finish().unwrap();
    assert_eq!(copied.rows, rows as u64);
    assert!(copied.bytes > 1_000_000, "{copied:?}");
    let sums = connection.query("SELECT count(*), sum(id), sum(price), count(at), min(at) FROM t").unwrap();
    let expected = ["20000", "200010000", "1980100.00", "10000", "1970-01-01 00:00:00"];
    assert_eq!(sums, [expected.map(|text| Some(text.to_owned()))]);

    let mut writer = CopyWriter::start(&mut connection, "COPY t (id, name, price, at) FROM STDIN WITH BINARY").unwrap();
    writer.row(&row(1)).unwrap();
    assert_eq!(sqlstate(writer.finish()), "23505");
    let mut writer = CopyWriter::start(&mut connection, "COPY t (id, name, price, at) FROM STDIN WITH BINARY").unwrap();
    writer.row(&row(-1)).unwrap();
    writer.abandon("changed my mind").unwrap();
    assert_eq!(connection.query("SELECT count(*) FROM t").unwrap(), [[Some("20000".to_owned())]]);
    assert_eq!(
        sqlstate(CopyWriter::start(&mut connection, "COPY nowhere (id) FROM STDIN WITH BINARY").map(|_| ())),
        "42P01"
    );
}

#[test]
fn the_first_statement_that_cannot_be_prepared_is_named() {
    let Some(server) = support::server() else { return };
    let statements = [statement("good", "SELECT 1"), statement("bad", "SELECT * FROM nowhere")];
    let error = server.connect().prepare(&statements, Isolation::ReadCommitted).unwrap_err();
    assert_eq!(error.statement, "bad");
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn a_unix_socket_serves_as_well() {
    let Some(server) = support::server() else { return };
    let mut connection = Connection::open(&support::parse(&server.socket_dsn()), None).unwrap();
    assert_eq!(connection.query("SELECT 1; SELECT 2").unwrap(), [[Some("2".to_owned())]]);
    assert!(connection.server_version().is_some());
}

#[test]
fn every_way_to_log_in() {
    let Some(server) = support::server() else { return };
    let mut admin = server.connect();
    admin.query("SET password_encryption = 'md5'; CREATE ROLE old LOGIN PASSWORD 'md5-way'").unwrap();
    let hba = admin.query("SHOW hba_file").unwrap()[0][0].clone().unwrap();
    let rules =
        "host all old all md5\nhost all plain all password\nhost all open all trust\nhost all all all scram-sha-256\n";
    admin
        .query("RESET password_encryption; CREATE ROLE plain LOGIN PASSWORD 'clear-way'; CREATE ROLE open LOGIN")
        .unwrap();
    std::fs::write(hba, rules).unwrap();
    admin.query("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let login = |user: &str, password: Option<&str>| {
        let url = format!("postgresql://{user}@127.0.0.1:{}/postgres", server.port);
        let dsn = nephoscope_load::target::postgres::Dsn::parse(&url, |name| {
            password.filter(|_| name == "PGPASSWORD").map(str::to_owned)
        });
        Connection::open(&dsn.unwrap(), None).map(|_| ())
    };
    login("old", Some("md5-way")).unwrap();
    login("plain", Some("clear-way")).unwrap();
    login("open", None).unwrap();
    login(support::USER, Some(support::PASSWORD)).unwrap();
    assert_eq!(sqlstate(login("old", Some("wrong"))), "28P01");
    assert_eq!(sqlstate(login(support::USER, Some("wrong"))), "28P01");
    assert_eq!(sqlstate(login(support::USER, None)), "28000");
}

#[test]
fn silence_and_death_are_a_lost_connection() {
    let Some(mut server) = support::server() else { return };
    let mut connection = Connection::open(&server.parsed(), Some(Duration::from_millis(300))).unwrap();
    let silent = connection.query("SELECT pg_sleep(5)").unwrap_err();
    assert!(matches!(&silent, TargetError::Lost(why) if why.contains("did not answer")), "{silent}");

    let mut victim = server.connect();
    let mut admin = server.connect();
    let pid = victim.query("SELECT pg_backend_pid()").unwrap()[0][0].clone().unwrap();
    admin.query(&format!("SELECT pg_terminate_backend({pid})")).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let ended = victim.query("SELECT 1").unwrap_err();
    assert!(matches!(&ended, TargetError::Lost(why) if why.contains("57P01")), "{ended}");

    server.kill();
    assert!(matches!(admin.query("SELECT 1"), Err(TargetError::Lost(_))));
    let refused = Connection::open(&server.parsed(), None).unwrap_err();
    assert!(matches!(&refused, TargetError::Lost(why) if why.contains("127.0.0.1")), "{refused}");
}
