//! Merges the outputs of several generators that shared one run, exactly: histograms are added, not averaged. Tables
//! say how to merge each key of a line; an unknown key is an error, so that none is ever forgotten.

use crate::exit::{ExitCode, Failure};
use crate::output::headline::{self, Counts};
use crate::output::{CounterResult, Outages, SCHEMA};
use crate::record::{Histogram, merge_outages};
use crate::spec::{Action, ShardSpec, Spec};
use crate::verify::check;
use serde_json::{Map, Value, json};

/// Clocks of machines that take part may differ by this much.
const MAX_OFFSET_MS: u64 = 500;

type Object = Map<String, Value>;
/// How each key of an object is merged.
type Table = &'static [(&'static str, Rule)];

/// How the values that several shards have under one key become one.
enum Rule {
    /// That of the first that has one; what it is, is no one else's.
    First,
    /// All that have one have the same.
    Same,
    /// Added; null where one of them does not know.
    Sum,
    /// The largest of those there are.
    Largest,
    /// True when all are.
    All,
    /// Lists, one after the other.
    Join,
    /// Lists of counts, added place by place; a shorter one has nothing at the end.
    Counts,
    /// HDR histograms, added; null where all are.
    Histogram,
    /// Key by key; null where one of them does not know.
    Object(Table),
    /// Lists of objects: those that agree in these keys become one.
    Groups(&'static [&'static str], Table),
    /// Merged elsewhere.
    Apart,
}

use Rule::{All, Apart, First, Groups, Join, Largest, Same, Sum};

const ERRORS: Rule = Groups(
    &["operation", "sqlstate", "kind"],
    &[("operation", Same), ("sqlstate", Same), ("kind", Same), ("count", Sum)],
);

const STARTED: Table = &[
    ("event", Same),
    ("schema", Same),
    ("version", Same),
    ("spec", Apart),
    ("at_unix_ms", First),
    ("server_version", First),
];

const HISTOGRAMS: Table = &[("queue", Rule::Histogram), ("service", Rule::Histogram), ("response", Rule::Histogram)];

const NETWORK: Table =
    &[("sent_bytes", Sum), ("received_bytes", Sum), ("retransmitted_segments", Sum), ("dropped_packets", Sum)];

const CLIENT: Table = &[
    ("cpu_s", Sum),
    ("in_flight", Sum),
    ("threads", Join),
    ("steal_s", Sum),
    ("machine_cpus", Sum),
    ("throttled", Sum),
    ("pacing_error", Rule::Histogram),
    ("queued", Sum),
    ("queued_while_idle", Sum),
    ("connections_lost", Sum),
    ("network", Rule::Object(NETWORK)),
];

const INTERVAL: Table = &[
    ("event", Same),
    ("index", Same),
    ("phase", Same),
    ("at_unix_ms", First),
    ("start_s", Same),
    ("end_s", Largest),
    (
        "operations",
        Groups(
            &["operation", "outcome"],
            &[
                ("operation", Same),
                ("outcome", Same),
                ("count", Sum),
                ("histograms", Rule::Object(HISTOGRAMS)),
                ("out_of_range", Sum),
            ],
        ),
    ),
    ("ended_per_100_ms", Rule::Counts),
    ("longest_gap_s", Largest),
    ("errors", ERRORS),
    ("attempts", Groups(&["operation"], &[("operation", Same), ("count", Sum), ("histogram", Rule::Histogram)])),
    ("offered", Sum),
    ("client", Rule::Object(CLIENT)),
];

