//! The generator itself is stopped by a signal, with each protocol and in either pace.

use crate::support;

use nephoscope_load::testkit::FakeCluster;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::cell::Cell;
use std::thread;
use std::time::Duration;
use support::program::{command, exec, spawn, spec, start};

const STOP: Duration = Duration::from_secs(1);

/// Specs of a workload on rows by key, loaded, for each protocol; what they run on must outlive them.
fn loaded(
    server: &support::Server,
    redis: &support::redis::Redis,
    mariadb: &support::mariadb::MariaDb,
    cluster: &FakeCluster,
) -> Vec<(&'static str, Value)> {
    let targets = [
        ("postgres", json!({"kind": "postgres", "dsn": server.dsn()})),
        ("mysql", json!({"kind": "mysql", "dsn": mariadb.dsn()})),
        ("resp", json!({"kind": "resp", "dsn": redis.dsn()})),
        (
            "aerospike",
            json!({"kind": "aerospike", "hosts": [cluster.addresses()[0]], "namespace": "test", "set": "rows"}),
        ),
    ];
    let with_target = |(protocol, target): (&'static str, Value)| {
        let mut load = spec("load", "", json!({"kind": "kv", "rows": 1_000, "min_block_bytes": 10}));
        load["target"] = target;
        exec(&load).expect(0);
        (load["action"], load["check"], load["duration_s"]) = (json!("run"), json!("none"), json!(8));
        (protocol, load)
    };
    targets.into_iter().map(with_target).collect()
}

#[test]
fn a_generator_that_was_stopped_says_so_with_each_protocol_and_pace() {
    let (Some(server), Some(redis)) = (support::server(), support::redis::redis(&[])) else { return };
    let Some(mariadb) = support::mariadb::mariadb() else { return };
    let cluster = FakeCluster::start(1, "test").unwrap();
    let mut runs = Vec::new();
    for (protocol, spec) in loaded(&server, &redis, &mariadb, &cluster) {
        for pace in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 200})] {
            let mut spec = spec.clone();
            spec["pace"] = pace.clone();
            runs.push((protocol, pace, start(&spec)));
        }
    }
    for (_, _, running) in &mut runs {
        running.wait_for("interval");
    }
    for signal in [Signal::STOP, Signal::CONT] {
        runs.iter().for_each(|(_, _, running)| running.signal(signal));
        thread::sleep(STOP);
    }
    for (protocol, pace, running) in runs {
        let ended = running.end();
        let finished = ended.finished();
        let gaps = finished["gaps"].as_array().expect("gaps");
        let stopped_s = gaps.iter().filter(|gap| gap["kind"] == "stopped").filter_map(|gap| gap["length_s"].as_f64());
        let longest_s = stopped_s.fold(0.0, f64::max);
        assert_eq!(ended.code, 8, "{protocol}, {pace}: {finished}");
        assert!(longest_s > 0.99 * STOP.as_secs_f64(), "{protocol}, {pace}: {longest_s} s");
    }
}

#[test]
fn a_sampler_that_was_stopped_says_for_how_long() {
    let mut sampler = spawn(command().args(["telemetry", "--interval-ms", "200"]));
    let read = Cell::new(5);
    sampler.wait_for_lines(read.get());
    // It sees what befalls its sleep, which it may have been in for an interval, and not what befalls its reading.
    support::in_a_quiet_moment(|| {
        sampler.signal(Signal::STOP);
        thread::sleep(STOP);
        sampler.signal(Signal::CONT);
        let before = read.get();
        let is_told = |line: &Value| line["stood_still_s"].as_f64() > Some(STOP.as_secs_f64() - 0.21);
        sampler.wait_until(|lines| {
            read.set(lines.len());
            lines.len() > before + 20 || lines.last().is_some_and(is_told)
        });
        if read.get() > before + 20 { Err("not told") } else { Ok(()) }
    });
    sampler.close_stdin();
    sampler.end().expect(0);
}
