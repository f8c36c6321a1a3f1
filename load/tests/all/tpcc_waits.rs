//! What takes minutes: the specification's wait times at their full length, and very many terminals that wait.

use crate::support;

use serde_json::{Value, json};
use support::fake::FakeTarget;
use support::program::{self, exec};

/// Audit lines of an ended run whose name begins so.
fn audit<'a>(finished: &'a Value, prefix: &str) -> Vec<&'a Value> {
    let lines = finished["audit"].as_array().expect("an audit");
    lines.iter().filter(|line| line["name"].as_str().expect("a name").starts_with(prefix)).collect()
}

#[test]
#[ignore = "takes 7 minutes; `make test-all` runs it"]
fn twenty_warehouses_keep_the_waits_and_the_efficiency_of_the_specification() {
    let Some(server) = support::server() else { return };
    exec(&program::spec("load", &server.dsn(), json!({"kind": "tpcc", "warehouses": 20}))).expect(0);
    let mut spec = program::spec("run", &server.dsn(), json!({"kind": "tpcc", "warehouses": 20, "wait": "spec"}));
    spec["ramp_s"] = json!(45);
    spec["duration_s"] = json!(300);
    let ended = exec(&spec).expect(0);
    let finished = ended.finished();
    let waits = [audit(finished, "keying_mean."), audit(finished, "think_mean.")].concat();
    assert_eq!(waits.len(), 10);
    assert!(waits.iter().all(|line| line["passed"] == true), "{waits:#?}");
    assert!(audit(finished, "").iter().all(|line| line["passed"] != false), "{}", finished["audit"]);
    assert!(finished["counters"].as_array().unwrap().iter().all(|counter| counter["agrees"] == true));
    // A cycle of 20.7 s has a standard deviation of 14 s; some 2,900 cycles give a standard error of 1.25 %.
    let efficiency = finished["headline"]["efficiency_of_12_605_percent"].as_f64().expect("an efficiency");
    assert!((efficiency - 100.0).abs() < 3.0 * 1.25, "{efficiency}");
}

#[test]
#[ignore = "takes a minute; `make test-all` runs it"]
fn a_hundred_thousand_waiting_terminals_fit_in_300_mb() {
    let fake = FakeTarget::start(&["--warehouses", "10000"]);
    let workload = json!({"kind": "tpcc", "warehouses": 10_000, "profile": "proc", "wait": "spec"});
    let mut spec = program::spec("run", &fake.dsn(), workload);
    spec["connections"] = json!(64);
    spec["check"] = json!("none");
    spec["ramp_s"] = json!(20);
    spec["duration_s"] = json!(20);
    let ended = exec(&spec).expect(0);
    let finished = ended.finished();
    assert!(finished["peak_memory_bytes"].as_u64().unwrap() <= 300_000_000, "{}", finished["peak_memory_bytes"]);
    let done: u64 = finished["operations"].as_array().unwrap().iter().map(|total| total["all"].as_u64().unwrap()).sum();
    // 100,000 terminals, a cycle of 20.7 s, 40 s: 193,000 in the long run, and first cycles that begin at random.
    assert!((150_000..260_000).contains(&done), "{done}");
}
