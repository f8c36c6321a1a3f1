//! The RESP target and the workload kv on it, against a real Redis or Valkey.

use crate::support;

use nephoscope_load::target::TargetError;
use nephoscope_load::target::resp::{Answer, Commands, Connection};
use nephoscope_load::target::{Poll, Request, Session};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use support::program::{self, Ended, exec, spec, start, unix_ms};
use support::redis::{Redis, redis};

fn kv(action: &str, redis: &Redis) -> Value {
    let mut spec = spec(action, &redis.dsn(), json!({"kind": "kv", "rows": 20_000, "min_block_bytes": 10}));
    spec["target"] = json!({"kind": "resp", "dsn": redis.dsn()});
    spec
}

/// Of each operation, how many were committed in all.
fn committed(ended: &Ended) -> [u64; 2] {
    let totals = ended.finished()["operations"].as_array().unwrap();
    ["read", "write"].map(|name| {
        let of = totals.iter().find(|total| total["operation"] == name && total["outcome"] == "committed");
        of.map_or(0, |total| total["all"].as_u64().unwrap())
    })
}

fn conditions(ended: &Ended) -> Vec<(u64, bool)> {
    let conditions = ended.finished()["conditions"].as_array().unwrap();
    conditions.iter().map(|it| (it["number"].as_u64().unwrap(), it["holds"].as_bool().unwrap())).collect()
}

#[test]
fn commands_are_answered_in_order_and_a_refusal_leaves_the_session_whole() {
    let Some(redis) = redis(&[]) else { return };
    let mut connection = redis.connect();
    let mut commands = Commands::default();
    commands.all(&[b"SET", b"k", b"a\r\nb"]).all(&[b"INCR", b"n"]).all(&[b"MGET", b"k", b"none", b"n"]);
    let reply = connection.exchange(&mut commands).unwrap();
    assert_eq!((reply.answer(0), reply.answer(1)), (Some(Answer::Text(b"OK")), Some(Answer::Integer(1))));
    let three = [Answer::Array(3), Answer::Text(b"a\r\nb"), Answer::Nothing, Answer::Text(b"1")];
    assert_eq!(reply.answers(2).collect::<Vec<_>>(), three);
    commands.clear();
    commands.all(&[b"INCR", b"k"]).all(&[b"PING"]);
    let refused = connection.exchange(&mut commands).map(|_| ()).unwrap_err();
    assert!(matches!(refused, TargetError::Database { sqlstate, .. } if sqlstate == "ERR"));
    assert_eq!(connection.text(&[b"PING"]).unwrap(), "PONG");
    let url = nephoscope_load::target::resp::Url::parse(&redis.dsn(), |_| None).unwrap();
    assert!(
        matches!(Connection::open(&url, None), Err(TargetError::Database { sqlstate, .. }) if sqlstate == "NOAUTH")
    );
}

#[test]
fn a_user_needs_few_rights_and_a_refusal_names_them() {
    let Some(redis) = redis(&[]) else { return };
    let set_user = |words: &str| {
        let mut parts = vec!["ACL", "SETUSER", "app", "reset", "on", "~*"];
        parts.extend(words.split(' '));
        let parts: Vec<_> = parts.iter().map(|part| part.as_bytes()).collect();
        redis.connect().call(&parts).unwrap();
    };
    let load = || {
        let mut spec = kv("load", &redis);
        spec["target"]["dsn"] = json!(redis.dsn().replace("//", "//app@"));
        exec(&spec)
    };
    let password = format!(">{}", support::redis::PASSWORD);
    set_user(&format!("{password} +@read +@write +info"));
    load().expect(0);
    set_user(&format!("{password} +@read +@write +ping +auth"));
    let refused = load().expect(3);
    assert!(refused.message().contains("+@read +@write +info"), "{}", refused.message());
    set_user("nopass +acl|whoami +ping");
    let url = nephoscope_load::target::resp::Url::parse(&redis.dsn().replace("//", "//app@"), |_| None).unwrap();
    assert_eq!(Connection::open(&url, None).unwrap().text(&[b"ACL", b"WHOAMI"]).unwrap(), "app");
}

#[test]
fn a_server_without_the_commands_that_are_needed_is_refused_with_their_names() {
    let Some(redis) = redis(&["--rename-command", "INFO", "", "--rename-command", "CLIENT", ""]) else { return };
    let refused = exec(&kv("load", &redis)).expect(3);
    assert!(refused.message().contains("must not have renamed INFO"), "{}", refused.message());
}

