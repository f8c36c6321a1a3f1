//! Loading through the whole program: going on after a kill, several machines, fingerprints.

use crate::support;

use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};
use support::Server;
use support::program::{self, Ended, exec, start};

/// With ITEM, two shares of work.
const WAREHOUSES: u32 = 1;

fn tpcc(server: &Server, action: &str, changes: Value) -> Value {
    let mut spec = program::spec(action, &server.dsn(), json!({"kind": "tpcc", "warehouses": WAREHOUSES}));
    spec["check"] = json!("none");
    spec["connections"] = json!(2);
    for (key, value) in changes.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

fn load(part: &str, resume: bool) -> Value {
    json!({"part": part, "resume": resume})
}

#[test]
fn loading_goes_on_and_is_shared() {
    let Some(server) = support::server() else { return };
    nothing_to_go_on_with(&server);
    let whole = exec(&tpcc(&server, "load", json!({"fingerprint": true}))).expect(0);
    let expected = fingerprints(&whole);
    every_table_has_a_fingerprint(&whole);
    a_complete_load_is_not_resumed(&server);
    a_changed_byte_changes_the_fingerprint(&server);
    nothing_has_no_fingerprint(&server);
    a_killed_load_goes_on(&server, &expected);
    two_machines_load_the_same(&server, &expected);
}

#[test]
#[ignore = "loads three times; `make test-all` runs it"]
fn a_load_killed_while_it_indexes_goes_on() {
    let Some(server) = support::server() else { return };
    let expected = fingerprints(&exec(&tpcc(&server, "load", json!({"fingerprint": true}))).expect(0));
    let one_index = "SELECT count(*) > 0 FROM nephoscope_load WHERE step LIKE 'ALTER TABLE%'";
    kill_and_resume(&server, one_index, &expected);
    let keys = "SELECT count(*) FROM pg_index WHERE indrelid::regclass::text IN ('stock', 'customer', 'order_line')";
    assert_eq!(server.connect().query(keys).unwrap(), [[Some("4".to_owned())]]);
}

/// Table by table: rows and hash, as the server computed them.
fn fingerprints(ended: &Ended) -> Vec<(String, u64, String)> {
    let of = |line: &Value| {
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        (text("table"), line["rows"].as_u64().unwrap(), text("hash"))
    };
    ended.finished()["fingerprints"].as_array().unwrap().iter().map(of).collect()
}

fn every_table_has_a_fingerprint(whole: &Ended) {
    let lines = whole.finished()["fingerprints"].as_array().unwrap();
    let names: Vec<&str> = lines.iter().map(|line| line["table"].as_str().unwrap()).collect();
    let tables = ["item", "stock", "order_line", "customer", "history", "orders", "new_order", "district", "warehouse"];
    assert_eq!(names, tables);
    for line in lines {
        assert_eq!((&line["rows"], &line["hash"]), (&line["expected_rows"], &line["expected"]));
        assert_eq!(line["hash"].as_str().unwrap().len(), 16);
    }
}

fn nothing_to_go_on_with(server: &Server) {
    for steps in [load("all", true), load("rows", false), load("finish", false)] {
        let refused = exec(&tpcc(server, "load", json!({"load": steps}))).expect(2);
        assert!(refused.message().contains("no load to resume"), "{}", refused.message());
    }
}

fn a_complete_load_is_not_resumed(server: &Server) {
    let refused = exec(&tpcc(server, "load", json!({"load": load("all", true)}))).expect(2);
    assert!(refused.message().contains("complete"), "{}", refused.message());
}

fn a_changed_byte_changes_the_fingerprint(server: &Server) {
    let check = || exec(&tpcc(server, "check", json!({"fingerprint": true, "seed": 7})));
    check().expect(0); // the data set's own seed counts
    let mut connection = server.connect();
    let damages = [
        (
            "customer",
            "UPDATE customer SET c_data = overlay(c_data PLACING chr(ascii(c_data) # 1) FROM 1) \
                      WHERE (c_w_id, c_d_id, c_id) = (1, 3, 4)",
        ),
        ("item", "UPDATE item SET i_price = i_price + 0.01 WHERE i_id = 5"),
        ("new_order", "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 3000"),
        ("order_line", "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_o_id = 1 AND ol_d_id = 1"),
        ("orders", "UPDATE orders SET o_entry_d = o_entry_d + interval '1 microsecond' WHERE o_w_id = 1 AND o_id = 7"),
    ];
    for (table, damage) in damages {
        connection.query(&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}")).unwrap();
        connection.query(damage).unwrap();
    }
    let broken = check().expect(5);
    let lines = broken.finished()["fingerprints"].as_array().unwrap();
    let different = lines.iter().filter(|line| line["hash"] != line["expected"]);
    let mut different: Vec<&str> = different.map(|line| line["table"].as_str().unwrap()).collect();
    different.sort_unstable();
    assert_eq!(different, damages.map(|(table, _)| table));
    for (table, _) in damages {
        connection.query(&format!("TRUNCATE {table}")).unwrap();
        connection.query(&format!("INSERT INTO {table} SELECT * FROM kept_{table} ORDER BY random()")).unwrap();
    }
    check().expect(0); // the order of the rows does not count
}

fn nothing_has_no_fingerprint(server: &Server) {
    let check = || exec(&tpcc(server, "check", json!({"fingerprint": true}))).expect(5);
    server.connect().query("TRUNCATE history").unwrap();
    let empty = check();
    assert_eq!(fingerprints(&empty), []);
    server.connect().query("DROP TABLE history").unwrap();
    assert_eq!(fingerprints(&check()), []);
}

/// Kills a load once `sql` answers `t`, resumes it, and compares what is there.
fn kill_and_resume(server: &Server, sql: &str, expected: &[(String, u64, String)]) -> i64 {
    server.connect().query("DROP TABLE IF EXISTS nephoscope_load").unwrap();
    let running = start(&tpcc(server, "load", json!({})));
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut witness = server.connect();
    while !matches!(witness.query(sql).as_deref(), Ok([row]) if row[0].as_deref() == Some("t")) {
        assert!(Instant::now() < deadline, "the load does not come so far: {sql}");
        thread::sleep(Duration::from_millis(2));
    }
    running.kill();
    let done = "SELECT count(*) FROM nephoscope_load";
    let noted: i64 = witness.query(done).unwrap()[0][0].as_ref().unwrap().parse().unwrap();

    let other_seed = exec(&tpcc(server, "load", json!({"load": load("all", true), "seed": 43}))).expect(2);
    assert!(other_seed.message().contains("another data set"), "{}", other_seed.message());
    let resumed = exec(&tpcc(server, "load", json!({"load": load("all", true), "fingerprint": true}))).expect(0);
    assert_eq!(fingerprints(&resumed), expected);
    let rows: u64 = resumed.finished()["tables"].as_array().unwrap().iter().map(|t| t["rows"].as_u64().unwrap()).sum();
    assert_eq!(rows, expected.iter().map(|(_, rows, _)| rows).sum::<u64>(), "what the killed load wrote counts too");
    noted
}

fn a_killed_load_goes_on(server: &Server, expected: &[(String, u64, String)]) {
    let noted = kill_and_resume(server, "SELECT count(*) >= 4 FROM nephoscope_load", expected);
    assert!((4..10).contains(&noted), "{noted} steps were noted: it was not in the middle");
}

/// Two pieces are rejected twice as CockroachDB rejects a transaction that must be tried again: one in a statement, one
/// by COMMIT. Sequences count what is rolled back, too.
const DISPLACED_TWICE: &str = "CREATE SEQUENCE attempts; CREATE SEQUENCE commits; \
    CREATE FUNCTION displace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF nextval(TG_ARGV[0]::regclass) < 3 THEN RAISE EXCEPTION 'restart transaction' USING ERRCODE = '40001'; END IF; \
    RETURN NULL; END $$; \
    CREATE TRIGGER displaced BEFORE INSERT ON district FOR EACH STATEMENT EXECUTE FUNCTION displace('attempts'); \
    CREATE CONSTRAINT TRIGGER displaced AFTER INSERT ON warehouse DEFERRABLE INITIALLY DEFERRED FOR EACH ROW \
    EXECUTE FUNCTION displace('commits')";

fn two_machines_load_the_same(server: &Server, expected: &[(String, u64, String)]) {
    let part = |part: &str, index: u32, count: u32| {
        let shard = json!({"index": index, "count": count});
        tpcc(server, "load", json!({"load": load(part, false), "shard": shard, "fingerprint": true}))
    };
    exec(&part("create", 0, 1)).expect(0);
    let mut connection = server.connect();
    connection.query(DISPLACED_TWICE).unwrap();
    let second = start(&part("rows", 1, 2));
    let first = exec(&part("rows", 0, 2)).expect(0);
    let second = second.end().expect(0);
    let attempts = "SELECT a.last_value, c.last_value FROM attempts a, commits c; DROP FUNCTION displace() CASCADE";
    assert_eq!(connection.query(attempts).unwrap(), [["3", "3"].map(|count| Some(count.to_owned()))]);
    // CockroachDB takes for an error what PostgreSQL warns of.
    assert!(!server.log().contains("no transaction in progress"), "{}", server.log());
    let rows = |ended: &Ended, table: &str| {
        let tables = ended.finished()["tables"].as_array().unwrap();
        tables.iter().find(|line| line["table"] == table).map(|line| line["rows"].as_u64().unwrap())
    };
    assert_eq!((rows(&first, "item"), rows(&second, "item")), (Some(100_000), None));
    assert_eq!((rows(&first, "stock"), rows(&second, "stock")), (None, Some(100_000)));

    let note = "DELETE FROM nephoscope_load WHERE step = 'rows of district 1'";
    connection.query(&format!("CREATE TABLE kept_notes AS SELECT * FROM nephoscope_load; {note}")).unwrap();
    let early = exec(&part("finish", 0, 1)).expect(2);
    assert!(early.message().contains("1 of 9 pieces are not loaded"), "{}", early.message());
    connection.query("TRUNCATE nephoscope_load; INSERT INTO nephoscope_load SELECT * FROM kept_notes").unwrap();
    let finished = exec(&part("finish", 0, 1)).expect(0);
    assert_eq!(fingerprints(&finished), expected);
    exec(&tpcc(server, "check", json!({"check": "conditions"}))).expect(0);
}
