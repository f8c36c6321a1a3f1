use super::*;

fn encoded(values_ns: &[u64]) -> String {
    let mut histogram = Histogram::default();
    values_ns.iter().for_each(|&ns| histogram.record(ns));
    histogram.encode()
}

fn operation(outcome: &str, values_ns: &[u64]) -> Value {
    let text = encoded(values_ns);
    let histograms = json!({"queue": text, "service": text, "response": text});
    json!({"operation": "new_order", "outcome": outcome, "count": values_ns.len(), "histograms": histograms,
           "out_of_range": 0})
}

/// What shard `index` of two wrote: two New-Orders of 4 round trips in half a second.
fn output(index: u32) -> Vec<Value> {
    let ns = u64::from(index + 1) * 1_000;
    let spec = json!({"action": "run", "target": {"dsn": "postgresql://u@h/d"}, "seed": 1, "connections": 3,
                      "workload": {"kind": "tpcc", "warehouses": 2}, "duration_s": 0.5,
                      "shard": {"index": index, "count": 2}});
    let client = json!({"cpu_s": 0.25, "in_flight": 1, "threads": [{"cpu_s": 0.25, "run_queue_s": null,
                        "involuntary_switches": index}], "steal_s": null, "machine_cpus": 2, "throttled": 1,
                        "pacing_error": if index == 0 { Value::Null } else { json!(encoded(&[7])) },
                        "queued": 2, "queued_while_idle": 0, "network": null});
    let total = json!({"operation": "new_order", "outcome": "committed", "measured": 2, "all": 2});
    vec![
        json!({"event": "started", "schema": SCHEMA, "version": "1", "spec": spec, "at_unix_ms": 5,
               "server_version": "18"}),
        json!({"event": "interval", "index": 0, "phase": "measure", "at_unix_ms": 1_000 + 400 * index, "start_s": 0.0,
               "end_s": 0.5, "operations": [operation("committed", &[ns, 70 * ns])], "errors": [], "attempts": [],
               "offered": null, "client": client}),
        json!({"event": "finished", "exit_code": 0, "message": "", "elapsed_s": f64::from(index), "measured_s": 0.5,
               "operations": [total], "errors": [], "offered": null, "not_sent": null, "round_trips": 8,
               "round_trips_by_operation": [{"operation": "new_order", "round_trips": 8, "operations": 2}],
               "profile": "batched", "headline": null,
               "audit": [{"name": "mix", "observed": 0.5, "low": 0.0, "high": 1.0, "draws": 2, "passed": null}],
               "conditions": [{"number": 1, "text": "t", "holds": index == 0, "violations": index,
                               "example": if index == 0 { Value::Null } else { json!("w 1") }}],
               "counters": [], "tables": [], "fingerprints": [], "constants": {"c_run": 3}, "client_cpu_s": 0.25,
               "peak_memory_bytes": 100}),
    ]
}

fn merged(outputs: &[Vec<Value>]) -> Result<Merged, Failure> {
    let text = |lines: &Vec<Value>| ("x.jsonl".to_owned(), lines.iter().map(|line| format!("{line}\n")).collect());
    merge(&outputs.iter().map(text).collect::<Vec<_>>())
}

#[test]
fn histograms_are_those_of_all_values_bit_by_bit() {
    let merged = merged(&[output(1), output(0)]).unwrap();
    let [_, interval, _] = merged.lines.as_slice() else { panic!("three lines") };
    let rows = list(&interval["operations"]);
    assert_eq!((rows.len(), &rows[0]["count"]), (1, &json!(4)));
    let union = encoded(&[1_000, 70_000, 2_000, 140_000]);
    assert!(["queue", "service", "response"].iter().all(|kind| rows[0]["histograms"][kind] == union));
    assert_eq!(interval["client"]["pacing_error"], encoded(&[7]));
}

#[test]
fn counts_are_added_and_what_nobody_knows_stays_unknown() {
    let merged = merged(&[output(0), output(1)]).unwrap();
    let [started, interval, finished] = merged.lines.as_slice() else { panic!("three lines") };
    let spec = &started["spec"];
    assert_eq!((&spec["connections"], &spec["shard"]), (&json!(6), &json!({"index": 0, "count": 1})));
    assert_eq!(started["shards"], 2);
    let client = &interval["client"];
    assert_eq!((&client["cpu_s"], &client["queued"], &client["steal_s"]), (&json!(0.5), &json!(4), &Value::Null));
    assert_eq!(list(&client["threads"]).len(), 2);
    assert_eq!((&interval["offered"], &interval["at_unix_ms"]), (&Value::Null, &json!(1_000)));
    assert_eq!((&finished["elapsed_s"], &finished["round_trips"]), (&json!(1.0), &json!(16)));
    assert_eq!(finished["operations"][0]["measured"], 4);
    assert_eq!(finished["headline"]["new_orders_per_minute"], 480.0);
    assert_eq!(finished["headline"]["round_trips_per_transaction"], 4.0);
    assert_eq!([&finished["audit"][0]["name"], &finished["audit"][1]["name"]], ["mix.shard_0", "mix.shard_1"]);
    let condition = json!({"number": 1, "text": "t", "holds": false, "violations": 1, "example": "w 1"});
    assert_eq!(finished["conditions"], json!([condition]));
}

