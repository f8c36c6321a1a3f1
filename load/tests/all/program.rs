//! The whole program against a real server: every exit code, and numbers that add up.

use crate::support;

use base64::Engine as _;
use hdrhistogram::serialization::Deserializer;
use nephoscope_load::target::postgres::Connection;
use serde_json::{Value, json};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use support::program::{self, Ended, exec, point_select, start};

fn histogram(text: &Value) -> hdrhistogram::Histogram<u64> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

/// What all intervals of a phase counted.
fn counted(ended: &Ended, phase: &str) -> u64 {
    let intervals = ended.intervals().filter(|interval| interval["phase"] == phase);
    intervals.flat_map(|interval| list(&interval["operations"])).map(|operation| number(&operation["count"])).sum()
}

fn loaded() -> Option<support::Server> {
    let server = support::server()?;
    exec(&point_select("load", &server.dsn())).expect(0);
    Some(server)
}

#[test]
fn load_run_and_check_and_the_numbers_add_up() {
    let Some(server) = support::server() else { return };
    let ended = exec(&point_select("load", &server.dsn())).expect(0);
    let table = &ended.finished()["tables"][0];
    assert_eq!((table["table"].as_str(), number(&table["rows"])), (Some("sbtest1"), 20_000));
    assert_eq!(list(&ended.finished()["conditions"]).len(), 2);
    assert_eq!(ended.finished()["measured_s"], Value::Null);

    let mut spec = point_select("run", &server.dsn());
    spec["ramp_s"] = json!(0.5);
    spec["duration_s"] = json!(2.3);
    let ended = exec(&spec).expect(0);
    let started = &ended.lines[0];
    assert_eq!((&started["event"], &started["spec"]["seed"]), (&json!("started"), &json!(42)));
    assert!(started["server_version"].is_string());
    let spans: Vec<_> =
        ended.intervals().map(|interval| (interval["start_s"].as_f64(), interval["end_s"].as_f64())).collect();
    assert_eq!(spans.len(), 4);
    assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "intervals touch: {spans:?}");

    let finished = ended.finished();
    let total = &finished["operations"][0];
    assert_eq!((total["operation"].as_str(), total["outcome"].as_str()), (Some("point_select"), Some("committed")));
    assert_eq!(number(&total["measured"]), counted(&ended, "measure"));
    let in_flight_at_the_end = number(&total["all"]) - counted(&ended, "measure") - counted(&ended, "ramp");
    assert!(in_flight_at_the_end <= 4, "{in_flight_at_the_end} operations of 4 workers ended after the end");
    assert_eq!(finished["round_trips"], total["all"]);
    assert!((finished["measured_s"].as_f64().unwrap() - 2.3).abs() < 1e-9);
    assert!(finished["client_cpu_s"].as_f64().unwrap() > 0.0 && number(&finished["peak_memory_bytes"]) > 1_000_000);
    assert!(list(&finished["audit"]).iter().all(|line| line["passed"] != json!(false)));
    histograms_hold_every_operation(&ended);

    assert_eq!(list(&exec(&point_select("check", &server.dsn())).expect(0).finished()["conditions"]).len(), 2);
}

fn histograms_hold_every_operation(ended: &Ended) {
    for operation in ended.intervals().flat_map(|interval| list(&interval["operations"])) {
        let [queue, service, response] =
            ["queue", "service", "response"].map(|kind| histogram(&operation["histograms"][kind]));
        let outside = number(&operation["out_of_range"]);
        let inside = [&queue, &service, &response].map(hdrhistogram::Histogram::len);
        assert_eq!(inside.iter().sum::<u64>() + outside, 3 * number(&operation["count"]));
        assert_eq!((inside[1], inside[2]), (number(&operation["count"]), number(&operation["count"])));
        assert!(service.min() > 1_000, "no server answers in {} ns", service.min());
        let sum = queue.mean() + service.mean();
        assert!((response.mean() / sum - 1.0).abs() < 0.002, "response is queue + service");
    }
}

#[test]
fn one_seed_makes_one_data_set_however_many_streams_write_it() {
    let Some(server) = support::server() else { return };
    let mut connection = server.connect();
    let mut fingerprint = |connections: u32| {
        let mut spec = program::spec("load", &server.dsn(), json!({"kind": "point_select", "rows": 120_000}));
        spec["connections"] = json!(connections);
        exec(&spec).expect(0);
        connection.query("SELECT count(*), sum(hashtext(t::text)::numeric) FROM sbtest1 AS t").unwrap()
    };
    assert_eq!(fingerprint(1), fingerprint(3));
}

