//! The fake target as the program serves it.

use crate::support;

use nephoscope_load::target::postgres::{Batch, Connection, Dsn, Isolation};
use nephoscope_load::target::{SqlReply as _, SqlRow as _, Statement, StatementId, TargetError, Value};
use serde_json::json;
use std::time::{Duration, Instant};
use support::fake::FakeTarget;
use support::program::{self, exec};

fn connect(fake: &FakeTarget) -> Connection {
    let dsn = Dsn::parse(&fake.dsn(), |_| None).unwrap();
    let mut connection = Connection::open(&dsn, Some(Duration::from_secs(20))).unwrap();
    let select = Statement { name: "select", sql: "SELECT c FROM sbtest1 WHERE id = $1".to_owned() };
    connection.set_isolation(Isolation::ReadCommitted).unwrap();
    connection.prepare(&[select], Isolation::ReadCommitted).unwrap();
    connection
}

/// How long one point select took.
fn select(connection: &mut Connection) -> Duration {
    let mut batch = Batch::new();
    batch.execute(StatementId(0), &[Value::I32(1)]);
    let began = Instant::now();
    let reply = connection.exchange(&mut batch).unwrap();
    assert_eq!(reply.row(0, 0).and_then(|row| row.text(0)).map(str::len), Some(120));
    began.elapsed()
}

#[test]
fn it_lets_in_answers_and_counts() {
    let fake = FakeTarget::start(&["--warehouses", "7"]);
    let mut connections: Vec<_> = (0..300).map(|_| connect(&fake)).collect();
    assert_eq!(connections[0].server_version(), Some("fake-target"));
    for connection in &mut connections {
        select(connection);
    }
    let constants = connections[0].query("SELECT name, value FROM tpcc_constant").unwrap();
    assert!(constants.contains(&vec![Some("warehouses".to_owned()), Some("7".to_owned())]), "{constants:?}");
    let unknown = connections[0].query("DROP TABLE everything").unwrap_err();
    assert!(matches!(&unknown, TargetError::Database { sqlstate, .. } if sqlstate == "0A000"), "{unknown}");
    let line = fake.line("second", |line| line["connections"] == 300 && line["executes"] == 601);
    // SET and four statements to prepare, one execution; one query that is known and one that is not.
    assert_eq!(line["batches"], 300 * 6 + 2);
}

/// CockroachDB before 23.2 takes BEGIN at any level, and runs at serializable.
#[test]
fn a_server_that_runs_transactions_at_another_isolation_level_is_not_measured() {
    let fake = FakeTarget::start(&[]);
    let mut spec = program::spec("run", &fake.dsn(), json!({"kind": "null"}));
    spec["target"]["isolation"] = json!("serializable");
    let refused = exec(&spec).expect(2);
    assert!(refused.message().contains("at read committed, although the spec asks for serializable"));
    assert_eq!((&refused.finished()["isolation"], refused.intervals().count()), (&json!("read committed"), 0));
}

#[test]
fn each_answer_comes_as_late_as_it_was_told_to() {
    let fake = FakeTarget::start(&["--service-us", "20000"]);
    let mut connection = connect(&fake);
    support::in_a_quiet_moment(|| {
        let took = select(&mut connection);
        assert!(took >= Duration::from_millis(20), "{took:?}");
        (took < Duration::from_millis(200)).then_some(()).ok_or(took)
    });
}

#[test]
fn it_freezes_when_and_as_long_as_it_was_told_to() {
    support::in_a_quiet_moment(|| {
        let fake = FakeTarget::start(&["--freeze-at-s", "0.5", "--freeze-for-s", "0.7"]);
        let mut connection = connect(&fake);
        let slowest = std::iter::repeat_with(|| select(&mut connection)).find(|took| took.as_millis() > 500).unwrap();
        let froze = fake.line("froze", |_| true);
        let (start_s, end_s) = (froze["start_s"].as_f64().unwrap(), froze["end_s"].as_f64().unwrap());
        assert!(start_s >= 0.5 && end_s - start_s >= 0.7, "{froze}");
        let is_in_time = slowest < Duration::from_millis(800) && end_s - start_s < 0.75;
        is_in_time.then_some(()).ok_or_else(|| format!("{slowest:?}, {froze}"))
    });
}

#[test]
fn it_listens_on_a_unix_socket() {
    let folder = support::fresh_directory();
    let path = folder.join(".s.PGSQL.5432").display().to_string();
    let fake = FakeTarget::start(&["--listen", &path]);
    let dsn = Dsn::parse(&format!("postgresql://u@/d?host={}", folder.display()), |_| None).unwrap();
    Connection::open(&dsn, Some(Duration::from_secs(5))).unwrap();
    drop(fake);
    std::fs::remove_dir_all(folder).unwrap();
}