const FINISHED: Table = &[
    ("event", Same),
    ("exit_code", Apart),
    ("message", Apart),
    ("elapsed_s", Largest),
    ("measured_s", Largest),
    (
        "operations",
        Groups(&["operation", "outcome"], &[("operation", Same), ("outcome", Same), ("measured", Sum), ("all", Sum)]),
    ),
    ("errors", ERRORS),
    ("offered", Sum),
    ("not_sent", Sum),
    ("round_trips", Sum),
    (
        "round_trips_by_operation",
        Groups(&["operation"], &[("operation", Same), ("round_trips", Sum), ("operations", Sum)]),
    ),
    ("profile", Same),
    ("isolation", Same),
    ("prepared", Same),
    ("pooled", Same),
    ("encryption", Same),
    ("headline", Apart),
    ("gaps", Join),
    ("outages", Apart),
    ("ledger", First),
    ("audit", Apart),
    (
        "conditions",
        Groups(
            &["number"],
            &[("number", Same), ("text", Same), ("holds", All), ("violations", Largest), ("example", First)],
        ),
    ),
    ("counters", Apart),
    ("tables", Join),
    ("fingerprints", Join),
    ("constants", Same),
    ("client_cpu_s", Sum),
    ("peak_memory_bytes", Sum),
];

/// What one generator wrote.
#[derive(Debug)]
struct Stream {
    spec: Spec,
    started: Value,
    intervals: Vec<Value>,
    finished: Value,
}

/// The output of the whole run.
#[derive(Debug)]
pub struct Merged {
    /// Its lines.
    pub lines: Vec<Value>,
    /// The worst of the shards' codes.
    pub code: ExitCode,
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::BadSpec, message)
}

/// Merges outputs: each is the name of one, for messages, and its text. All shards of one run must be there.
///
/// # Errors
/// [`ExitCode::BadSpec`] when an output is not whole, or not of the same run as the others.
pub fn merge(outputs: &[(String, String)]) -> Result<Merged, Failure> {
    let parse =
        |(name, text): &(String, String)| Stream::parse(text).map_err(|failure| refused(format!("{name}: {failure}")));
    let mut streams = outputs.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    streams.sort_by_key(|stream| stream.spec.shard.index);
    let spec = whole(&streams)?;
    let mut started = rows(STARTED, &streams.iter().map(|stream| &stream.started).collect::<Vec<_>>())?;
    started.insert("spec".to_owned(), json!(spec));
    started.insert("shards".to_owned(), json!(streams.len()));
    let mut lines = vec![Value::Object(started)];
    let length = streams.iter().map(|stream| stream.intervals.len()).max().unwrap_or(0);
    for index in 0..length {
        let of_all: Vec<&Value> = streams.iter().filter_map(|stream| stream.intervals.get(index)).collect();
        lines.push(interval(&of_all)?);
    }
    let (finished, code) = finished(&spec, &streams)?;
    lines.push(finished);
    Ok(Merged { lines, code })
}

impl Stream {
    fn parse(text: &str) -> Result<Self, Failure> {
        let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        let lines = lines.map_err(|error| refused(format!("a line is not JSON: {error}")))?;
        let is = |line: &Value, event: &str| line["event"] == event;
        let [started, intervals @ .., finished] = lines.as_slice() else { return Err(refused("incomplete")) };
        if !is(started, "started") || !is(finished, "finished") || !intervals.iter().all(|line| is(line, "interval")) {
            return Err(refused("incomplete: the generator died, or this is not the output of a run"));
        }
        if started["schema"] != SCHEMA {
            return Err(refused(format!("its schema is {}, not {SCHEMA}", started["schema"])));
        }
        let spec: Spec = serde_json::from_value(started["spec"].clone()).map_err(|error| refused(error.to_string()))?;
        if spec.action != Action::Run {
            return Err(refused("only outputs of the action run can be merged"));
        }
        let intervals = intervals.to_vec();
        Ok(Self { spec, started: started.clone(), intervals, finished: finished.clone() })
    }
}