#[test]
fn damaged_data_is_named() {
    let Some(server) = loaded() else { return };
    server.connect().query("DELETE FROM sbtest1 WHERE id IN (77, 12345)").unwrap();
    let ended = exec(&point_select("check", &server.dsn())).expect(5);
    assert!(ended.message().contains("condition 1 is broken") && ended.message().contains("19998 rows"));
    assert!(ended.stderr.contains("condition 1 is broken"), "{}", ended.stderr);
    let missing = &ended.finished()["conditions"][1];
    assert_eq!((number(&missing["violations"]), missing["example"].as_str()), (2, Some("id 77 is missing")));

    server.connect().query("DELETE FROM sbtest1 WHERE id > 100").unwrap();
    let ended = exec(&point_select("run", &server.dsn())).expect(5);
    assert!(ended.message().contains("damaged") && ended.message().contains("sbtest1"), "{}", ended.message());
    assert_eq!(list(&ended.finished()["conditions"]).len(), 2, "the conditions are looked at all the same");
}

#[test]
fn tables_that_were_never_loaded() {
    let Some(server) = support::server() else { return };
    for action in ["run", "check"] {
        let ended = exec(&point_select(action, &server.dsn())).expect(5);
        assert!(ended.message().contains("sbtest1") && ended.message().contains("load"), "{}", ended.message());
    }
}

#[test]
fn nobody_there_and_not_let_in() {
    let unreachable = format!("postgresql://u@127.0.0.1:{}/d", support::free_port());
    let ended = exec(&point_select("run", &unreachable)).expect(3);
    assert!(ended.message().contains("127.0.0.1"), "{}", ended.message());
    assert_eq!(ended.lines[0]["server_version"], Value::Null);

    let Some(server) = support::server() else { return };
    let wrong = server.dsn().replace("@", ":let-me-in@");
    let ended = exec(&point_select("load", &wrong)).expect(3);
    assert!(ended.message().contains("password authentication failed"), "{}", ended.message());
    assert!(ended.message().contains("PGPASSWORD"), "{}", ended.message());
    let said = format!("{}{}", ended.stderr, Value::from(ended.lines));
    assert!(!said.contains("let-me-in"), "the password was printed: {said}");

    let mut spec = point_select("run", &server.dsn());
    spec["connections"] = json!(100);
    exec(&point_select("load", &server.dsn())).expect(0);
    let ended = exec(&spec).expect(3);
    assert!(ended.message().contains("max_connections"), "{}", ended.message());
}

#[test]
fn a_bad_spec_is_named_and_nothing_is_printed() {
    let mut spec = point_select("run", "postgresql://u@h/d");
    spec["conections"] = json!(8);
    let ended = exec(&spec).expect(2);
    assert!(ended.lines.is_empty() && ended.stderr.contains("conections"), "{}", ended.stderr);
    let usage = program::command().arg("point-select").arg("dance").output().unwrap();
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn a_server_that_dies_is_lost() {
    let Some(mut server) = loaded() else { return };
    let mut spec = point_select("run", &server.dsn());
    spec["duration_s"] = json!(60);
    let mut running = start(&spec);
    running.wait_for("interval");
    server.kill();
    let ended = running.end().expect(6);
    assert!(ended.message().contains("did not come back"), "{}", ended.message());
    let measured_s = ended.finished()["measured_s"].as_f64().unwrap();
    assert!((1.0..50.0).contains(&measured_s), "{measured_s}");
    let lost = list(&ended.finished()["errors"]).iter().find(|error| error["sqlstate"] == "lost").unwrap();
    assert_eq!((lost["kind"].as_str(), number(&lost["count"])), (Some("failed"), 4));
}

#[test]
fn sessions_that_are_cut_come_back() {
    let Some(server) = loaded() else { return };
    let mut spec = point_select("run", &server.dsn());
    spec["duration_s"] = json!(3);
    spec["max_failed_percent"] = json!(100);
    let mut running = start(&spec);
    running.wait_for("interval");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nephoscope-load' \
               AND pid <> pg_backend_pid()";
    server.connect().query(cut).unwrap();
    let ended = running.end().expect(0);
    let errors = list(&ended.finished()["errors"]);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0]["sqlstate"].as_str(), number(&errors[0]["count"])), (Some("lost"), 4));
    let failed = |operation: &&Value| operation["outcome"] == "failed";
    let totals = list(&ended.finished()["operations"]);
    assert_eq!(number(&totals.iter().find(failed).unwrap()["all"]), 4);
    let last = ended.intervals().last().unwrap();
    assert!(number(&last["operations"][0]["count"]) > 0, "the load went on");
    assert_eq!(connections_lost(&ended), 4);
}