/// Several requests on the way together, with answers larger than any buffer: what comes cut anywhere is put together.
#[test]
fn exchanges_that_overlap_are_answered_each_by_its_own() {
    let Some(redis) = redis(&[]) else { return };
    let mut connection = redis.connect();
    for index in 0..20_usize {
        let value = vec![b'a' + index as u8; index * 3_001];
        connection.call(&[b"SET", &[b'k', index as u8], &value]).unwrap();
    }
    connection.set_nonblocking().unwrap();
    let mut requests: Vec<Commands> = (0..20).map(|_| Commands::default()).collect();
    for round in 0..5 {
        for (index, request) in requests.iter_mut().enumerate() {
            request.clear();
            request.all(&[b"GET", &[b'k', index as u8]]).all(&[b"STRLEN", &[b'k', index as u8]]);
            connection.begin(request).unwrap();
        }
        connection.flush().unwrap();
        for (index, request) in requests.iter().enumerate() {
            while connection.advance(request).unwrap() == Poll::Pending {
                poll(&mut [PollFd::new(&connection, PollFlags::IN)], None).unwrap();
            }
            let reply = connection.reply();
            let Some(Answer::Text(text)) = reply.answer(0) else { panic!("no text in round {round}") };
            assert!(
                text.len() == index * 3_001 && text.iter().all(|byte| *byte == b'a' + index as u8),
                "{round} {index}"
            );
            assert_eq!(reply.answer(1), Some(Answer::Integer((index * 3_001) as i64)));
        }
    }
}

#[test]
fn rows_are_loaded_driven_and_counted_at_every_depth() {
    let Some(redis) = redis(&[]) else { return };
    let loaded = exec(&kv("load", &redis)).expect(0);
    assert_eq!(loaded.finished()["tables"], json!([{"table": "kv", "rows": 20_000, "bytes": 200_000}]));
    assert_eq!(conditions(&loaded), [(1, true), (2, true), (3, true)]);
    for (pipeline, batch, writes) in [(1, 1, "existing"), (16, 1, "existing"), (4, 5, "existing"), (8, 1, "new")] {
        let mut spec = kv("run", &redis);
        spec["target"]["pipeline"] = json!(pipeline);
        spec["workload"]["batch"] = json!(batch);
        spec["workload"]["writes"] = json!(writes);
        spec["workload"]["read_percent"] = json!(50);
        let ended = exec(&spec).expect(0);
        let counters = ended.finished()["counters"].as_array().unwrap();
        let told: Vec<u64> = counters.iter().map(|counter| counter["server"].as_u64().unwrap()).collect();
        let committed = committed(&ended);
        assert_eq!(told, committed, "{spec}");
        assert!(committed.iter().all(|count| *count > 100), "{committed:?}");
        let audit = ended.finished()["audit"].as_array().unwrap();
        assert_eq!(audit.len(), 3);
        assert!(audit.iter().all(|line| line["passed"] == json!(true)), "{audit:?}");
        assert_eq!(ended.finished()["server_version"], Value::Null);
        assert!(ended.lines[0]["server_version"].as_str().is_some());
    }
    let mut spec = kv("check", &redis);
    spec["target"]["dsn"] = json!(redis.socket_dsn());
    assert_eq!(conditions(&exec(&spec).expect(0)), [(1, true), (3, true)]);
}

#[test]
fn an_open_pace_offers_its_rate_and_a_frozen_server_is_seen_to_its_full_length() {
    let Some(redis) = redis(&[]) else { return };
    exec(&kv("load", &redis)).expect(0);
    let mut spec = kv("run", &redis);
    spec["pace"] = json!({"kind": "constant", "rate_per_s": 1_000});
    spec["target"]["pipeline"] = json!(8);
    spec["duration_s"] = json!(3);
    let running = start(&spec);
    thread::sleep(Duration::from_millis(1_200));
    redis.signal(rustix::process::Signal::STOP);
    thread::sleep(Duration::from_millis(1_000));
    redis.signal(rustix::process::Signal::CONT);
    let ended = running.end().expect_paced();
    assert_eq!(ended.finished()["offered"], json!(3_000));
    let not_sent = ended.finished()["not_sent"].as_u64().unwrap();
    assert_eq!(committed(&ended).iter().sum::<u64>() + not_sent, 3_000, "{not_sent} not sent");
}