/// The spec of one generator that does what all of them did together.
fn whole(streams: &[Stream]) -> Result<Spec, Failure> {
    let first = streams.first().ok_or_else(|| refused("there is nothing to merge"))?;
    let count = first.spec.shard.count;
    if let Some(other) =
        streams.iter().find(|stream| Spec { shard: first.spec.shard, ..stream.spec.clone() } != first.spec)
    {
        let index = other.spec.shard.index;
        return Err(refused(format!(
            "shard {index} belongs to another run: its spec differs in more than shard.index"
        )));
    }
    if !streams.iter().map(|stream| stream.spec.shard.index).eq(0..count) {
        let found: Vec<_> = streams.iter().map(|stream| stream.spec.shard.index.to_string()).collect();
        let message = format!("each of the {count} shards must be given once: found {}", found.join(", "));
        return Err(refused(message));
    }
    Ok(Spec {
        shard: ShardSpec::default(),
        connections: first.spec.connections * count,
        threads: first.spec.threads.map(|threads| threads * count),
        workers: first.spec.workers.map(|workers| workers * count),
        ..first.spec.clone()
    })
}

fn interval(of_all: &[&Value]) -> Result<Value, Failure> {
    let times = || of_all.iter().filter_map(|line| line["at_unix_ms"].as_u64());
    let apart_ms = times().max().unwrap_or(0) - times().min().unwrap_or(0);
    if apart_ms > MAX_OFFSET_MS {
        return Err(refused(format!(
            "interval {} of the shards began {apart_ms} ms apart, which is more than {MAX_OFFSET_MS}: start them \
             together (--start-at-unix-ms), and set their clocks",
            of_all[0]["index"]
        )));
    }
    let mut lines: Vec<Value> = of_all.iter().map(|&line| line.clone()).collect();
    tell_attempts(&mut lines)?;
    Ok(Value::Object(rows(INTERVAL, &lines.iter().collect::<Vec<_>>())?))
}

/// If one shard retried an operation, the others report their attempts, too: each operation was one attempt.
fn tell_attempts(lines: &mut [Value]) -> Result<(), Failure> {
    let retried: Vec<Value> =
        lines.iter().flat_map(|line| list(&line["attempts"])).map(|attempts| attempts["operation"].clone()).collect();
    for line in lines {
        for operation in &retried {
            let of_it = |row: &&Value| row["operation"] == *operation;
            let served: Vec<&Value> = list(&line["operations"]).iter().filter(of_it).collect();
            if served.is_empty() || list(&line["attempts"]).iter().any(|row| of_it(&row)) {
                continue;
            }
            let count = sum(&served.iter().map(|row| &row["count"]).collect::<Vec<_>>());
            let services: Vec<&Value> = served.iter().map(|row| &row["histograms"]["service"]).collect();
            let attempts = json!({"operation": operation, "count": count, "histogram": histogram(&services)?});
            if let Some(rows) = line["attempts"].as_array_mut() {
                rows.push(attempts);
            }
        }
    }
    Ok(())
}

fn finished(spec: &Spec, streams: &[Stream]) -> Result<(Value, ExitCode), Failure> {
    let all: Vec<&Value> = streams.iter().map(|stream| &stream.finished).collect();
    let mut line = rows(FINISHED, &all)?;
    let mut worst = Failure::new(ExitCode::Finished, "");
    let mut messages = Vec::new();
    let mut audit = Vec::new();
    for (index, shard) in all.iter().enumerate() {
        let code = shard["exit_code"].as_u64().and_then(ExitCode::from_number);
        let code = code.ok_or_else(|| refused(format!("shard {index} ended with {}", shard["exit_code"])))?;
        worst = worst.or_worse(Failure::new(code, ""));
        messages.extend(shard["message"].as_str().filter(|it| !it.is_empty()).map(|it| format!("shard {index}: {it}")));
        // A range depends on what was drawn; a shard's own draws were judged, and stay so.
        audit.extend(list(&shard["audit"]).iter().cloned().map(|mut row| {
            row["name"] = format!("{}.shard_{index}", row["name"].as_str().unwrap_or_default()).into();
            row
        }));
    }
    let counters = counters_of(&all)?;
    if let Some(failure) = check::judge_counters(&counters) {
        messages.push(failure.message.clone());
        worst = worst.or_worse(failure);
    }
    let measured_s = line["measured_s"].as_f64().unwrap_or(0.0);
    line.insert("headline".to_owned(), json!(headline::headline(spec, &counts(&line), measured_s)));
    line.insert("exit_code".to_owned(), json!(worst.code as u8));
    line.insert("message".to_owned(), json!(messages.join("; ")));
    line.insert("audit".to_owned(), json!(audit));
    line.insert("counters".to_owned(), json!(counters));
    line.insert("outages".to_owned(), json!(merge_outages(&outages_of(&all)?)));
    Ok((Value::Object(line), worst.code))
}

