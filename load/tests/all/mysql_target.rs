//! MySQL's protocol and its workloads on a real MariaDB.

use crate::support;

use nephoscope_load::record::{Ledger, OutageWatch};
use nephoscope_load::spec::Share;
use nephoscope_load::target::mysql::{Batch, Connection, Dsn, LoadData};
use nephoscope_load::target::{
    AdminSession, Fill, RowWriter, SqlBatch, SqlReply, SqlRow, Statement, StatementId, TargetError, Value,
};
use nephoscope_load::verify::status::Status;
use nephoscope_load::workload::{Draws, EFFECTS};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use support::mariadb::{MariaDb, PASSWORD, mariadb, own_mariadb, own_mariadb_with, parse};
use support::program::{Ended, exec, spec, start};

fn on_mysql(action: &str, dsn: &str, workload: Json) -> Json {
    let mut spec = spec(action, dsn, workload);
    spec["target"]["kind"] = json!("mysql");
    (spec["duration_s"], spec["operations"]) = (json!(60), json!(300));
    spec
}

fn load(dsn: &str, workload: &Json) -> Ended {
    let mut load = on_mysql("load", dsn, workload.clone());
    load["fingerprint"] = json!(true);
    let loaded = exec(&load).expect(0);
    let fingerprints = loaded.finished()["fingerprints"].as_array().unwrap();
    assert!(!fingerprints.is_empty() && fingerprints.iter().all(|it| it["hash"] == it["expected"]), "{fingerprints:?}");
    loaded
}

fn committed(ended: &Ended) -> u64 {
    let totals = ended.finished()["operations"].as_array().unwrap();
    totals.iter().filter(|it| it["outcome"] == "committed").map(|it| it["all"].as_u64().unwrap()).sum()
}

/// Data sets, and what runs on each.
fn workloads() -> Vec<(Json, Vec<Json>)> {
    let sysbench = |kind: &str| json!({"kind": kind, "tables": 2, "rows": 600, "distribution": "uniform"});
    let ycsb = |mix: &str| json!({"kind": "ycsb", "rows": 500, "mix": mix, "fields": 3, "field_bytes": 20});
    let kv = |more: Json| {
        let mut kv =
            json!({"kind": "kv", "rows": 1_000, "min_block_bytes": 1, "max_block_bytes": 60, "read_percent": 50});
        kv.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        kv
    };
    vec![
        (kv(json!({})), vec![kv(json!({})), kv(json!({"batch": 7})), kv(json!({"batch": 3, "writes": "new"}))]),
        (json!({"kind": "point_select", "rows": 600}), vec![json!({"kind": "point_select", "rows": 600})]),
        (
            sysbench("oltp_insert"),
            vec![sysbench("oltp_read_only"), sysbench("oltp_read_write"), sysbench("oltp_insert")],
        ),
        (ycsb("a"), ["a", "b", "c", "d", "f"].map(ycsb).to_vec()),
        (ycsb("e"), vec![ycsb("e")]),
        (json!({"kind": "tpcb", "scale": 1}), vec![json!({"kind": "tpcb", "scale": 1})]),
    ]
}

#[test]
fn every_workload_is_loaded_driven_and_counted() {
    let Some(server) = mariadb() else { return };
    let dsn = server.database();
    for (loaded, runs) in workloads() {
        load(&dsn, &loaded);
        for workload in runs {
            let mut run = on_mysql("run", &dsn, workload.clone());
            run["target"]["isolation"] = json!("repeatable read");
            let ended = exec(&run).expect(0);
            assert_eq!(committed(&ended), 300, "{workload}");
            assert_eq!(ended.finished()["isolation"], "repeatable read");
            let counters = ended.finished()["counters"].as_array().unwrap();
            assert!(counters.iter().all(|it| it["agrees"] == true), "{workload}: {counters:?}");
            let conditions = ended.finished()["conditions"].as_array().unwrap();
            assert!(!conditions.is_empty() && conditions.iter().all(|it| it["holds"] == json!(true)), "{conditions:?}");
        }
    }
    let ended = exec(&on_mysql("run", &dsn, json!({"kind": "null"}))).expect(0);
    assert_eq!(
        (committed(&ended), ended.lines[0]["server_version"].as_str().unwrap().contains("MariaDB")),
        (300, true)
    );
}

