//! sysbench's OLTP workloads on a real PostgreSQL.

use crate::support;

use serde_json::{Value, json};
use support::Server;
use support::program::{Ended, exec, spec};

const ROWS: u64 = 2_000;

fn with(workload: &Value, more: Value) -> Value {
    let mut workload = workload.clone();
    workload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    workload
}

fn read_write(more: Value) -> Value {
    let base = json!({"kind": "oltp_read_write", "tables": 2, "rows": ROWS, "distribution": "uniform"});
    with(&base, more)
}

fn insert() -> Value {
    json!({"kind": "oltp_insert", "tables": 2, "rows": ROWS, "distribution": "zipfian"})
}

/// A run of so many operations, whatever time they take.
fn run(server: &Server, workload: Value, operations: u32) -> Value {
    let mut run = spec("run", &server.dsn(), workload);
    (run["operations"], run["duration_s"]) = (json!(operations), json!(60));
    run
}

fn number(server: &Server, sql: &str) -> u64 {
    let rows = server.connect().query(sql).unwrap();
    rows[0][0].as_deref().expect("a number").parse().expect("a number")
}

fn committed(ended: &Ended) -> u64 {
    let totals = ended.finished()["operations"].as_array().unwrap();
    let of = totals.iter().filter(|total| total["outcome"] == "committed");
    of.map(|total| total["all"].as_u64().unwrap()).sum()
}

fn passes_its_audit(ended: &Ended) {
    let audit = ended.finished()["audit"].as_array().unwrap();
    assert!(audit.len() == 2 && audit.iter().all(|line| line["passed"] != json!(false)), "{audit:?}");
}

#[test]
fn tables_are_loaded_driven_and_counted() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    let mut load = spec("load", &dsn, insert());
    load["fingerprint"] = json!(true);
    let loaded = exec(&load).expect(0);
    for fingerprint in loaded.finished()["fingerprints"].as_array().unwrap() {
        assert_eq!((&fingerprint["rows"], &fingerprint["hash"]), (&json!(ROWS), &fingerprint["expected"]));
    }

    let inserted = exec(&run(&server, insert(), 1_500)).expect(0);
    passes_its_audit(&inserted);
    let counter = &inserted.finished()["counters"][0];
    assert_eq!((counter["name"].as_str(), &counter["server"]), (Some("rows_added"), &json!(committed(&inserted))));
    assert_eq!(statistics(&inserted), [committed(&inserted), 0, 0, 0]);
    let new = "SELECT count(*) FROM (SELECT id FROM sbtest1 UNION ALL SELECT id FROM sbtest2) AS x WHERE id > 2000";
    assert_eq!(number(&server, new), committed(&inserted));

    for (profile, trips) in [("chatty", 20), ("pipelined", 1)] {
        let ended = exec(&run(&server, read_write(json!({"profile": profile})), 150)).expect(0);
        passes_its_audit(&ended);
        assert_eq!(
            (ended.finished()["counters"][0]["server"].as_i64(), ended.finished()["profile"].as_str()),
            (Some(0), Some(profile))
        );
        let retried = ended.finished()["errors"].as_array().unwrap();
        if retried.is_empty() {
            assert_eq!(ended.finished()["round_trips"].as_u64(), Some(trips * committed(&ended)));
            let [inserted, updated, deleted, scans] = statistics(&ended);
            // A statement may have found its row gone for a moment.
            let missed = 2 * committed(&ended) - updated;
            assert!(
                inserted == committed(&ended) && deleted == inserted && missed < 5,
                "{inserted} {deleted} {missed}"
            );
            assert!(scans >= 17 * committed(&ended), "{scans}");
        }
    }
}

#[test]
fn transactions_that_only_read_leave_no_trace() {
    let Some(server) = support::server() else { return };
    exec(&spec("load", &server.dsn(), insert())).expect(0);
    for (profile, trips) in [("chatty", 16), ("pipelined", 1)] {
        let reads = read_write(json!({"kind": "oltp_read_only", "profile": profile}));
        let ended = exec(&run(&server, reads, 150)).expect(0);
        passes_its_audit(&ended);
        assert_eq!(ended.finished()["round_trips"].as_u64(), Some(trips * committed(&ended)));
        let [written @ .., scans] = statistics(&ended);
        assert!(written == [0; 3] && scans >= 14 * committed(&ended), "{written:?} {scans}");
    }
}

