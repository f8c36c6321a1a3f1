//! The stall test: a server stands still for two seconds, and the response times of an open pace say so.
//!
//! Users who come while a server stands still wait as well. A client that counts only from when it could send leaves
//! them out: it has a few slow operations in place of two thousand, and its percentiles look as if nothing had been.

use crate::support;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use support::fake::FakeTarget;

const RATE_PER_S: u32 = 1_000;
const DURATION_S: u32 = 20;
const CONNECTIONS: u32 = 16;

/// Carries out a spec; its lines of output.
fn execute(spec: &Value) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_nephoscope-load"))
        .arg("exec")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("its stdin").write_all(spec.to_string().as_bytes()).expect("the spec is read");
    let output = child.wait_with_output().expect("the program ends");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

/// The sum of one kind of histogram over all intervals and operations.
fn merged(lines: &[Value], kind: &str) -> Histogram<u64> {
    let mut total = Histogram::new(3).expect("a histogram");
    let operations = lines.iter().filter_map(|line| line["operations"].as_array()).flatten();
    for encoded in operations.filter_map(|operation| operation["histograms"][kind].as_str()) {
        let bytes = STANDARD.decode(encoded).expect("base64");
        let part: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram");
        total.add(part).expect("the same bounds");
    }
    total
}

/// What the 99th percentile of `count` response times must be, when arrivals `gap_ms` apart met a server that did
/// nothing for `frozen_ms` and was instantly quick before and after.
fn true_p99_ms(count: u32, gap_ms: f64, frozen_ms: f64) -> f64 {
    let first_ms = gap_ms / 2.0; // the freeze began between two arrivals
    let mut waits: Vec<_> = (0..count).map(|nth| (frozen_ms - first_ms - f64::from(nth) * gap_ms).max(0.0)).collect();
    waits.sort_by(f64::total_cmp);
    waits[(f64::from(count) * 0.99).ceil() as usize - 1]
}

/// Of one run: the 99th percentiles of response and service times, and what that of responses must be.
struct Seen {
    response_ms: f64,
    service_ms: f64,
    truth_ms: f64,
}

/// A run against a server that freezes; every arrival is accounted for.
fn run_through_a_freeze() -> Seen {
    let fake = FakeTarget::start(&["--freeze-at-s", "3", "--freeze-for-s", "2"]);
    let lines = execute(&json!({
        "schema": "nephoscope/load-spec/1",
        "action": "run",
        "target": {"dsn": fake.dsn()},
        "workload": {"kind": "point_select", "rows": 1000},
        "seed": 1,
        "connections": CONNECTIONS,
        "pace": {"kind": "constant", "rate_per_s": RATE_PER_S},
        "duration_s": DURATION_S,
        "check": "none",
    }));
    let froze = fake.line("froze", |_| true);
    let frozen_ms = 1e3 * (froze["end_s"].as_f64().unwrap() - froze["start_s"].as_f64().unwrap());
    let finished = lines.last().expect("a last line");
    assert_eq!(finished["exit_code"], 0, "{}", finished["message"]);

    let sum = |of: &str| -> u64 {
        finished["operations"].as_array().unwrap().iter().map(|line| line[of].as_u64().unwrap()).sum()
    };
    let (done, measured) = (sum("all"), sum("measured"));
    let (offered, not_sent) = (finished["offered"].as_u64().unwrap(), finished["not_sent"].as_u64().unwrap());
    assert_eq!(offered, u64::from(RATE_PER_S * DURATION_S));
    assert_eq!(offered, done + not_sent);

    let response = merged(&lines, "response");
    assert_eq!(response.len(), measured);
    // Who came in the last millisecond may be served after the end.
    assert!(done - measured <= u64::from(CONNECTIONS), "{} ended late", done - measured);
    Seen {
        response_ms: response.value_at_quantile(0.99) as f64 / 1e6,
        service_ms: merged(&lines, "service").value_at_quantile(0.99) as f64 / 1e6,
        truth_ms: true_p99_ms(RATE_PER_S * DURATION_S, 1e3 / f64::from(RATE_PER_S), frozen_ms),
    }
}

