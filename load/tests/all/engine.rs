//! How load is driven: threads, clients, paces and waits, against a real server.

use crate::support;

use rustix::process::Signal;
use serde_json::{Value, json};
use support::program::{self, Ended, exec, point_select, start};

fn loaded() -> Option<support::Server> {
    let server = support::server()?;
    exec(&point_select("load", &server.dsn())).expect(0);
    Some(server)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no whole number: {value}"))
}

/// How many operations of this name ended in an interval; 0 for other lines.
fn count(line: &Value, operation: &str) -> u64 {
    let rows = line["operations"].as_array().into_iter().flatten();
    rows.filter(|row| row["operation"] == operation).map(|row| row["count"].as_u64().unwrap_or(0)).sum()
}

fn all(ended: &Ended) -> u64 {
    ended.finished()["operations"].as_array().unwrap().iter().map(|total| number(&total["all"])).sum()
}

/// Mean of a histogram over all intervals, in ns.
fn mean_ns(ended: &Ended, kind: &str) -> f64 {
    use base64::Engine as _;
    use hdrhistogram::serialization::Deserializer;
    let (mut sum, mut count) = (0.0, 0);
    for operation in ended.intervals().flat_map(|interval| interval["operations"].as_array().unwrap()) {
        let text = operation["histograms"][kind].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let histogram: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        sum += histogram.mean() * histogram.len() as f64;
        count += histogram.len();
    }
    sum / count as f64
}

#[test]
fn two_threads_count_every_operation_once() {
    let Some(server) = loaded() else { return };
    let mut spec = program::spec("run", &server.dsn(), json!({"kind": "point_select", "rows": 20_000}));
    spec["connections"] = json!(6);
    spec["threads"] = json!(2);
    spec["pin"] = json!(true);
    spec["duration_s"] = json!(60);
    spec["operations"] = json!(5_001);
    let ended = exec(&spec).expect(0);
    assert_eq!((all(&ended), number(&ended.finished()["round_trips"])), (5_001, 5_001));
    assert_eq!(number(&ended.finished()["audit"][0]["draws"]), 5_001);
    assert!(ended.finished()["measured_s"].as_f64().unwrap() < 50.0, "it ends when nothing is left to do");
    assert!(ended.intervals().all(|interval| interval["client"]["threads"].as_array().unwrap().len() == 2));
    let one = |threads: u32| {
        spec["threads"] = json!(threads);
        exec(&spec).expect(0).finished()["audit"][0]["observed"].as_f64().unwrap()
    };
    let means: Vec<f64> = [1, 3].map(one).to_vec();
    assert_eq!(means, [ended.finished()["audit"][0]["observed"].as_f64().unwrap(); 2], "the same draws");
}

#[test]
fn clients_that_outnumber_connections_queue() {
    let Some(server) = loaded() else { return };
    let mut spec = point_select("run", &server.dsn());
    spec["connections"] = json!(2);
    spec["workers"] = json!(20);
    let ended = exec(&spec).expect(0);
    // Eighteen of twenty wait while two are served: nine times as long.
    let ratio = mean_ns(&ended, "queue") / mean_ns(&ended, "service");
    assert!((6.0..14.0).contains(&ratio), "{ratio}");
    assert!(ended.intervals().all(|interval| (14..=20).contains(&number(&interval["client"]["queued"]))));
}

#[test]
fn a_schedule_is_kept_or_told_not_to_be() {
    let Some(server) = loaded() else { return };
    let mut spec = point_select("run", &server.dsn());
    spec["duration_s"] = json!(2);
    spec["pace"] = json!({"kind": "constant", "rate_per_s": 200});
    let ended = exec(&spec).expect_paced();
    let not_sent = number(&ended.finished()["not_sent"]);
    assert_eq!((number(&ended.finished()["offered"]), all(&ended) + not_sent), (400, 400));
    assert!(ended.intervals().all(|interval| interval["client"]["pacing_error"].is_string()));
    assert_eq!(ended.intervals().map(|interval| number(&interval["offered"])).collect::<Vec<_>>(), [200, 200]);

    spec["connections"] = json!(1);
    spec["pace"] = json!({"kind": "poisson", "rate_per_s": 1_000_000});
    let ended = exec(&spec).expect(4);
    let (offered, not_sent) = (number(&ended.finished()["offered"]), number(&ended.finished()["not_sent"]));
    assert!((1_990_000..2_010_000).contains(&offered), "{offered}");
    assert_eq!(offered, all(&ended) + not_sent, "nothing is dropped silently");
    assert!(ended.message().contains("rate was not kept"), "{}", ended.message());
    let last = ended.intervals().last().unwrap();
    assert!(number(&last["client"]["queued"]) >= not_sent);

    // What the ramp left behind is not of the measurement.
    spec["ramp_s"] = json!(2);
    spec["duration_s"] = json!(1);
    let ended = exec(&spec).expect(4);
    let (offered, not_sent) = (number(&ended.finished()["offered"]), number(&ended.finished()["not_sent"]));
    assert!((990_000..1_010_000).contains(&offered), "{offered}");
    assert!(not_sent <= offered, "of {offered} due, {not_sent} never started");
}

