use super::*;
use serde_json::{Value, json};

fn minimal() -> Value {
    json!({
        "schema": "nephoscope/load-spec/1",
        "action": "run",
        "target": {"dsn": "postgresql://u:pw@h/d"},
        "workload": {"kind": "point_select", "rows": 1000},
        "seed": 1,
    })
}

fn with(pointer: &str, value: Value) -> String {
    let mut spec = minimal();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    spec.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
    spec.to_string()
}

fn oltp(tables: u32, rows: u32) -> Value {
    json!({"kind": "oltp_read_write", "tables": tables, "rows": rows, "distribution": "uniform"})
}

#[test]
fn defaults() {
    let spec = Spec::parse(&minimal().to_string()).unwrap();
    assert_eq!((spec.connections, spec.max_retries, spec.check), (1, 10, CheckSpec::Conditions));
    assert_eq!((spec.ramp_s, spec.duration_s), (0.0, 10.0));
    assert_eq!(Spec::parse(&serde_json::to_string(&spec).unwrap()), Ok(spec));
}

#[test]
fn clients_are_as_many_as_connections_or_as_terminals() {
    let clients = |more: Value| {
        let mut spec = minimal();
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let share = Spec::parse(&spec.to_string()).unwrap().share();
        (share.first, share.stride, share.clients, share.len())
    };
    assert_eq!(clients(json!({"connections": 7})), (0, 1, 7, 7));
    assert_eq!(clients(json!({"connections": 7, "workers": 20})), (0, 1, 20, 20));
    assert_eq!(clients(json!({"connections": 7, "shard": {"index": 1, "count": 3}})), (1, 3, 21, 7));
    let waits = json!({"kind": "tpcc", "warehouses": 9, "active_warehouses": 5, "wait": "spec"});
    assert_eq!(clients(json!({"workload": waits})), (0, 1, 50, 50));
    assert_eq!(clients(json!({"workload": waits, "shard": {"index": 2, "count": 3}})), (2, 3, 50, 16));
}

#[test]
fn what_excludes_each_other_is_refused() {
    let mut spec = minimal();
    spec["workload"] = json!({"kind": "tpcc", "warehouses": 1, "wait": "spec"});
    spec["pace"] = json!({"kind": "poisson", "rate_per_s": 5});
    assert!(Spec::parse(&spec.to_string()).unwrap_err().to_string().contains("exclude each other"));
    let mut spec = minimal();
    spec["workload"] = json!({"kind": "null"});
    spec["action"] = json!("load");
    assert!(Spec::parse(&spec.to_string()).unwrap_err().to_string().contains("no tables"));
}

#[test]
fn each_kind_of_target_has_its_keys() {
    let mut spec = minimal();
    spec["workload"] = json!({"kind": "kv", "rows": 1000, "batch": 2});
    spec["target"] = json!({"kind": "resp", "dsn": "redis://u:pw@h", "pipeline": 16});
    let parsed = Spec::parse(&spec.to_string()).unwrap();
    assert_eq!(parsed.share().clients, 16);
    assert_eq!(parsed.without_secrets().target.dsn, "redis://u:***@h");
    let shown = serde_json::to_value(parsed.target).unwrap();
    assert_eq!(shown, json!({"kind": "resp", "dsn": "redis://u:pw@h", "pipeline": 16}));
    for (key, value, expected) in [
        ("/target/isolation", json!("serializable"), "target.isolation"),
        ("/target/dialect", json!("cockroachdb"), "target.dialect"),
        ("/target/retry", json!("savepoint"), "target.retry"),
        ("/target/pipeline", json!(0), "target.pipeline"),
        ("/target/cluster", json!(true), "workload.batch"),
        ("/target/dsn", json!("postgresql://u@h/d"), "target.dsn: must begin with redis://"),
        ("/load", json!({"resume": true}), "load.resume"),
        ("/fingerprint", json!(true), "fingerprint"),
    ] {
        let mut spec = spec.clone();
        let (parent, name) = key.rsplit_once('/').unwrap();
        spec.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
        let message = Spec::parse(&spec.to_string()).expect_err(key).to_string();
        assert!(message.contains(expected), "{key}: {message}");
    }
}

#[test]
fn ycsb_on_resp_has_no_scans() {
    let refused = |mix: &str, cluster: bool| {
        let mut spec = minimal();
        spec["workload"] = json!({"kind": "ycsb", "rows": 9, "mix": mix});
        spec["target"] = json!({"kind": "resp", "dsn": "redis://h", "cluster": cluster});
        Spec::parse(&spec.to_string()).err().map(|error| error.to_string())
    };
    assert_eq!((refused("a", true), refused("d", false), refused("d", true)), (None, None, None));
    assert!(refused("e", false).unwrap().contains("workload.mix: e scans"));
}

