//! Puts the outputs of several generators that shared one run into one, exactly: histograms are added, not averaged.
//! Tables say how each key of a line is merged; a key that stands in none is refused, so that none is ever forgotten.

use crate::exit::{ExitCode, Failure};
use crate::output::headline::{self, Counts};
use crate::output::{CounterResult, SCHEMA};
use crate::record::Histogram;
use crate::spec::{Action, ShardSpec, Spec};
use crate::verify::check;
use serde_json::{Map, Value, json};

/// Clocks of machines that take part may differ by so much.
const MAX_OFFSET_MS: u64 = 500;

type Object = Map<String, Value>;
/// How each key of an object is merged.
type Table = &'static [(&'static str, Rule)];

/// How the values that several shards have under one key become one.
enum Rule {
    /// That of the first that has one; what it is, is nobody else's.
    First,
    /// All that have one have the same.
    Same,
    /// Added; null where one of them does not know.
    Sum,
    /// The largest of those there are.
    Largest,
    /// True when all are.
    All,
    /// Lists, one behind the other.
    Join,
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
    ("headline", Apart),
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
        let [started, intervals @ .., finished] = lines.as_slice() else { return Err(refused("it is not whole")) };
        if !is(started, "started") || !is(finished, "finished") || !intervals.iter().all(|line| is(line, "interval")) {
            return Err(refused("it is not whole: its generator died, or it is no output of a run"));
        }
        if started["schema"] != SCHEMA {
            return Err(refused(format!("its schema is {}, not {SCHEMA}", started["schema"])));
        }
        let spec: Spec = serde_json::from_value(started["spec"].clone()).map_err(|error| refused(error.to_string()))?;
        if spec.action != Action::Run {
            return Err(refused("only outputs of action run are merged"));
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
        return Err(refused(format!("shard {index} is of another run: its spec differs in more than shard.index")));
    }
    if !streams.iter().map(|stream| stream.spec.shard.index).eq(0..count) {
        let found: Vec<_> = streams.iter().map(|stream| stream.spec.shard.index.to_string()).collect();
        let message = format!("of {count} shards, each must be there once: these are {}", found.join(", "));
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
            "interval {} of the shards began {apart_ms} ms apart, which is more than {MAX_OFFSET_MS}: let them begin \
             together (--start-at-unix-ms), and set their clocks",
            of_all[0]["index"]
        )));
    }
    let mut lines: Vec<Value> = of_all.iter().map(|&line| line.clone()).collect();
    tell_attempts(&mut lines)?;
    Ok(Value::Object(rows(INTERVAL, &lines.iter().collect::<Vec<_>>())?))
}

/// Where one shard had to try an operation again, the attempts of the others are told too: they are what it served.
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
    Ok((Value::Object(line), worst.code))
}

/// The server's counters, which every shard read, held against what all of them did.
fn counters_of(finished: &[&Value]) -> Result<Vec<CounterResult>, Failure> {
    let read = |shard: &&Value| serde_json::from_value(shard["counters"].clone());
    let counters = finished.iter().map(read).collect::<Result<Vec<_>, _>>();
    Ok(check::merge_counters(&counters.map_err(|error| refused(format!("counters: {error}")))?))
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
        return Err(refused(format!("{unknown}: this version does not know how it is merged")));
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

/// Whole numbers stay whole.
fn sum(values: &[&Value]) -> Value {
    let whole: Option<u64> = values.iter().map(|value| value.as_u64()).sum();
    whole.map_or_else(|| json!(values.iter().filter_map(|value| value.as_f64()).sum::<f64>()), Value::from)
}

fn histogram(values: &[&Value]) -> Result<Value, Failure> {
    let mut merged: Option<Histogram> = None;
    for text in values.iter().filter(|value| !value.is_null()) {
        let decoded = text.as_str().and_then(Histogram::decode);
        let decoded = decoded.ok_or_else(|| refused("a histogram cannot be read"))?;
        match &mut merged {
            Some(merged) => merged.merge(&decoded),
            None => merged = Some(decoded),
        }
    }
    Ok(merged.map_or(Value::Null, |merged| merged.encode().into()))
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