/// The server's counters, which every shard read, compared with what all of them did.
fn counters_of(finished: &[&Value]) -> Result<Vec<CounterResult>, Failure> {
    let read = |shard: &&Value| serde_json::from_value(shard["counters"].clone());
    let counters = finished.iter().map(read).collect::<Result<Vec<_>, _>>();
    Ok(check::merge_counters(&counters.map_err(|error| refused(format!("counters: {error}")))?))
}

/// What the shards' clients saw of outages; a shard that was not driven to its end does not know.
fn outages_of(finished: &[&Value]) -> Result<Vec<Outages>, Failure> {
    let told = finished.iter().map(|shard| &shard["outages"]).filter(|outages| !outages.is_null());
    let outages = told.map(|outages| serde_json::from_value(outages.clone())).collect::<Result<_, _>>();
    outages.map_err(|error| refused(format!("outages: {error}")))
}

fn counts(finished: &Object) -> Counts {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let totals = list(&finished["operations"]).iter().map(|total| {
        let name = total["operation"].as_str().unwrap_or_default();
        (name, total["outcome"] != "failed", number(&total["measured"]), number(&total["all"]))
    });
    Counts::of(totals, number(&finished["round_trips"]))
}

/// Merges objects key by key.
fn rows(table: Table, objects: &[&Value]) -> Result<Object, Failure> {
    let keys = || objects.iter().filter_map(|object| object.as_object()).flat_map(Object::keys);
    if let Some(unknown) = keys().find(|key| table.iter().all(|(known, _)| known != key)) {
        return Err(refused(format!("{unknown}: this version cannot merge this key")));
    }
    let value = |(key, rule): &(&str, Rule)| {
        let values: Vec<&Value> = objects.iter().map(|object| &object[*key]).collect();
        let merged = one(rule, &values).map_err(|failure| refused(format!("{key}: {failure}")))?;
        Ok(((*key).to_owned(), merged))
    };
    table.iter().map(value).collect()
}

/// Merges the values of one key.
fn one(rule: &Rule, values: &[&Value]) -> Result<Value, Failure> {
    let says_nothing = |value: &&&Value| !value.is_null() && value.as_object().is_none_or(|object| !object.is_empty());
    let mut known = values.iter().filter(says_nothing);
    let unknown = values.iter().any(|value| value.is_null());
    Ok(match rule {
        Rule::Apart => Value::Null,
        Rule::First => known.next().map_or(Value::Null, |&value| value.clone()),
        Rule::Same => {
            let first = *known.next().unwrap_or(&values[0]);
            if let Some(other) = known.find(|&&value| value != first) {
                return Err(refused(format!("is {first} in one shard and {other} in another")));
            }
            first.clone()
        }
        Rule::Largest => {
            let larger = |one: &Value, other: &Value| other.as_f64() > one.as_f64();
            known.fold(Value::Null, |largest, value| if larger(&largest, value) { (*value).clone() } else { largest })
        }
        Rule::All => json!(values.iter().all(|value| **value == true)),
        Rule::Join => values.iter().flat_map(|value| list(value)).cloned().collect(),
        Rule::Counts => places(values),
        Rule::Histogram => histogram(values)?,
        Rule::Sum if unknown => Value::Null,
        Rule::Sum => sum(values),
        Rule::Object(_) if unknown => Value::Null,
        Rule::Object(table) => Value::Object(rows(table, values)?),
        Rule::Groups(keys, table) => groups(keys, table, values)?,
    })
}