/// What the server's statistics told: rows inserted, updated and deleted, and scans.
fn statistics(ended: &Ended) -> [u64; 4] {
    ["rows_inserted", "rows_updated", "rows_deleted", "scans"].map(|name| {
        let counters = ended.finished()["counters"].as_array().unwrap();
        let found = counters.iter().find(|counter| counter["name"] == name).expect("it was compared");
        assert_eq!(found["agrees"], true, "{found}");
        found["server"].as_u64().unwrap()
    })
}

#[test]
fn both_profiles_leave_the_same_rows_and_change_what_they_should() {
    let Some(server) = support::server() else { return };
    let contents = ["chatty", "pipelined"].map(|profile| {
        exec(&spec("load", &server.dsn(), read_write(json!({})))).expect(0);
        let before = number(&server, "SELECT sum(hashtext(c))::int8 + 9000000000000 FROM sbtest1");
        let mut run = run(&server, read_write(json!({"profile": profile})), 100);
        run["connections"] = json!(1);
        assert_eq!(committed(&exec(&run).expect(0)), 100);
        let content = "SELECT md5(string_agg(row, '' ORDER BY row)) FROM \
                       (SELECT 'a' || a AS row FROM sbtest1 AS a UNION ALL SELECT 'b' || b FROM sbtest2 AS b) AS rows";
        assert_ne!(before, number(&server, "SELECT sum(hashtext(c))::int8 + 9000000000000 FROM sbtest1"));
        server.connect().query(content).unwrap()
    });
    assert_eq!(contents[0], contents[1]);
}

/// Few rows and six clients: they wait for each other, in circles too, and find rows that others have just replaced.
#[test]
fn what_clients_take_from_each_other_is_tried_again() {
    let Some(server) = support::server() else { return };
    server.connect().query("ALTER SYSTEM SET deadlock_timeout = '20ms'").unwrap();
    server.connect().query("SELECT pg_reload_conf()").unwrap();
    let few = json!({"tables": 1, "rows": 40});
    exec(&spec("load", &server.dsn(), read_write(few.clone()))).expect(0);
    let mut run = run(&server, read_write(few), 500);
    (run["connections"], run["max_retries"]) = (json!(6), json!(1_000));
    let ended = exec(&run).expect(0);
    let errors = ended.finished()["errors"].as_array().unwrap();
    let count = |sqlstate: &str, kind: &str| {
        let of = errors.iter().filter(|error| error["sqlstate"] == sqlstate && error["kind"] == kind);
        of.map(|error| error["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(count("23505", "retried") > 0, "{errors:?}");
    assert_eq!((count("23505", "failed"), count("40P01", "failed"), committed(&ended)), (0, 0, 500));
}

#[test]
fn damage_is_found() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    exec(&spec("load", &dsn, read_write(json!({})))).expect(0);
    server.connect().query("UPDATE sbtest2 SET pad = 'short' WHERE id = 7").unwrap();
    let broken = exec(&spec("check", &dsn, read_write(json!({})))).expect(5);
    assert!(
        broken.message().contains("condition 3") && broken.message().contains("sbtest2: 1"),
        "{}",
        broken.message()
    );
    server.connect().query("DELETE FROM sbtest1 WHERE id BETWEEN 500 AND 1500").unwrap();
    let broken = exec(&spec("check", &dsn, insert())).expect(5);
    assert!(broken.message().contains("condition 1") && broken.message().contains("sbtest1: 1001"));
    let broken = exec(&spec("run", &dsn, read_write(json!({})))).expect(5);
    // Whichever statement first reads where rows are missing: a range may begin before the gap.
    assert!(broken.message().contains(" with id "), "{}", broken.message());
    let unknown = exec(&spec("check", &dsn, with(&insert(), json!({"tables": 3})))).expect(5);
    assert!(unknown.message().contains("sbtest3"), "{}", unknown.message());
}