#[test]
fn counters_are_held_against_all_shards_together() {
    let counter = |before: i64, after: i64, client: i64| {
        json!([{"name": "rows", "before": before, "after": after, "server": after - before, "client": client,
                "in_doubt": 0, "agrees": true}])
    };
    let (mut one, mut other) = (output(0), output(1));
    one[2]["counters"] = counter(10, 14, 2);
    other[2]["counters"] = counter(10, 15, 3);
    let whole = merged(&[one.clone(), other.clone()]).unwrap();
    assert_eq!((whole.code, &whole.lines[2]["counters"]), (ExitCode::Finished, &counter(10, 15, 5)));
    other[2]["counters"] = counter(10, 16, 3);
    let disagrees = merged(&[one.clone(), other.clone()]).unwrap();
    assert_eq!((disagrees.code, disagrees.lines[2]["exit_code"].as_u64()), (ExitCode::ConsistencyBroken, Some(5)));
    assert!(disagrees.lines[2]["message"].as_str().unwrap().contains("the server counted 6, the client 5"));
    other[2]["counters"] = json!([{"name": "rows"}]);
    assert!(merged(&[one, other]).unwrap_err().message.contains("counters"));
}

#[test]
fn the_worst_code_is_the_runs() {
    let (one, mut other) = (output(0), output(1));
    for (code, expected) in [(0, ExitCode::Finished), (4, ExitCode::RateNotKept), (6, ExitCode::TargetLost)] {
        other[2]["exit_code"] = json!(code);
        other[2]["message"] = json!(if code == 0 { "" } else { "why" });
        let merged = merged(&[one.clone(), other.clone()]).unwrap();
        assert_eq!((merged.code, &merged.lines[2]["exit_code"]), (expected, &json!(code)));
        assert_eq!(merged.lines[2]["message"], if code == 0 { "" } else { "shard 1: why" });
    }
}

#[test]
fn attempts_of_shards_that_retried_nothing_are_what_they_served() {
    let (mut one, other) = (output(0), output(1));
    one[1]["attempts"] = json!([{"operation": "new_order", "count": 3, "histogram": encoded(&[1, 2, 3])}]);
    let merged = merged(&[one, other]).unwrap();
    let attempts = &merged.lines[1]["attempts"];
    let expected = json!([{"operation": "new_order", "count": 5, "histogram": encoded(&[1, 2, 3, 2_000, 140_000])}]);
    assert_eq!(attempts, &expected);
}

#[test]
fn shards_of_different_length_keep_what_each_has() {
    let (mut one, other) = (output(0), output(1));
    let mut more = one[1].clone();
    more["index"] = json!(1);
    one.insert(2, more);
    let lines = merged(&[one, other]).unwrap().lines;
    assert_eq!([&lines[1]["operations"][0]["count"], &lines[2]["operations"][0]["count"]], [4, 2]);
}

#[test]
fn what_is_not_one_run_is_refused() {
    let refusal = |outputs: &[Vec<Value>]| {
        let failure = merged(outputs).unwrap_err();
        assert_eq!(failure.code, ExitCode::BadSpec);
        failure.message
    };
    assert!(refusal(&[output(0)]).contains("each must be there once"));
    assert!(refusal(&[output(0), output(0)]).contains("these are 0, 0"));
    assert!(refusal(&[]).contains("nothing to merge"));
    let changed = |pointer: &str, value: Value| {
        let mut lines = Value::Array(output(1));
        *lines.pointer_mut(pointer).unwrap() = value;
        refusal(&[output(0), list(&lines).to_vec()])
    };
    assert!(changed("/0/spec/seed", json!(2)).contains("its spec differs"));
    assert!(changed("/0/schema", json!("other/1")).contains("schema"));
    assert!(changed("/0/spec/action", json!("check")).contains("action run"));
    assert!(changed("/1/at_unix_ms", json!(1_501)).contains("--start-at-unix-ms"));
    assert!(changed("/2/event", json!("interval")).contains("not whole"));
    assert!(changed("/2/constants/c_run", json!(4)).contains("constants"));
}