#[test]
fn a_stall_is_seen_by_everybody_who_came_meanwhile() {
    for attempt in 1..=3 {
        let Seen { response_ms, service_ms, truth_ms } = run_through_a_freeze();
        // Whatever else a machine does, nobody waits for less than the server stood still.
        assert!(response_ms > 0.99 * truth_ms, "p99 {response_ms} ms, the truth is {truth_ms} ms");
        // A busy machine adds to that: after the stall, those who waited are served one after another.
        let is_right = response_ms < 1.05 * truth_ms;
        // What a closed pace would show: the operations under way when the server stopped, and no other.
        let is_apart = service_ms < truth_ms / 10.0;
        if is_right && is_apart {
            return;
        }
        eprintln!("attempt {attempt}: p99 {response_ms} ms, the truth is {truth_ms} ms; of service {service_ms} ms");
    }
    panic!("the p99 of responses is not the truth in any of three runs");
}

/// Few enough that a busy machine keeps up.
const OUTAGE_RATE_PER_S: u32 = 250;

/// Of one run against a server that freezes: what its clients say of the outage, beside what the server says.
fn check_outage(run: usize) -> Result<(), String> {
    let fake = FakeTarget::start(&["--freeze-at-s", "1", "--freeze-for-s", "2"]);
    let lines = execute(&json!({
        "action": "run",
        "target": {"dsn": fake.dsn()},
        "workload": {"kind": "point_select", "rows": 1000},
        "seed": run,
        "connections": 4, "pace": {"kind": "constant", "rate_per_s": OUTAGE_RATE_PER_S},
        "duration_s": 5,
        "check": "none",
    }));
    let froze = fake.line("froze", |_| true);
    let frozen_s = froze["end_s"].as_f64().unwrap() - froze["start_s"].as_f64().unwrap();
    let outages = &lines.last().expect("a last line")["outages"];
    let number = |value: &Value| value.as_f64().expect("a number");
    // Every client is due each 16 ms, and a server that is frozen serves nobody: whatever the machine does, no outage is
    // much shorter than the freeze.
    assert!(number(&outages["longest_s"]) > frozen_s - 0.05, "{outages} {froze}");
    assert_eq!((&outages["clients"], &outages["clients_hit"]), (&json!(4), &json!(4)), "{outages}");
    let outage = &outages["episodes"][0];
    let is_as_long = (number(&outages["longest_s"]) - frozen_s).abs() < 0.05;
    let is_lost = (number(&outage["due"]) / (f64::from(OUTAGE_RATE_PER_S) * frozen_s) - 1.0).abs() < 0.02;
    let is_over = outage["ended"] == true && outages["episodes"].as_array().is_some_and(|all| all.len() == 1);
    (is_as_long && is_lost && is_over).then_some(()).ok_or_else(|| format!("run {run}: {outages}, {froze}"))
}

#[test]
fn an_outage_is_as_long_as_the_server_was_frozen_and_costs_what_was_due_meanwhile() {
    support::in_a_quiet_moment(|| check_outage(1));
}

#[test]
#[ignore = "a hundred runs of five seconds"]
fn an_outage_is_as_long_as_the_freeze_in_each_of_a_hundred_runs() {
    // The stand-in measures its sleep, and not how long it waited for a CPU before and after.
    (1..=100).for_each(|run| support::in_a_quiet_moment(|| check_outage(run)));
}

#[test]
fn the_truth_of_a_stall_by_hand() {
    // Of 20,000 arrivals a millisecond apart the 200 that waited longest came in the first 200 ms of the two seconds.
    assert_eq!(true_p99_ms(20_000, 1.0, 2_000.0), 1_799.5);
    assert_eq!(true_p99_ms(20_000, 1.0, 100.0), 0.0);
}