/// A server that is used by nobody else counts what the client does: each command, and each row.
#[test]
fn the_status_of_the_server_equals_what_the_client_counts() {
    let Some(server) = own_mariadb() else { return };
    let dsn = server.database();
    for (loaded, runs) in workloads() {
        load(&dsn, &loaded);
        for workload in runs {
            for seed in 0..2 {
                let mut run = on_mysql("run", &dsn, workload.clone());
                (run["seed"], run["max_retries"]) = (json!(seed), json!(1_000));
                counted_alike(&exec(&run).expect(0));
            }
        }
    }
    let mut admin = server.connect();
    let other = exec(&on_mysql("run", &dsn, json!({"kind": "tpcb", "scale": 1}))).expect(0);
    assert!(other.stderr.contains("it has other sessions"), "{}", other.stderr);
    let status = Status::begin(&mut admin, None).unwrap().expect("nobody else is there");
    drop(other_session(&server));
    let ledger = Ledger::new(
        &["read"],
        false,
        OutageWatch::new(Share { first: 0, stride: 1, clients: 1, operations: None }, 1.0),
    );
    let mut compared = |sessions| status.end(&mut admin, sessions, &ledger, &Draws::default()).unwrap();
    assert_eq!(compared(1), [], "a session is missing");
    let [commands] = compared(0).try_into().unwrap();
    assert_eq!((commands.server, commands.client, commands.agrees), (1, 0, false));
}

fn other_session(server: &MariaDb) -> Connection {
    let mut other = server.connect();
    other.query("BEGIN").unwrap();
    other
}

/// Not a command and not a row more, but for attempts that met an error.
fn counted_alike(ended: &Ended) {
    let counters = ended.finished()["counters"].as_array().unwrap();
    let of = |name: &str| counters.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{}", ended.stderr));
    assert_eq!(of("commands")["server"], of("commands")["client"]);
    for name in EFFECTS {
        assert_eq!(of(name)["agrees"], true, "{counters:?}");
    }
}

/// Each condition of a workload fails on data that breaks it.
#[test]
fn planted_damage_breaks_each_condition() {
    let Some(server) = mariadb() else { return };
    let dsn = server.database();
    let database = dsn.rsplit('/').next().unwrap();
    let tpcb = json!({"kind": "tpcb", "scale": 1});
    let cases = [
        (json!({"kind": "kv", "rows": 50}), vec![("DELETE FROM kv LIMIT 1", vec![1])]),
        (
            json!({"kind": "point_select", "rows": 50}),
            vec![("DELETE FROM sbtest1 WHERE id = 7", vec![1, 2]), ("INSERT INTO sbtest1 (k) VALUES (1)", vec![2])],
        ),
        (
            json!({"kind": "oltp_insert", "tables": 2, "rows": 50, "distribution": "uniform"}),
            vec![
                ("DELETE FROM sbtest2 WHERE id = 7", vec![1]),
                ("UPDATE sbtest1 SET pad = 'x' WHERE id = 8", vec![1, 3]),
            ],
        ),
        (
            json!({"kind": "ycsb", "rows": 50, "mix": "a"}),
            vec![("UPDATE usertable SET field3 = '' LIMIT 1", vec![3]), ("DELETE FROM usertable LIMIT 1", vec![1])],
        ),
        (
            tpcb,
            vec![
                ("UPDATE pgbench_tellers SET tbalance = 1 WHERE tid = 3", vec![2, 5]),
                ("UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 3", vec![2, 5, 6]),
                ("UPDATE pgbench_branches SET bbalance = 1", vec![3, 4, 5, 6]),
                ("DELETE FROM pgbench_accounts WHERE aid = 4", vec![1, 3, 4, 5, 6]),
            ],
        ),
    ];
    let mut connection = server.connect();
    connection.query(&format!("USE {database}")).unwrap();
    for (workload, damages) in cases {
        load(&dsn, &workload);
        for (damage, broken) in damages {
            connection.query(damage).unwrap();
            let ended = exec(&on_mysql("check", &dsn, workload.clone())).expect(5);
            let conditions = ended.finished()["conditions"].as_array().unwrap();
            let of =
                conditions.iter().filter(|it| it["holds"] == json!(false)).map(|it| it["number"].as_u64().unwrap());
            assert_eq!(of.collect::<Vec<_>>(), broken, "{damage}: {conditions:?}");
        }
        let mut check = on_mysql("check", &dsn, workload);
        (check["fingerprint"], check["check"]) = (json!(true), json!("none"));
        assert!(exec(&check).expect(5).message().contains("differs from what was loaded"));
    }
}