#[test]
fn sessions_that_end_while_nothing_is_on_them_are_counted() {
    let Some(server) = loaded() else { return };
    server.connect().query("ALTER ROLE CURRENT_USER SET idle_session_timeout = '800ms'").unwrap();
    let mut spec = point_select("run", &server.dsn());
    spec["connections"] = json!(1);
    spec["duration_s"] = json!(5);
    // Half a timeout from either end of a session: an operation on its way when one ends is lost, and an error.
    spec["pace"] = json!({"kind": "constant", "rate_per_s": 1.0 / 1.2});
    let ended = exec(&spec).expect(0);
    assert!(list(&ended.finished()["errors"]).is_empty());
    assert!(connections_lost(&ended) >= 3);
}

fn connections_lost(ended: &Ended) -> u64 {
    ended.intervals().map(|interval| number(&interval["client"]["connections_lost"])).sum()
}

#[test]
fn an_interruption_ends_cleanly() {
    let Some(server) = loaded() else { return };
    let mut spec = point_select("run", &server.dsn());
    spec["duration_s"] = json!(60);
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let mut running = start(&spec);
        running.wait_for("interval");
        running.signal(signal);
        let ended = running.end().expect(130);
        let measured = number(&ended.finished()["operations"][0]["measured"]);
        assert!(measured > 0 && measured == counted(&ended, "measure"));
        assert!((1.0..50.0).contains(&ended.finished()["measured_s"].as_f64().unwrap()));
    }
}

#[test]
fn an_interruption_cancels_what_the_server_is_doing() {
    let Some(server) = loaded() else { return };
    let mut blocker = server.connect();
    blocker.query("BEGIN; LOCK TABLE sbtest1").unwrap();
    let mut observer = server.connect();
    for action in ["check", "load"] {
        let mut running = start(&point_select(action, &server.dsn()));
        running.wait_for("started");
        wait_for_lock_waiters(&mut observer, 1);
        running.signal(rustix::process::Signal::INT);
        let ended = running.end_within(support::HANGS).expect(130);
        assert!(ended.message().starts_with("interrupted"), "{}", ended.message());
        wait_for_lock_waiters(&mut observer, 0);
    }
}

/// Waits until so many sessions wait for a lock.
fn wait_for_lock_waiters(observer: &mut Connection, count: u32) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let deadline = Instant::now() + support::HANGS;
    while observer.query(waiting).unwrap() != [[Some(count.to_string())]] {
        assert!(Instant::now() < deadline, "never {count} sessions that wait");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nobody_reads() {
    let Some(server) = loaded() else { return };
    let mut spec = point_select("run", &server.dsn());
    spec["duration_s"] = json!(600);
    let mut running = start(&spec);
    running.wait_for("interval");
    running.stop_reading();
    assert_eq!(running.end_within(support::HANGS).code, 130);
}

#[test]
fn telemetry_is_cheap_and_ends_with_its_reader() {
    let mut running = program::spawn(program::command().args(["telemetry", "--interval-ms", "1000"]));
    running.wait_for_lines(4);
    running.close_stdin();
    let ended = running.end_within(support::HANGS).expect(0);
    let last = ended.lines.last().unwrap();
    assert!(last["elapsed_s"].as_f64().unwrap() >= 3.0);
    assert_eq!(last["cpu"][0]["cpu"], "cpu");
    assert!(number(&last["cpu"][0]["user"]) > 0 && number(&last["jiffies_per_s"]) > 0);
    let own_us = number(&last["own_cpu_us"]);
    // What it costs is measured in bench/SAMPLER.md; this finds a loop that never sleeps.
    assert!(own_us < 1_000_000, "3 s cost {own_us} us");

    let mut command = program::command();
    let mut running = program::spawn(command.args(["telemetry", "--interval-ms", "50"]).stdin(Stdio::null()));
    running.wait_for_lines(2);
    running.stop_reading();
    assert_eq!(running.end_within(support::HANGS).code, 0);
}