#[test]
fn an_aerospike_target_is_hosts_a_namespace_and_a_set() {
    let mut spec = minimal();
    spec["workload"] = json!({"kind": "kv", "rows": 1000});
    spec["target"] = json!({"kind": "aerospike", "hosts": ["192.0.2.1:3000", "b"], "namespace": "test"});
    let parsed = Spec::parse(&spec.to_string()).unwrap();
    assert_eq!(parsed.target.place().unwrap().set.name(), "nephoscope");
    assert_eq!(serde_json::to_value(parsed.without_secrets().target).unwrap(), spec["target"]);
    assert_eq!(TargetSpec::at("aerospike://192.0.2.1:3000,b/test"), parsed.target);
    for (key, value, expected) in [
        ("/target/isolation", json!("serializable"), "target.isolation"),
        ("/target/dialect", json!("cockroachdb"), "target.dialect"),
        ("/target/pipeline", json!(2), "target.pipeline"),
        ("/target/cluster", json!(true), "target.cluster"),
        ("/target/dsn", json!("redis://h"), "target.dsn"),
        ("/target/hosts", json!([]), "target.hosts: give"),
        ("/target/hosts", json!(["h:x"]), "target.hosts"),
        ("/target/namespace", json!("a:b"), "target.namespace"),
        ("/target/set", json!(""), "target.set: must be 1 to 63"),
        ("/workload/batch", json!(2), "workload.batch: must be 1"),
        ("/workload/min_block_bytes", json!(9_000_000), "workload.max_block_bytes"),
        ("/workload", json!({"kind": "ycsb", "rows": 9, "mix": "e"}), "workload.mix: e scans"),
        ("/workload", json!({"kind": "tpcb", "scale": 1}), "targets of kind aerospike support kv"),
        ("/load", json!({"resume": true}), "load.resume"),
        ("/fingerprint", json!(true), "fingerprint"),
    ] {
        let mut spec = spec.clone();
        let (parent, name) = key.rsplit_once('/').unwrap();
        spec.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
        let message = Spec::parse(&spec.to_string()).expect_err(key).to_string();
        assert!(message.contains(expected), "{key}: {message}");
    }
    let other = with("/target", json!({"dsn": "postgresql://u@h/d", "hosts": ["h"]}));
    assert!(Spec::parse(&other).unwrap_err().to_string().contains("target.hosts: only for targets of kind aerospike"));
}

#[test]
fn the_password_is_not_shown() {
    let shown = Spec::parse(&minimal().to_string()).unwrap().without_secrets();
    assert_eq!(shown.target.dsn, "postgresql://u:***@h/d");
}