#[test]
fn writes_that_a_server_refuses_are_neither_acknowledged_nor_in_doubt() {
    let Some(server) = mariadb() else { return };
    let dsn = server.database();
    let kv =
        json!({"kind": "kv", "rows": 1_000, "min_block_bytes": 8, "read_percent": 50, "ledger": true, "writes": "new"});
    load(&dsn, &kv);
    let mut connection = server.connect();
    connection.query(&format!("USE {}", dsn.rsplit('/').next().unwrap())).unwrap();
    let refusing = "CREATE TRIGGER refuse BEFORE INSERT ON kv FOR EACH ROW \
                    IF NEW.k % 5 = 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'cannot write now'; END IF";
    connection.query(refusing).unwrap();
    let mut run = on_mysql("run", &dsn, kv);
    run["max_failed_percent"] = json!(100);
    let ended = exec(&run).expect(0);
    assert_eq!(ended.finished()["errors"][0]["sqlstate"], "45000");
    let ledger = |name: &str| ended.finished()["ledger"][name].as_u64().unwrap();
    assert!(ledger("acknowledged") > 0);
    assert_eq!(["in_doubt", "lost", "unsent"].map(ledger), [0, 0, 0]);
}

/// A lock wait timeout undoes its statement alone: what came before it would be committed by who goes on.
#[test]
fn a_lock_wait_timeout_rolls_the_transaction_back_and_is_retried() {
    let Some(server) = mariadb() else { return };
    let dsn = server.database();
    let tpcb = json!({"kind": "tpcb", "scale": 1});
    load(&dsn, &tpcb);
    let mut holder = server.connect();
    holder.query("SET GLOBAL innodb_lock_wait_timeout = 1").unwrap();
    holder.query(&format!("USE {}", dsn.rsplit('/').next().unwrap())).unwrap();
    holder.query("BEGIN").unwrap();
    // The account and the teller of a deposit are changed before its branch.
    holder.query("UPDATE pgbench_branches SET bbalance = bbalance WHERE bid = 1").unwrap();
    let mut run = on_mysql("run", &dsn, tpcb);
    (run["operations"], run["max_retries"], run["connections"]) = (json!(4), json!(100), json!(2));
    let rollbacks = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Com_rollback'";
    let before = server.number(rollbacks);
    let running = start(&run);
    while server.number(rollbacks) < before + 2 {
        thread::sleep(Duration::from_millis(50));
    }
    holder.query("COMMIT").unwrap();
    holder.query("SET GLOBAL innodb_lock_wait_timeout = 50").unwrap();
    let ended = running.end().expect(0);
    assert_eq!(committed(&ended), 4);
    let errors = ended.finished()["errors"].as_array().unwrap();
    assert!(errors.iter().any(|it| it["sqlstate"] == "1205" && it["kind"] == "retried"), "{errors:?}");
    assert!(errors.iter().all(|it| it["kind"] == "retried"), "{errors:?}");
}