fn groups(keys: &[&str], table: Table, lists: &[&Value]) -> Result<Value, Failure> {
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for row in lists.iter().flat_map(|rows| list(rows)) {
        let is_of = |group: &&mut Vec<&Value>| keys.iter().all(|key| group[0][*key] == row[*key]);
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.iter().map(|group| rows(table, group).map(Value::Object)).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The sum of integers is an integer.
fn sum(values: &[&Value]) -> Value {
    let whole: Option<u64> = values.iter().map(|value| value.as_u64()).sum();
    whole.map_or_else(|| json!(values.iter().filter_map(|value| value.as_f64()).sum::<f64>()), Value::from)
}

fn places(lists: &[&Value]) -> Value {
    let length = lists.iter().map(|counts| list(counts).len()).max().unwrap_or(0);
    (0..length).map(|place| sum(&lists.iter().filter_map(|counts| counts.get(place)).collect::<Vec<_>>())).collect()
}

fn histogram(values: &[&Value]) -> Result<Value, Failure> {
    let mut merged: Option<Histogram> = None;
    for text in values.iter().filter(|value| !value.is_null()) {
        let decoded = text.as_str().and_then(Histogram::decode);
        let decoded = decoded.ok_or_else(|| refused("cannot read a histogram"))?;
        match &mut merged {
            Some(merged) => merged.merge(&decoded),
            None => merged = Some(decoded),
        }
    }
    Ok(merged.map_or(Value::Null, |merged| merged.encode().into()))
}

#[cfg(test)]
mod tests {
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
        let client = json!({"cpu_s": 0.25, "in_flight": 1, "threads": [{"cpu_s": 0.25, "run_queue_s": null, "runs": null,
                            "involuntary_switches": index}], "steal_s": null, "machine_cpus": 2, "throttled": 1,
                            "pacing_error": if index == 0 { Value::Null } else { json!(encoded(&[7])) },
                            "queued": 2, "queued_while_idle": 0, "connections_lost": index, "network": null});
        let total = json!({"operation": "new_order", "outcome": "committed", "measured": 2, "all": 2});
        vec![
            json!({"event": "started", "schema": SCHEMA, "version": "1", "spec": spec, "at_unix_ms": 5,
                   "server_version": "18"}),
            json!({"event": "interval", "index": 0, "phase": "measure", "at_unix_ms": 1_000 + 400 * index, "start_s": 0.0,
                   "end_s": 0.5, "operations": [operation("committed", &[ns, 70 * ns])], "errors": [], "attempts": [],
                   "ended_per_100_ms": if index == 0 { json!([1, 0, 1]) } else { json!([2]) }, "longest_gap_s": null, "offered": null, "client": client}),
            json!({"event": "finished", "exit_code": 0, "message": "", "elapsed_s": f64::from(index), "measured_s": 0.5,
                   "operations": [total], "errors": [], "offered": null, "not_sent": null, "round_trips": 8,
                   "round_trips_by_operation": [{"operation": "new_order", "round_trips": 8, "operations": 2}],
                   "profile": "batched", "headline": null, "gaps": [], "outages": null, "ledger": null,
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
        assert_eq!(interval["ended_per_100_ms"], json!([3, 0, 1]));
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
        let expected =
            json!([{"operation": "new_order", "count": 5, "histogram": encoded(&[1, 2, 3, 2_000, 140_000])}]);
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
        assert!(refusal(&[output(0)]).contains("must be given once"));
        assert!(refusal(&[output(0), output(0)]).contains("found 0, 0"));
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
        assert!(changed("/2/event", json!("interval")).contains("incomplete"));
        assert!(changed("/2/constants/c_run", json!(4)).contains("constants"));
    }
}