#[test]
fn what_is_wrong_is_named() {
    for (spec, expected) in [
        (with("/conections", json!(3)), "conections"),
        (with("/target/tls", json!(true)), "tls"),
        (with("/workload/row", json!(3)), "row"),
        (with("/pace", json!({"rate": 3})), "pace"),
        (with("/pace", json!({"kind": "closed", "rate_per_s": 3})), "pace"),
        (with("/pace", json!({"kind": "constant"})), "rate_per_s"),
        (with("/pace", json!({"kind": "poisson", "rate_per_s": 0})), "pace.rate_per_s: must be above 0"),
        (with("/threads", json!(0)), "threads: must be 1 to"),
        (with("/workers", json!(0)), "workers: must be 1 to"),
        (with("/operations", json!(0)), "operations"),
        (with("/shard", json!({"count": 0})), "shard.count"),
        (with("/answer_timeout_s", json!(0)), "answer_timeout_s"),
        (with("/reconnect_timeout_s", json!(-1)), "reconnect_timeout_s"),
        (with("/workload", json!({"kind": "tpcc", "warehouses": 1, "wait_factor": 0.5})), "workload.wait_factor"),
        (with("/workload", json!({"kind": "null", "rows": 1})), "rows"),
        (with("/workload/kind", json!("ycbs")), "ycbs"),
        (with("/workload", json!({"kind": "ycsb", "rows": 9})), "mix"),
        (with("/workload", json!({"kind": "ycsb", "rows": 9, "mix": "g"})), "workload.mix"),
        (with("/workload", json!({"kind": "ycsb", "rows": 0, "mix": "a"})), "workload.rows"),
        (
            with("/workload", json!({"kind": "ycsb", "rows": 9, "mix": "a", "fields": 11})),
            "workload.fields: must be 1 to 10",
        ),
        (with("/workload", json!({"kind": "ycsb", "rows": 9, "mix": "a", "field_bytes": 0})), "workload.field_bytes"),
        (with("/workload/rows", json!("many")), "workload"),
        (with("/workload/rows", json!(0)), "workload.rows"),
        (with("/workload", json!({"kind": "kv"})), "rows"),
        (with("/workload", json!({"kind": "kv", "rows": 9, "read_percent": 101})), "workload.read_percent"),
        (with("/workload", json!({"kind": "kv", "rows": 9, "batch": 10})), "workload.batch"),
        (with("/workload", json!({"kind": "kv", "rows": 9, "min_block_bytes": 0})), "workload.min_block_bytes"),
        (
            with("/workload", json!({"kind": "kv", "rows": 9, "min_block_bytes": 2, "max_block_bytes": 1})),
            "workload.max_block_bytes: 1 is below min_block_bytes, which is 2; set both",
        ),
        (
            with("/workload", json!({"kind": "kv", "rows": 9, "max_block_bytes": 40})),
            "workload.max_block_bytes: 40 is below min_block_bytes, which is 256; set both",
        ),
        (with("/workload", json!({"kind": "kv", "rows": 9, "zipf_exponent": 0})), "workload.zipf_exponent"),
        (with("/workload", json!({"kind": "kv", "rows": 9, "order": "random"})), "workload.order"),
        (with("/workload", json!({"kind": "oltp_insert", "tables": 1, "rows": 9})), "distribution"),
        (with("/workload", oltp(0, 9)), "workload.tables: must be 1 to 1000"),
        (with("/workload", oltp(1_001, 9)), "workload.tables"),
        (with("/workload", oltp(1, 0)), "workload.rows"),
        (with("/workload", json!({"kind": "tpcb", "scale": 0})), "workload.scale: must be 1 to 21000"),
        (with("/target/pipeline", json!(2)), "target.pipeline: only for targets of kind resp"),
        (
            with("/target", json!({"kind": "resp", "dsn": "redis://h"})),
            "workload.kind: targets of kind resp support kv",
        ),
        (with("/schema", json!("nephoscope/load-spec/2")), "load-spec/2"),
        (with("/action", json!("jump")), "action"),
        (with("/connections", json!(0)), "connections"),
        (with("/connections", json!(-1)), "connections"),
        (with("/connections", json!(1_000_001)), "connections: must be 1 to 1000000"),
        (with("/max_retries", json!(1_001)), "max_retries: must be at most 1000"),
        (with("/max_failed_percent", json!(101)), "max_failed_percent: must be from 0 to 100"),
        (with("/workload", json!({"kind": "tpcc", "warehouses": 1_000_001})), "workload.warehouses: must be 1 to"),
        (with("/workload", json!({"kind": "tpcc", "warehouses": 0})), "workload.warehouses: must be 1 to"),
        (with("/seed", json!(1_u64 << 63)), "seed"),
        (with("/duration_s", json!(0)), "duration_s"),
        (with("/ramp_s", json!(-0.5)), "ramp_s"),
        (with("/ramp_s", json!(1e300)), "ramp_s"),
        (with("/target/dsn", json!("mysql://u@h")), "target.dsn"),
        (with("/target/isolation", json!("chaos")), "target.isolation"),
        (with("/workload", json!({"kind": "tpcc", "warehouses": 2, "active_warehouses": 3})), "active_warehouses"),
        (with("/target/dialect", json!("oracle")), "target.dialect"),
        (
            with("/workload", json!({"kind": "tpcc", "warehouses": 1, "profile": "proc"}))
                .replace("\"dsn\"", "\"dialect\":\"cockroachdb\",\"dsn\""),
            "workload.profile: proc is for other servers: use another",
        ),
        (with("/shard", json!({"index": 2, "count": 2})), "shard.index"),
        (with("/shard", json!({"index": 0, "count": 0})), "shard.count"),
        (with("/load", json!({"part": "some"})), "load.part"),
        (with("/load", json!({"part": "rows", "resume": true})), "load.resume"),
        (
            with("/action", json!("load")).replace("\"seed\"", "\"shard\":{\"index\":0,\"count\":2},\"seed\""),
            "load.part",
        ),
        (minimal().to_string() + "{}", "after the document"),
        (String::new(), "EOF"),
    ] {
        let message = Spec::parse(&spec).expect_err(&spec).to_string();
        assert!(message.contains(expected), "{spec}: {message}");
    }
}