#[test]
fn what_no_load_wrote_is_never_deleted_and_a_missing_row_is_found() {
    let Some(redis) = redis(&[]) else { return };
    let mut connection = redis.connect();
    connection.call(&[b"SET", b"mine", b"1"]).unwrap();
    let refused = exec(&kv("load", &redis)).expect(2);
    assert!(refused.message().contains("1 keys that no load wrote"), "{}", refused.message());
    connection.call(&[b"DEL", b"mine"]).unwrap();
    exec(&kv("load", &redis)).expect(0);
    exec(&kv("load", &redis)).expect(0);
    let name = connection.text(&[b"RANDOMKEY"]).unwrap();
    let name = if name.starts_with("kv:") { name } else { connection.text(&[b"RANDOMKEY"]).unwrap() };
    connection.call(&[b"SET", name.as_bytes(), b"short"]).unwrap();
    let broken = exec(&kv("check", &redis)).expect(5);
    assert!(broken.message().contains("condition 3") && broken.message().contains(&name), "{}", broken.message());
    connection.call(&[b"DEL", name.as_bytes()]).unwrap();
    let broken = exec(&kv("check", &redis)).expect(5);
    assert!(broken.message().contains("condition 1 is broken"), "{}", broken.message());
    let mut spec = kv("run", &redis);
    (spec["workload"]["read_percent"], spec["workload"]["rows"]) = (json!(100), json!(30_000));
    let broken = exec(&spec).expect(5);
    assert!(broken.message().contains("found only 0 of 1 row, of those starting with"), "{}", broken.message());
}

#[test]
fn a_counter_that_disagrees_is_told() {
    let Some(redis) = redis(&[]) else { return };
    exec(&kv("load", &redis)).expect(0);
    let mut spec = kv("run", &redis);
    spec["duration_s"] = json!(2);
    let mut running = start(&spec);
    running.wait_for("interval");
    redis.connect().call(&[b"GET", b"something"]).unwrap();
    let ended = running.end().expect(5);
    assert!(ended.message().contains("counter get disagrees"), "{}", ended.message());
}

#[test]
fn shards_load_and_drive_one_data_set() {
    let Some(redis) = redis(&[]) else { return };
    let part = |part: &str, index: u32| {
        let mut spec = kv("load", &redis);
        (spec["load"], spec["shard"]) = (json!({"part": part}), json!({"index": index, "count": 2}));
        if part != "rows" {
            spec["shard"] = json!({});
        }
        exec(&spec).expect(0)
    };
    part("create", 0);
    part("rows", 1);
    part("rows", 0);
    assert_eq!(conditions(&part("finish", 0)), [(1, true), (2, true), (3, true)]);
}

#[test]
fn what_the_server_counted_is_held_against_all_shards_together() {
    let Some(redis) = redis(&[]) else { return };
    exec(&kv("load", &redis)).expect(0);
    let drive = |disturb: bool| {
        let mut spec = kv("run", &redis);
        (spec["start_at_unix_ms"], spec["duration_s"]) = (json!(unix_ms() + 2_000), json!(3));
        let mut shards = program::shards(&spec, 2);
        shards[0].wait_for("interval");
        if disturb {
            redis.connect().call(&[b"GET", b"something"]).unwrap();
        }
        let ended: Vec<Ended> = shards.into_iter().map(|shard| shard.end().expect(0)).collect();
        program::merge(&ended)
    };
    let merged = drive(false).expect(0);
    let counters = merged.finished()["counters"].as_array().unwrap();
    let server: Vec<u64> = counters.iter().map(|counter| counter["server"].as_u64().unwrap()).collect();
    assert_eq!(server, committed(&merged));
    let disturbed = drive(true).expect(5);
    assert!(disturbed.message().contains("counter get disagrees"), "{}", disturbed.message());
}