#[test]
fn values_come_back_as_they_were_sent() {
    let Some(server) = mariadb() else { return };
    let mut connection = server.connect();
    let table = "CREATE TEMPORARY TABLE t (i int, l bigint, x varchar(40) COLLATE utf8mb4_bin, b blob, n decimal(9,2))";
    connection.query(table).unwrap();
    let statement = |name, sql: &str| Statement { name, sql: sql.to_owned() };
    let insert = statement("insert", "INSERT INTO t VALUES ($1, $2, $3, $4, $5)");
    let select = statement("select", "SELECT * FROM t WHERE i <=> $1");
    let update = statement("update", "UPDATE t SET l = l WHERE i IS NULL OR i < $1");
    connection.prepare(&[insert, select, update]).unwrap();
    let long = "ü".repeat(20);
    let rows: [[Value<'_>; 5]; 3] = [
        [
            Value::I32(-1),
            Value::I64(i64::MIN),
            Value::Text(&long),
            Value::Bytes(&[0, 255, 9]),
            Value::Numeric { unscaled: -5, scale: 2 },
        ],
        [Value::Null, Value::Null, Value::Null, Value::Null, Value::Null],
        [
            Value::I32(i32::MAX),
            Value::I64(7),
            Value::Text(""),
            Value::Bytes(b""),
            Value::Numeric { unscaled: 1_234_567, scale: 2 },
        ],
    ];
    let mut batch = Batch::default();
    let fill = |batch: &mut Batch| {
        rows.iter().for_each(|row| batch.execute(StatementId(0), row));
        rows.iter().for_each(|row| batch.execute(StatementId(1), &row[..1]));
        batch.execute(StatementId(2), &[Value::I32(0)]);
    };
    let reply = connection.exchange(&mut batch, fill).unwrap();
    assert_eq!([0, 1, 2, 6].map(|execute| reply.affected(execute)), [1, 1, 1, 2], "rows that were found, unchanged");
    let row = reply.row(3, 0).unwrap();
    assert_eq!((row.i32(0), row.i64(1), row.text(2)), (Some(-1), Some(i64::MIN), Some(long.as_str())));
    assert_eq!((row.bytes(3), row.numeric(4, 2)), (Some(&[0, 255, 9][..]), Some(-5)));
    let row = reply.row(4, 0).unwrap();
    assert_eq!((row.i32(0), row.i64(1), row.text(2), row.bytes(3), row.numeric(4, 2)), (None, None, None, None, None));
    assert_eq!((reply.row_count(5), reply.row(5, 0).unwrap().numeric(4, 2)), (1, Some(1_234_567)));
    assert!(reply.row(5, 1).is_none() && reply.row(9, 0).is_none());
    // The table changes below the prepared statement.
    connection.query("ALTER TABLE t MODIFY l varchar(30)").unwrap();
    let mut batch = Batch::default();
    let reply = connection.exchange(&mut batch, |batch| batch.execute(StatementId(1), &[Value::I32(-1)])).unwrap();
    let row = reply.row(0, 0).unwrap();
    assert_eq!((row.i64(1), row.text(1)), (None, Some("-9223372036854775808")));
    let refused = connection.query("SELECT * FROM nowhere").unwrap_err();
    assert!(matches!(refused, TargetError::Database { sqlstate, .. } if sqlstate == "42S02"));
}

#[test]
fn a_load_takes_every_row_or_says_which_it_could_not() {
    let Some(server) = mariadb() else { return };
    let mut connection = <Connection as AdminSession>::open(&server.parsed(""), None).unwrap();
    connection.query("CREATE TEMPORARY TABLE t (id int PRIMARY KEY, x varchar(9), b blob) ENGINE = InnoDB").unwrap();
    let sql = "LOAD DATA LOCAL INFILE 'nephoscope-rows' INTO TABLE t CHARACTER SET binary (id, x, b)";
    let bytes: Vec<u8> = (0..=255).collect();
    let fill = |connection: &mut Connection, ids: &[i32], text: &str| {
        let mut load = LoadData::start(connection, sql).unwrap();
        ids.iter().for_each(|id| load.row(&[Value::I32(*id), Value::Text(text), Value::Bytes(&bytes)]).unwrap());
        load.finish()
    };
    assert_eq!(fill(&mut connection, &[1, 2], "a\\\t\nü").unwrap().rows, 2);
    let rows = connection.query("SELECT hex(x), hex(b) FROM t WHERE id = 2").unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(rows, [[Some("615C090AC3BC".to_owned()), Some(hex)]]);
    for (ids, text, expected) in [(&[3, 1][..], "x", "Duplicate entry '1'"), (&[4], "far too long", "truncated")] {
        connection.query("BEGIN").unwrap();
        let error = fill(&mut connection, ids, text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("accepted"), "{error}");
        assert_eq!(connection.reset().unwrap(), 1);
    }
    connection.query("BEGIN").unwrap();
    let mut load = LoadData::start(&mut connection, sql).unwrap();
    load.row(&[Value::I32(5), Value::Null, Value::Null]).unwrap();
    load.abandon("interrupted").unwrap();
    assert_eq!(connection.query("SELECT id FROM t").unwrap().len(), 2);
    let other = LoadData::start(&mut connection, "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t").err().unwrap();
    assert!(matches!(&other, TargetError::Protocol(why) if why.contains("another file")), "{other}");
}

#[test]
fn logins_and_tls_are_as_the_url_says() {
    let Some(server) = mariadb() else { return };
    let url = |parameters: &str| format!("{}?connect-timeout=30{parameters}", server.dsn());
    let root = server.file("root.crt");
    for (url, encrypted) in [
        (url(""), true),
        (url("&ssl-mode=DISABLED"), false),
        (url(&format!("&ssl-mode=VERIFY_IDENTITY&ssl-ca={root}")), true),
        (server.socket_dsn(), false),
        (url("").replace("bench@", "nobody:@"), true),
    ] {
        let dsn = if url.contains("nobody") { Dsn::parse(&url, |_| None).unwrap() } else { parse(&url) };
        let mut connection = Connection::open(&dsn, None).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(connection.encryption() != "none", encrypted, "{url}: {}", connection.encryption());
        assert_eq!(
            connection.query("SELECT @@autocommit, 'a' || 'b'").unwrap(),
            [["1", "ab"].map(|text| Some(text.to_owned()))]
        );
    }
    let refused = |url: &str| match Connection::open(&parse(url), None) {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error.to_string(),
    };
    let other = server.file("other.crt");
    assert!(refused(&url(&format!("&ssl-ca={other}"))).contains("TLS with"));
    assert!(refused(&url("").replace("bench@", "bench:wrong@")).contains("28000"));
}

/// Whoever mixes up ports is told what answered.
#[test]
fn a_server_of_another_protocol_is_named() {
    let refused = |dsn: String, kind: &str| {
        let mut spec = spec("check", &dsn, json!({"kind": "kv", "rows": 1}));
        spec["target"]["kind"] = json!(kind);
        exec(&spec).expect(3).message().to_owned()
    };
    if let Some(server) = mariadb() {
        for mode in ["prefer", "disable"] {
            let message = refused(format!("postgresql://u@127.0.0.1:{}/d?sslmode={mode}", server.port), "postgres");
            assert!(message.contains("use mysql://"), "{message}");
        }
    }
    let at = |port: u16| format!("mysql://u@127.0.0.1:{port}/d?connect-timeout=1");
    if let Some(server) = support::server() {
        let message = refused(at(server.port), "mysql");
        assert!(message.contains("use postgresql://"), "{message}");
    }
    if let Some(redis) = support::redis::redis(&[]) {
        let message = refused(at(redis.port), "mysql");
        assert!(message.contains("use redis://"), "{message}");
    }
}

/// What MariaDB says first, and of success.
const GREETING: &[u8] =
    b"\x64\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x27\0\0\0\x3d\x4b\x7b\x32\x40\x55\x3a\x79\0\xfe\xf7\x2d\
    \x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0\x24\x47\x52\x37\x6f\x33\x3a\x3a\x6f\x54\x44\x5f\0mysql_native_password\0";
const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
/// Of a statement to prepare: it has five parameters.
const MISCOUNTED: &[u8] = b"\x0c\0\0\x01\0\x01\0\0\0\0\0\x05\0\0\0\0";

#[test]
fn tidb_is_refused_by_its_name() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dsn = format!("mysql://u@127.0.0.1:{}/d?ssl-mode=DISABLED", listener.local_addr().unwrap().port());
    let server = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let (mut greeting, mut space) = (GREETING.to_vec(), [0; 4_096]);
        greeting[5..37].copy_from_slice(format!("{:-<32}", "8.0.11-TiDB-v7.5.0").as_bytes());
        client.write_all(&greeting).unwrap();
        let mut sequence = 2;
        while client.read(&mut space).unwrap_or(0) > 0 {
            client.write_all(&[7, 0, 0, sequence, 0, 0, 0, 2, 0, 0, 0]).unwrap();
            sequence = 1;
        }
    });
    let refused = exec(&on_mysql("check", &dsn, json!({"kind": "kv", "rows": 1}))).expect(3);
    assert!(refused.message().contains("the server is TiDB (8.0.11-TiDB"), "{}", refused.message());
    server.join().unwrap();
}

