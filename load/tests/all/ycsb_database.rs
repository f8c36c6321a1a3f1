//! YCSB's core workloads on a real PostgreSQL, and on a real Redis or Valkey.

use crate::support;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::program::{Ended, exec, spec};

const ROWS: u64 = 3_000;

fn ycsb(action: &str, target: &Value, mix: &str) -> Value {
    let mut spec = spec(action, "", json!({"kind": "ycsb", "rows": ROWS, "mix": mix}));
    spec["target"] = target.clone();
    // So many operations, whatever time they take.
    (spec["operations"], spec["duration_s"]) = (json!(1_500), json!(60));
    spec
}

/// Of each operation, how many were committed in all.
fn committed(ended: &Ended) -> BTreeMap<String, u64> {
    let totals = ended.finished()["operations"].as_array().unwrap();
    let of = totals.iter().filter(|total| total["outcome"] == "committed");
    of.map(|it| (it["operation"].as_str().unwrap().to_owned(), it["all"].as_u64().unwrap())).collect()
}

/// What the server counted, by name, after it was found equal to the client's count: of scans of ranges at least that.
fn counters(ended: &Ended) -> BTreeMap<String, u64> {
    let counters = ended.finished()["counters"].as_array().unwrap();
    let ranges = ended.lines[0]["spec"]["workload"]["mix"] == "e";
    let counter = |it: &Value| {
        assert!(it["server"] == it["client"] || (ranges && it["name"] == "scans" && it["agrees"] == true), "{it}");
        (it["name"].as_str().unwrap().to_owned(), it["server"].as_u64().unwrap())
    };
    counters.iter().map(counter).collect()
}

fn passes_its_audit(ended: &Ended) {
    let audit = ended.finished()["audit"].as_array().unwrap();
    assert!(audit.len() >= 2 && audit.iter().all(|line| line["passed"] != json!(false)), "{audit:?}");
}

#[test]
fn every_core_workload_runs_on_postgresql_and_is_counted() {
    let Some(server) = support::server() else { return };
    let target = json!({"kind": "postgres", "dsn": server.dsn()});
    let mut load = ycsb("load", &target, "a");
    load["fingerprint"] = json!(true);
    let loaded = exec(&load).expect(0);
    let fingerprint = &loaded.finished()["fingerprints"][0];
    assert_eq!((&fingerprint["rows"], &fingerprint["hash"]), (&json!(ROWS), &fingerprint["expected"]));
    for (mix, operations) in [
        ("a", ["read", "update"].as_slice()),
        ("b", &["read", "update"]),
        ("c", &["read"]),
        ("f", &["read", "read_modify_write"]),
        ("d", &["insert", "read"]),
        ("e", &["insert", "scan"]),
    ] {
        // D and E add records: under each seed others.
        let run = |seed: u64| {
            let mut run = ycsb("run", &target, mix);
            run["seed"] = json!(seed + u64::from(mix == "e"));
            exec(&run)
        };
        let ended = run(42).expect(0);
        let done = committed(&ended);
        assert_eq!(done.keys().map(String::as_str).collect::<Vec<_>>(), operations, "{mix}");
        assert!(done.values().all(|count| *count > 5), "{mix}: {done:?}");
        let of = |names: &[&str]| names.iter().filter_map(|name| done.get(*name)).sum::<u64>();
        let (added, updated) = (of(&["insert"]), of(&["update", "read_modify_write"]));
        let scans = of(&["read", "update", "scan"]) + 2 * of(&["read_modify_write"]);
        let mut found = counters(&ended);
        assert!(found["scans"] >= scans, "{mix}: {found:?}");
        found.entry("scans".to_owned()).and_modify(|found| *found = scans);
        let expected = [
            ("records_added", added),
            ("rows_inserted", added),
            ("rows_updated", updated),
            ("rows_deleted", 0),
            ("scans", scans),
        ];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)).into(), "{mix}");
        passes_its_audit(&ended);
        let trips =
            done.iter().map(|(name, count)| count * if name == "read_modify_write" { 2 } else { 1 }).sum::<u64>();
        assert_eq!(ended.finished()["round_trips"], json!(trips), "{mix}");
        if mix == "d" {
            run(44).expect(0);
        }
    }
    server.connect().query("UPDATE usertable SET field3 = 'short' WHERE ycsb_key = 'user6284781860667377211'").unwrap();
    let broken = exec(&ycsb("check", &target, "a")).expect(5);
    assert!(broken.message().contains("condition 3") && broken.message().contains("user6284781860667377211"));
    server.connect().query("DELETE FROM usertable").unwrap();
    let broken = exec(&ycsb("run", &target, "a")).expect(5);
    assert!(broken.message().contains("found 0 records"), "{}", broken.message());
}

#[test]
fn those_without_scans_run_on_redis_and_are_counted() {
    let Some(redis) = support::redis::redis(&[]) else { return };
    let target = json!({"kind": "resp", "dsn": redis.dsn(), "pipeline": 4});
    let loaded = exec(&ycsb("load", &target, "a")).expect(0);
    let written = json!([{"table": "usertable", "rows": ROWS, "bytes": ROWS * 1_000}]);
    assert_eq!(loaded.finished()["tables"], written);
    let conditions = loaded.finished()["conditions"].as_array().unwrap();
    assert!(conditions.len() == 3 && conditions.iter().all(|it| it["holds"] == json!(true)), "{conditions:?}");
    for (mix, counted) in [
        ("a", [("hgetall", "read"), ("hset", "update")].as_slice()),
        ("b", &[("hgetall", "read"), ("hset", "update")]),
        ("c", &[("hgetall", "read")]),
        ("f", &[("hset", "read_modify_write")]),
        ("d", &[("hgetall", "read"), ("hset", "insert")]),
    ] {
        let ended = exec(&ycsb("run", &target, mix)).expect(0);
        passes_its_audit(&ended);
        let (found, done) = (counters(&ended), committed(&ended));
        for (command, operation) in counted {
            assert!(found[*command] == done[*operation] && done[*operation] > 20, "{mix}: {found:?} {done:?}");
        }
    }
    let connection = &mut redis.connect();
    connection.call(&[b"HDEL", b"user6284781860667377211", b"field0"]).unwrap();
    let broken = exec(&ycsb("check", &target, "a")).expect(5);
    assert!(broken.message().contains("user6284781860667377211 has 9 fields"), "{}", broken.message());
    connection.call(&[b"FLUSHDB"]).unwrap();
    let broken = exec(&ycsb("run", &target, "c")).expect(5);
    assert!(broken.message().contains("found 0 fields"), "{}", broken.message());
}