/// Three masters that know each other and share the slots, and so many servers beside them that know them, too.
fn cluster(others: usize) -> Option<Vec<Redis>> {
    let bus = support::free_port;
    let start = |_| {
        let settings = ["--cluster-node-timeout", "1000", "--masterauth", support::redis::PASSWORD];
        redis(&[&["--cluster-enabled", "yes", "--cluster-port", &bus().to_string()], &settings[..]].concat())
    };
    let masters: Vec<Redis> = (0..3 + others).filter_map(start).collect();
    if masters.len() < 3 + others {
        return None;
    }
    let ranges: [(&[u8], &[u8]); 3] = [(b"0", b"5000"), (b"5001", b"10000"), (b"10001", b"16383")];
    for (master, (first, last)) in masters.iter().zip(ranges) {
        master.connect().call(&[b"CLUSTER", b"ADDSLOTSRANGE", first, last]).unwrap();
    }
    for other in &masters[1..] {
        let nodes = other.connect().text(&[b"CLUSTER", b"NODES"]).unwrap();
        let bus = nodes.split('@').nth(1).and_then(|rest| rest.split([' ', ',']).next()).expect("a bus port");
        let port = other.port.to_string();
        masters[0].connect().call(&[b"CLUSTER", b"MEET", b"127.0.0.1", port.as_bytes(), bus.as_bytes()]).unwrap();
    }
    let is_up = |master: &Redis| master.connect().text(&[b"CLUSTER", b"INFO"]).unwrap().contains("cluster_state:ok");
    let knows_all =
        |master: &Redis| master.connect().text(&[b"CLUSTER", b"NODES"]).unwrap().lines().count() == 3 + others;
    for _ in 0..300 {
        if masters.iter().all(|master| is_up(master) && knows_all(master)) {
            return Some(masters);
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("the cluster does not come up");
}

#[test]
fn a_cluster_is_loaded_and_driven_each_key_at_its_master() {
    let Some(masters) = cluster(0) else { return };
    let spec = |action: &str, asked: usize| {
        let mut spec = kv(action, &masters[asked]);
        spec["target"]["cluster"] = json!(true);
        spec["connections"] = json!(6);
        spec
    };
    assert_eq!(conditions(&exec(&spec("load", 1)).expect(0)), [(1, true), (2, true), (3, true)]);
    for pace in [json!({"kind": "closed"}), json!({"kind": "poisson", "rate_per_s": 1_000})] {
        let mut run = spec("run", 2);
        (run["pace"], run["target"]["pipeline"]) = (pace, json!(4));
        let ended = exec(&run).expect_paced();
        let counters = ended.finished()["counters"].as_array().unwrap();
        let told: Vec<u64> = counters.iter().map(|counter| counter["server"].as_u64().unwrap()).collect();
        assert_eq!(told, committed(&ended));
        assert_eq!(ended.finished()["errors"], json!([]));
    }
    for master in &masters {
        let keys = master.connect().text(&[b"INFO", b"keyspace"]).unwrap();
        assert!(keys.contains("db0:keys="), "every master has its part: {keys}");
    }
    // Records that are inserted go to their masters, and are read there.
    for action in ["load", "run"] {
        let mut latest = spec(action, 0);
        latest["workload"] = json!({"kind": "ycsb", "rows": 1_000, "mix": "d", "field_bytes": 10});
        let ended = exec(&latest).expect(0);
        assert_eq!(ended.finished()["errors"], json!([]));
        assert!(action == "load" || ended.finished()["counters"][1]["server"].as_u64() > Some(50));
    }
}

/// Kills a master of which there is a copy during a run; what was not over by the end of the run, on a machine that had
/// no time for it.
fn drive_through_a_failover() -> Result<(), String> {
    let Some(mut servers) = cluster(1) else { return Ok(()) };
    let master = servers[0].connect().text(&[b"CLUSTER", b"MYID"]).unwrap();
    servers[3].connect().call(&[b"CLUSTER", b"REPLICATE", master.as_bytes()]).unwrap();
    let is_copied = || {
        let info = servers[3].connect().text(&[b"INFO", b"replication"]).unwrap();
        info.contains("role:slave") && info.contains("master_link_status:up")
    };
    (0..300)
        .find(|_| {
            is_copied() || {
                thread::sleep(Duration::from_millis(100));
                false
            }
        })
        .expect("the replica follows");
    let spec = |action: &str| {
        let mut spec = kv(action, &servers[1]);
        (spec["target"]["cluster"], spec["connections"], spec["check"]) = (json!(true), json!(6), json!("none"));
        spec
    };
    exec(&spec("load")).expect(0);
    let mut run = spec("run");
    (run["pace"], run["workers"]) = (json!({"kind": "constant", "rate_per_s": 300}), json!(6));
    (run["duration_s"], run["reconnect_timeout_s"], run["failover"]) = (json!(10), json!(60), json!(true));
    (run["max_failed_percent"], run["outage_limit_s"]) = (json!(100), json!(0.5));
    run["workload"]["ledger"] = json!(true);
    let mut running = start(&run);
    running.wait_for("interval");
    servers[0].kill();
    let ended = running.end();
    assert!(matches!(ended.code, 0 | 4 | 5), "{}", ended.message());
    let roles = servers[3].connect().text(&[b"INFO", b"replication"]).unwrap();
    if !roles.contains("role:master") {
        return Err(format!("the replica did not take over: {roles}"));
    }
    let outages = &ended.finished()["outages"];
    let longest_s = outages["longest_s"].as_f64().unwrap();
    // A replica waits for half a second before it asks for votes.
    assert!(longest_s > 0.5 && outages["longest_wait_s"].as_f64() > Some(0.5), "{outages}");
    assert!(outages["clients_hit"].as_u64() >= Some(1), "{outages}");
    let last = ended.intervals().last().unwrap();
    if last["errors"] != json!([]) || outages["episodes"].as_array().unwrap().last().unwrap()["ended"] != true {
        return Err(format!("the masters do not all serve again: {outages} {last}"));
    }
    let ledger = &ended.finished()["ledger"];
    assert!(ledger["acknowledged"].as_u64() > Some(0) && ledger["unsent"] == 0, "read where rows are now: {ledger}");
    let lost = |interval: &Value| interval["client"]["connections_lost"].as_u64().unwrap();
    let lost: u64 = ended.intervals().map(lost).sum();
    assert!(ledger["in_doubt"].as_u64() <= Some(lost), "one for each connection that was lost, of {lost}: {ledger}");
    Ok(())
}

#[test]
fn clients_live_through_a_failover_and_say_how_long_they_were_without_success() {
    support::in_a_quiet_moment(drive_through_a_failover);
}

#[test]
fn acknowledged_writes_that_are_gone_are_as_many_as_the_server_has_fewer_keys() {
    let Some(redis) = redis(&[]) else { return };
    exec(&kv("load", &redis)).expect(0);
    let mut run = kv("run", &redis);
    run["workload"]
        .as_object_mut()
        .unwrap()
        .extend(json!({"ledger": true, "writes": "new", "read_percent": 0}).as_object().unwrap().clone());
    (run["pace"], run["check"]) = (json!({"kind": "constant", "rate_per_s": 300}), json!("none"));
    run["duration_s"] = json!(3);
    let mut running = start(&run);
    running.wait_for("interval");
    redis.connect().call(&[b"FLUSHALL"]).unwrap();
    let ended = running.end().expect(5);
    let Some(Answer::Integer(keys)) = redis.connect().call(&[b"DBSIZE"]).unwrap().answer(0) else {
        panic!("no number")
    };
    let ledger = |name: &str| ended.finished()["ledger"][name].as_u64().unwrap();
    assert_eq!(ledger("lost"), ledger("acknowledged") - keys as u64);
    assert!(ledger("lost") > 0 && keys > 0 && ledger("lost_rows") == ledger("lost"));
}

#[test]
fn writes_that_a_server_refuses_are_neither_acknowledged_nor_in_doubt() {
    let Some(redis) = redis(&[]) else { return };
    exec(&kv("load", &redis)).expect(0);
    redis.connect().call(&[b"CONFIG", b"SET", b"min-replicas-to-write", b"1"]).unwrap();
    let mut run = kv("run", &redis);
    run["workload"]
        .as_object_mut()
        .unwrap()
        .extend(json!({"ledger": true, "read_percent": 50}).as_object().unwrap().clone());
    (run["max_failed_percent"], run["check"]) = (json!(100), json!("none"));
    let ended = exec(&run).expect(0);
    assert_eq!(ended.finished()["errors"][0]["sqlstate"], "NOREPLICAS");
    let ledger = &ended.finished()["ledger"];
    assert_eq!(["acknowledged", "in_doubt", "unsent"].map(|name| &ledger[name]), [0, 0, 0], "{ledger}");
}

#[test]
fn a_server_that_dies_is_told() {
    let Some(mut redis) = redis(&[]) else { return };
    exec(&kv("load", &redis)).expect(0);
    let mut spec = kv("run", &redis);
    (spec["duration_s"], spec["reconnect_timeout_s"]) = (json!(120), json!(0.5));
    spec["target"]["pipeline"] = json!(8);
    let mut running = start(&spec);
    running.wait_for("interval");
    redis.kill();
    let ended = running.end().expect(6);
    let errors = ended.finished()["errors"].as_array().unwrap();
    let lost: u64 = errors.iter().map(|error| error["count"].as_u64().unwrap()).sum();
    assert!(errors.iter().all(|error| error["sqlstate"] == "lost") && lost <= 32, "{errors:?}");
}
