//! The workload kv on a real PostgreSQL.

use crate::support;

use serde_json::{Value, json};
use support::program::{Ended, exec, spec};

fn kv(action: &str, dsn: &str, more: Value) -> Value {
    let mut workload = json!({"kind": "kv", "rows": 20_000, "min_block_bytes": 1, "max_block_bytes": 50});
    workload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec(action, dsn, workload)
}

fn counter(ended: &Ended) -> (u64, u64) {
    let counter = &ended.finished()["counters"][0];
    (counter["server"].as_u64().unwrap(), counter["client"].as_u64().unwrap())
}

/// What the server's statistics told, within what the client expected.
fn statistic(ended: &Ended, name: &str) -> u64 {
    let counters = ended.finished()["counters"].as_array().unwrap();
    let found = counters.iter().find(|counter| counter["name"] == name).expect("it was compared");
    assert_eq!(found["agrees"], true, "{found}");
    found["server"].as_u64().unwrap()
}

fn writes(ended: &Ended) -> u64 {
    let totals = ended.finished()["operations"].as_array().unwrap();
    totals.iter().filter(|total| total["operation"] == "write").map(|total| total["all"].as_u64().unwrap()).sum()
}

#[test]
fn rows_are_loaded_driven_and_counted() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    for order in ["hashed", "sequential"] {
        let mut load = kv("load", &dsn, json!({"order": order}));
        load["fingerprint"] = json!(true);
        let loaded = exec(&load).expect(0);
        let fingerprint = &loaded.finished()["fingerprints"][0];
        assert_eq!((&fingerprint["rows"], &fingerprint["hash"]), (&json!(20_000), &fingerprint["expected"]));
        for more in [
            json!({"order": order, "read_percent": 50}),
            json!({"order": order, "read_percent": 50, "batch": 7, "distribution": "zipf"}),
        ] {
            let ended = exec(&kv("run", &dsn, more)).expect(0);
            assert_eq!(counter(&ended), (0, 0));
            assert!(writes(&ended) > 50);
            let batch = ended.lines[0]["spec"]["workload"]["batch"].as_u64().unwrap();
            assert_eq!(statistic(&ended, "rows_updated"), batch * writes(&ended));
            assert!(statistic(&ended, "scans") > batch * writes(&ended));
            let audit = ended.finished()["audit"].as_array().unwrap();
            assert!(audit.len() == 3 && audit.iter().all(|line| line["passed"] != json!(false)), "{audit:?}");
        }
    }
    // New rows: the table grows by what was written, under a second seed once more.
    for seed in [42, 43] {
        let mut spec = kv("run", &dsn, json!({"order": "sequential", "read_percent": 50, "batch": 3, "writes": "new"}));
        spec["seed"] = json!(seed);
        let ended = exec(&spec).expect(0);
        let (grown, written) = counter(&ended);
        assert!(grown == written && written == 3 * writes(&ended) && written > 100, "{grown} {written}");
        assert_eq!((statistic(&ended, "rows_inserted"), statistic(&ended, "rows_updated")), (written, 0));
    }
    let mut again = kv("run", &dsn, json!({"order": "sequential", "read_percent": 50, "batch": 3, "writes": "new"}));
    again["check"] = json!("conditions");
    assert!(exec(&again).expect(5).message().contains("rows_added disagrees"));
}

#[test]
fn a_row_that_is_gone_is_damage() {
    let Some(server) = support::server() else { return };
    let dsn = server.dsn();
    exec(&kv("load", &dsn, json!({"order": "sequential"}))).expect(0);
    server.connect().query("DELETE FROM kv WHERE k BETWEEN 5000 AND 9000").unwrap();
    let broken = exec(&kv("check", &dsn, json!({"order": "sequential"}))).expect(5);
    assert!(broken.message().contains("4001 violations"), "{}", broken.message());
    let broken = exec(&kv("run", &dsn, json!({"order": "sequential", "read_percent": 100}))).expect(5);
    assert!(broken.message().contains("kv has 0 of the 1 rows"), "{}", broken.message());
}