/// A server that a file of this machine is worth an answer to, and others that lose their way.
#[test]
fn a_hostile_server_gets_no_file_and_no_patience() {
    for (answer, expected) in [
        (&b"\x0c\0\0\x01\xfb/etc/passwd"[..], "nobody offered"),
        (b"\xff\xff\xff\x01\x01", "16 MiB"),
        (b"\x01\0\0\x05\x01", "out of turn"),
        (b"\x09\0\0\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff", "number of columns"),
        (b"\x03\0\0\x01\0\0\0", "damaged"),
        (b"\0\0\0\x01", "damaged"),
        (b"\x01\0\0\x01\x01\x01\0\0\x02\xff", "damaged"),
        (b"\x01\0\0", "closed the connection"),
        (MISCOUNTED, "5 parameters, not 1"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut space = [0; 4_096];
            let mut hear = |client: &mut std::net::TcpStream| client.read(&mut space).unwrap_or(0);
            client.write_all(GREETING).unwrap();
            hear(&mut client);
            client.write_all(b"\x07\0\0\x02\0\0\0\x02\0\0\0").unwrap();
            hear(&mut client);
            client.write_all(OK).unwrap(); // to the settings of the session
            hear(&mut client);
            client.write_all(answer).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let mut rest = Vec::new();
            client.read_to_end(&mut rest).unwrap();
            rest
        });
        let dsn = parse(&format!("mysql://u@127.0.0.1:{port}/d?ssl-mode=DISABLED"));
        let mut connection = <Connection as AdminSession>::open(&dsn, Some(Duration::from_secs(60))).unwrap();
        let error = if answer == MISCOUNTED {
            connection.prepare(&[Statement { name: "one", sql: "SELECT $1".to_owned() }]).unwrap_err().to_string()
        } else {
            connection.query("SELECT 1").unwrap_err().to_string()
        };
        assert!(error.contains(expected), "{}: {error}", answer.escape_ascii());
        drop(connection);
        assert_eq!(server.join().unwrap(), b"", "nothing was sent after {}", answer.escape_ascii());
    }
}

