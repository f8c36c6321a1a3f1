use super::*;
use crate::workload::tpcc::profile::Profile;
use clap::CommandFactory;

fn spec_of(words: &str) -> Spec {
    match Cli::parse_from(words.split_ascii_whitespace()).command {
        Command::Workload(workload) => workload.into_spec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_command_line_is_sound_and_its_help_teaches() {
    Cli::command().debug_assert();
    let help = Cli::command().render_long_help().to_string();
    for word in ["point-select load", "tpcc run", "exec < spec.json", "telemetry", "130"] {
        assert!(help.contains(word), "{word}");
    }
}

#[test]
fn options_become_the_same_spec_as_json() {
    for (words, json) in [
        (
            "x point-select run --dsn postgresql://u@h/d --rows 5 --seed 3 --connections 2 --ramp-s 1.5 \
             --duration-s 4 --isolation serializable --check none",
            r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d", "isolation": "serializable"},
                "workload": {"kind": "point_select", "rows": 5}, "seed": 3, "connections": 2, "ramp_s": 1.5,
                "duration_s": 4, "check": "none"}"#,
        ),
        (
            "x tpcc run --dsn postgresql://u@h/d --warehouses 5 --active-warehouses 2 --wait spec --wait-factor 0.5 \
             --delivery deferred --workers 30 --threads 2 --pin --operations 99 --shard 1/2 --start-at-unix-ms 7 --retry savepoint \
             --answer-timeout-s 2 --reconnect-timeout-s 3 --max-retries 4 --max-failed-percent 5",
            r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d", "retry": "savepoint"}, "seed": 1,
                "workload": {"kind": "tpcc", "warehouses": 5, "active_warehouses": 2, "wait": "spec",
                "wait_factor": 0.5, "delivery": "deferred"}, "workers": 30, "threads": 2, "pin": true, "operations": 99,
                "shard": {"index": 1, "count": 2}, "start_at_unix_ms": 7, "answer_timeout_s": 2,
                "reconnect_timeout_s": 3, "max_retries": 4, "max_failed_percent": 5}"#,
        ),
        (
            "x null run --dsn postgresql://u@h/d --pace poisson --rate-per-s 50",
            r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d"}, "workload": {"kind": "null"}, "seed": 1,
                "pace": {"kind": "poisson", "rate_per_s": 50}}"#,
        ),
        (
            "x oltp-insert run --dsn postgresql://u@h/d --tables 4 --rows 9 --distribution pareto",
            r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d"}, "seed": 1,
                "workload": {"kind": "oltp_insert", "tables": 4, "rows": 9, "distribution": "pareto"}}"#,
        ),
        (
            "x oltp-read-write run --dsn postgresql://u@h/d --tables 4 --rows 9 --distribution special --profile pipelined",
            r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d"}, "seed": 1,
                "workload": {"kind": "oltp_read_write", "tables": 4, "rows": 9, "distribution": "special",
                "profile": "pipelined"}}"#,
        ),
        (
            "x tpcb run --dsn postgresql://u@h/d --scale 4 --profile pipelined",
            r#"{"action": "run", "target": {"dsn": "postgresql://u@h/d"}, "seed": 1,
                "workload": {"kind": "tpcb", "scale": 4, "profile": "pipelined"}}"#,
        ),
        (
            "x ycsb run --dsn redis://h --rows 9 --mix d --distribution uniform --fields 1 --field-bytes 1424",
            r#"{"action": "run", "target": {"kind": "resp", "dsn": "redis://h"}, "seed": 1,
                "workload": {"kind": "ycsb", "rows": 9, "mix": "d", "distribution": "uniform", "fields": 1,
                "field_bytes": 1424}}"#,
        ),
        (
            "x ycsb run --dsn aerospike://h:3100,[::1]/test/set --rows 9 --mix f",
            r#"{"action": "run", "target": {"kind": "aerospike", "hosts": ["h:3100", "[::1]"], "namespace": "test",
                "set": "set"}, "seed": 1, "workload": {"kind": "ycsb", "rows": 9, "mix": "f"}}"#,
        ),
        (
            "x kv run --dsn redis://h:7000/1 --rows 9 --read-percent 50 --batch 1 --min-block-bytes 3 --max-block-bytes 7 \
             --distribution zipf --zipf-exponent 0.9 --order sequential --writes new --cluster --pipeline 16",
            r#"{"action": "run", "seed": 1, "target": {"kind": "resp", "dsn": "redis://h:7000/1", "pipeline": 16,
                "cluster": true}, "workload": {"kind": "kv", "rows": 9, "read_percent": 50, "min_block_bytes": 3,
                "max_block_bytes": 7, "distribution": "zipf", "zipf_exponent": 0.9, "order": "sequential",
                "writes": "new"}}"#,
        ),
    ] {
        assert_eq!(spec_of(words), Spec::parse(json).unwrap());
    }
}

#[test]
fn a_schedule_needs_a_rate() {
    let words = "x null run --dsn postgresql://u@h/d --pace constant";
    assert!(Cli::try_parse_from(words.split_ascii_whitespace()).is_err());
    let shard = "x null run --dsn postgresql://u@h/d --shard 3";
    assert!(Cli::try_parse_from(shard.split_ascii_whitespace()).unwrap_err().to_string().contains("I/N"));
}

#[test]
fn every_profile_has_its_word() {
    for profile in Profile::ALL {
        let words = format!(
            "x tpcc run --dsn postgresql://u@h/d --warehouses 3 --profile {profile} --timestamps logical --seed 3"
        );
        let json = format!(
            r#"{{"action": "run", "target": {{"dsn": "postgresql://u@h/d"}}, "seed": 3,
            "workload": {{"kind": "tpcc", "warehouses": 3, "profile": "{profile}", "timestamps": "logical"}}}}"#
        );
        assert_eq!(spec_of(&words), Spec::parse(&json).unwrap());
    }
}