#[test]
fn the_null_workload_sends_nothing_but_syncs() {
    let Some(server) = support::server() else { return };
    let mut spec = program::spec("run", &server.dsn(), json!({"kind": "null"}));
    spec["operations"] = json!(1_000);
    spec["duration_s"] = json!(60);
    let ended = exec(&spec).expect(0);
    let trips = &ended.finished()["round_trips_by_operation"];
    assert_eq!(trips, &json!([{"operation": "sync", "round_trips": 1_000, "operations": 1_000}]));
}

fn one_warehouse() -> Option<support::Server> {
    support::server_with("tpcc", |server| {
        exec(&program::spec("load", &server.dsn(), json!({"kind": "tpcc", "warehouses": 1}))).expect(0);
    })
}

#[test]
fn transactions_are_tried_again_from_a_savepoint_with_waits_of_the_specification() {
    let Some(server) = one_warehouse() else { return };
    let workload = json!({"kind": "tpcc", "warehouses": 1, "wait": "spec", "wait_factor": 0.005});
    let mut spec = program::spec("run", &server.dsn(), workload);
    spec["target"]["retry"] = json!("savepoint");
    spec["duration_s"] = json!(6);
    let ended = exec(&spec).expect(0);
    let finished = ended.finished();
    assert!(finished["counters"].as_array().unwrap().iter().all(|counter| counter["agrees"] == true));
    let means: Vec<&Value> = finished["audit"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["name"].as_str().unwrap().contains("_mean."))
        .collect();
    assert_eq!(means.len(), 10);
    assert!(means.iter().all(|line| line["passed"] != json!(false)), "{means:?}");
    assert_eq!(finished["headline"]["tpmc"], Value::Null, "scaled waits make no tpmC");
    assert!(ended.stderr.contains("New-Orders per minute (profile batched"), "{}", ended.stderr);
}

#[test]
fn deliveries_that_were_queued_are_all_done() {
    let Some(server) = one_warehouse() else { return };
    let workload = json!({"kind": "tpcc", "warehouses": 1, "delivery": "deferred"});
    let mut spec = program::spec("run", &server.dsn(), workload);
    // Nobody gives way to queued work while ten clients compete for one connection: it is done at the end.
    spec["connections"] = json!(1);
    spec["workers"] = json!(10);
    spec["operations"] = json!(10 * 23);
    spec["duration_s"] = json!(60);
    let ended = exec(&spec).expect(0);
    let finished = ended.finished();
    let trips = finished["round_trips_by_operation"].as_array().unwrap();
    let of = |name: &str| trips.iter().find(|row| row["operation"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!((number(&of("delivery")["operations"]), number(&of("delivery")["round_trips"])), (10, 0));
    let deferred = of("delivery_deferred");
    assert_eq!((number(&deferred["operations"]), number(&deferred["round_trips"])), (10, 80));
    let line = |name: &str| finished["audit"].as_array().unwrap().iter().find(|line| line["name"] == name).unwrap();
    for name in ["deferred_within_80_s", "deferred_done"] {
        let line = line(name);
        assert_eq!((&line["observed"], number(&line["draws"]), &line["passed"]), (&json!(1.0), 10, &json!(true)));
    }
    let skipped = line("skipped_delivery");
    assert_eq!(number(&skipped["draws"]), 10, "answers are counted where they come");
    assert_eq!(all(&ended), 10 * 23 + 10);

    // Also when the time is over before.
    spec.as_object_mut().unwrap().remove("operations");
    spec["duration_s"] = json!(2);
    let ended = exec(&spec).expect(0);
    let done = ended.finished()["audit"].as_array().unwrap().iter().find(|line| line["name"] == "deferred_done");
    let done = done.expect("such a line");
    assert!(done["observed"] == 1.0 && number(&done["draws"]) > 0, "{done}");
}

#[test]
fn who_interrupts_is_told_how_much_was_queued_and_not_done() {
    let Some(server) = one_warehouse() else { return };
    // A Delivery takes half a second or more: what is queued cannot be done in the time that who interrupts grants.
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
                $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$; \
                CREATE TRIGGER slow AFTER DELETE ON new_order FOR EACH STATEMENT EXECUTE FUNCTION slow()";
    server.connect().query(slow).unwrap();
    let mut spec =
        program::spec("run", &server.dsn(), json!({"kind": "tpcc", "warehouses": 1, "delivery": "deferred"}));
    spec["connections"] = json!(1);
    spec["workers"] = json!(10);
    spec["duration_s"] = json!(60);
    let mut running = start(&spec);
    running.wait_until(|lines| lines.iter().map(|line| count(line, "delivery")).sum::<u64>() >= 8);
    running.signal(Signal::INT);
    let ended = running.end_within(support::HANGS).expect(130);
    let audit = ended.finished()["audit"].as_array().unwrap();
    let done = audit.iter().find(|line| line["name"] == "deferred_done").expect("such a line");
    assert!(number(&done["draws"]) >= 8 && done["observed"].as_f64().unwrap() < 1.0, "{done}");
    let drawn = audit.iter().find(|line| line["name"] == "mix_new_order").expect("such a line");
    assert!(number(&drawn["draws"]) > 100, "{drawn}");
}