/// Two servers that say that they are of Galera, without its library: what one has, the other has not.
#[test]
fn conditions_are_checked_at_each_server_of_galera() {
    const OF_GALERA: [&str; 3] = ["--wsrep-on=ON", "--wsrep-provider=none", "--binlog-format=ROW"];
    let (Some(first), Some(second)) = (own_mariadb_with(&OF_GALERA), own_mariadb_with(&OF_GALERA)) else { return };
    let alone = first.dsn();
    let both = alone.replace(&format!(":{}/", first.port), &format!(":{},127.0.0.1:{}/", first.port, second.port));
    let spec =
        |action: &str, dsn: &str| on_mysql(action, dsn, json!({"kind": "tpcb", "scale": 1, "profile": "chatty"}));
    for dsn in [&alone, &second.dsn()] {
        exec(&spec("load", dsn)).expect(0);
    }
    exec(&spec("check", &both)).expect(0);
    second.connect().query("UPDATE bench.pgbench_branches SET bbalance = bbalance + 1").unwrap();
    exec(&spec("check", &alone)).expect(0);
    let ended = exec(&spec("check", &both)).expect(5);
    let broken = ended.finished()["conditions"].as_array().unwrap().iter().filter(|it| it["holds"] == false);
    let examples: Vec<String> = broken.map(|it| it["example"].to_string()).collect();
    assert!(!examples.is_empty() && examples.iter().all(|it| it.contains(&second.port.to_string())), "{examples:?}");
    drop(second);
    let said = exec(&spec("check", &both)).expect(6).stderr;
    assert!(said.contains("cannot check the copy of the data at"), "{said}");
}

/// A replica that follows has no copy that must hold: it may be late.
#[test]
fn conditions_are_checked_at_one_host_outside_of_galera() {
    let (Some(first), Some(second)) = (mariadb(), own_mariadb()) else { return };
    let database = first.database();
    let both = database.replace(&format!(":{}/", first.port), &format!(":{},127.0.0.1:{}/", first.port, second.port));
    let spec = |action: &str| on_mysql(action, &both, json!({"kind": "tpcb", "scale": 1, "profile": "chatty"}));
    exec(&spec("load")).expect(0);
    exec(&spec("check")).expect(0);
}

/// A server that knows no digest of the password yet gets it encrypted by its own key, which openssl makes and uses.
#[test]
fn a_password_without_tls_is_encrypted_for_the_holder_of_the_key() {
    const SCRAMBLE: &[u8; 20] = b"abcdefghijklmnopqrst";
    let folder = support::fresh_directory();
    let file = |name: &str| folder.join(name).display().to_string();
    openssl(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", &file("key")], b"");
    openssl(&["pkey", "-in", &file("key"), "-pubout", "-out", &file("public")], b"");
    let pem = std::fs::read(file("public")).unwrap();
    let named = format!("server-public-key-path={}", file("public"));
    for (parameters, asks) in [("get-server-public-key=true", true), (&named, false)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let pem = pem.clone();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut space = [0; 4_096];
            let mut hear = |client: &mut std::net::TcpStream| {
                let length = client.read(&mut space).unwrap();
                space[4..length].to_vec()
            };
            client.write_all(GREETING).unwrap();
            hear(&mut client);
            let switch = [b"\xfecaching_sha2_password\0", &SCRAMBLE[..], b"\0"].concat();
            client.write_all(&[&[switch.len() as u8, 0, 0, 2], &switch[..]].concat()).unwrap();
            hear(&mut client);
            client.write_all(b"\x02\0\0\x04\x01\x04").unwrap();
            let mut sequence = 6;
            if asks {
                assert_eq!(hear(&mut client), [2]);
                let length = (pem.len() as u16 + 1).to_le_bytes();
                client.write_all(&[&[length[0], length[1], 0, sequence, 1], &pem[..]].concat()).unwrap();
                sequence += 2;
            }
            let encrypted = hear(&mut client);
            client.write_all(&[7, 0, 0, sequence, 0, 0, 0, 2, 0, 0, 0]).unwrap();
            hear(&mut client);
            client.write_all(OK).unwrap();
            encrypted
        });
        let dsn = parse(&format!("mysql://u@127.0.0.1:{port}/d?ssl-mode=DISABLED&{parameters}"));
        Connection::open(&dsn, Some(Duration::from_secs(60))).unwrap();
        let encrypted = server.join().unwrap();
        let decrypt = ["pkeyutl", "-decrypt", "-inkey", &file("key"), "-pkeyopt", "rsa_padding_mode:oaep"];
        let hidden = openssl(&decrypt, &encrypted);
        let password: Vec<u8> = hidden.iter().zip(SCRAMBLE.iter().cycle()).map(|(a, b)| a ^ b).collect();
        assert_eq!(password, format!("{PASSWORD}\0").as_bytes());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn openssl(words: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl, which `make tools` installs");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "openssl {words:?}");
    ended.stdout
}
