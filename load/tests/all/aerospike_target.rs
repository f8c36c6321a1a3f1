//! The Aerospike target, and the workloads on it, against nodes that behave as real servers were seen to.

use crate::support;

use nephoscope_load::target::TargetError;
use nephoscope_load::target::aerospike::{Cluster, Connection, Digest, Messages, Place, Set, Write};
use nephoscope_load::testkit::FakeCluster;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use support::program::{Ended, exec, spec, start};

const PATIENCE: Duration = Duration::from_secs(20);

fn on(cluster: &FakeCluster, action: &str, workload: Value) -> Value {
    let mut spec = spec(action, "", workload);
    // One host is asked for the others.
    spec["target"] =
        json!({"kind": "aerospike", "hosts": [cluster.addresses()[0]], "namespace": "test", "set": "rows"});
    (spec["connections"], spec["operations"], spec["duration_s"]) = (json!(6), json!(2_000), json!(20));
    spec
}

/// At a rate, for so long.
fn paced(mut run: Value, rate_per_s: u32, duration_s: f64) -> Value {
    (run["pace"], run["duration_s"]) = (json!({"kind": "poisson", "rate_per_s": rate_per_s}), json!(duration_s));
    run
}

fn kv(cluster: &FakeCluster, action: &str) -> Value {
    on(cluster, action, json!({"kind": "kv", "rows": 1_500, "min_block_bytes": 10, "read_percent": 50}))
}

fn ycsb(cluster: &FakeCluster, action: &str, mix: &str) -> Value {
    on(cluster, action, json!({"kind": "ycsb", "rows": 1_000, "mix": mix, "fields": 4, "field_bytes": 20}))
}

fn conditions(ended: &Ended) -> Vec<(u64, bool)> {
    let conditions = ended.finished()["conditions"].as_array().unwrap();
    conditions.iter().map(|it| (it["number"].as_u64().unwrap(), it["holds"].as_bool().unwrap())).collect()
}

/// The counters of the server, each equal to what the client counted.
fn counters(ended: &Ended) -> Vec<(String, u64)> {
    let counters = ended.finished()["counters"].as_array().unwrap();
    let told = |it: &Value| (it["name"].as_str().unwrap().to_owned(), it["server"].as_u64().unwrap());
    assert!(counters.iter().all(|it| it["server"] == it["client"]), "{counters:?}");
    counters.iter().map(told).collect()
}

fn names(counters: &[(String, u64)]) -> Vec<&str> {
    counters.iter().map(|(name, _)| name.as_str()).collect()
}

/// The tests of the official clients have this digest for this set and key.
#[test]
fn a_record_is_known_by_the_digest_of_the_official_clients() {
    let cluster = FakeCluster::start(1, "test").unwrap();
    let place = Place::new(&cluster.addresses(), "test", "set").unwrap();
    let found = Cluster::find(&place, PATIENCE).unwrap();
    let mut connection = Connection::open(&found.partitions.nodes()[0], Some(PATIENCE)).unwrap();
    let mut messages = Messages::new(Arc::clone(&place.set));
    messages.write(Write::Create, b"s", [("v", &b"1"[..])].into_iter());
    connection.exchange(&messages).unwrap();
    let hex: String = cluster.digests()[0].0.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "607cddba7cd111745ef0a3d783d57f0e83c8f311");
    let other = Place::new(&cluster.addresses(), "prod", "set").unwrap();
    let (_, refused) = Cluster::find(&other, PATIENCE).unwrap_err();
    assert!(refused.to_string().contains("no namespace \"prod\""), "{refused}");
}

#[test]
fn records_are_loaded_driven_and_counted_each_at_its_master() {
    for nodes in [1, 3] {
        let cluster = FakeCluster::start(nodes, "test").unwrap();
        let loaded = exec(&kv(&cluster, "load")).expect(0);
        assert_eq!(loaded.finished()["tables"], json!([{"table": "kv", "rows": 1_500, "bytes": 15_000}]));
        assert_eq!(conditions(&loaded), [(1, true), (2, true), (3, true)]);
        for mut run in [kv(&cluster, "run"), paced(kv(&cluster, "run"), 900, 1.3)] {
            run["workload"]["writes"] = json!(if run["pace"].is_null() { "existing" } else { "new" });
            let ended = exec(&run).expect_paced();
            let counters = counters(&ended);
            assert_eq!(names(&counters), ["read_success", "write_success"]);
            assert!(counters.iter().all(|(_, count)| *count > 500), "{counters:?}");
            assert_eq!(ended.finished()["errors"], json!([]));
            let audit = ended.finished()["audit"].as_array().unwrap();
            assert!(audit.len() == 3 && audit.iter().all(|line| line["passed"] != json!(false)), "{audit:?}");
            assert_eq!(ended.lines[0]["server_version"], "7.0.0.0-fake");
        }
        assert_eq!(conditions(&exec(&kv(&cluster, "check")).expect(0)), [(1, true), (3, true)]);
        let counts = cluster.counts();
        assert!(counts.iter().all(|it| it.reads > 100 && it.writes > 100 && it.malformed == 0), "{counts:?}");
        // Again on what is there: the set is emptied first.
        assert_eq!(conditions(&exec(&kv(&cluster, "load")).expect(0)), [(1, true), (2, true), (3, true)]);
    }
}

#[test]
fn ycsb_runs_its_mixes_on_one_node_and_on_several() {
    let one = FakeCluster::start(1, "test").unwrap();
    let three = FakeCluster::start(3, "test").unwrap();
    for (cluster, mixes) in [(&three, &["a", "c", "f", "d"][..]), (&one, &["d"])] {
        assert_eq!(conditions(&exec(&ycsb(cluster, "load", mixes[0])).expect(0)), [(1, true), (2, true), (3, true)]);
        for mix in mixes {
            let ended = exec(&ycsb(cluster, "run", mix)).expect(0);
            let counters = counters(&ended);
            let expected: &[&str] = if *mix == "f" { &["write_success"] } else { &["read_success", "write_success"] };
            assert_eq!(names(&counters), expected);
            let writes = counters.last().unwrap().1;
            assert!((writes > 20) == (*mix != "c"), "{mix}: {counters:?}");
        }
    }
    // With a backlog, too: what is read is what was there when the operation became due.
    exec(&ycsb(&three, "load", "d")).expect(0);
    let mut backlog = paced(ycsb(&three, "run", "d"), 200_000, 20.0);
    backlog["connections"] = json!(3);
    assert_eq!(counters(&exec(&backlog).expect(0)).iter().map(|(_, count)| count).sum::<u64>(), 2_000);
    let mut null = on(&three, "run", json!({"kind": "null"}));
    exec(&null).expect(0);
    null["connections"] = json!(2);
    let refused = exec(&null).expect(2);
    assert!(refused.message().contains("connections: must be at least 3"), "{}", refused.message());
}

/// A server reads the record that an update leaves in part, and not the one that a write replaces.
#[test]
fn an_update_of_the_only_field_replaces_its_record_unread() {
    for (fields, must_read) in [(1, false), (4, true)] {
        let cluster = FakeCluster::start(1, "test").unwrap();
        let workload = json!({"kind": "ycsb", "rows": 500, "mix": "a", "fields": fields, "field_bytes": 20});
        exec(&on(&cluster, "load", workload.clone())).expect(0);
        let before = cluster.counts()[0];
        let updates = counters(&exec(&on(&cluster, "run", workload)).expect(0))[1].1;
        let read = cluster.counts()[0].reads_for_writes - before.reads_for_writes;
        assert_eq!(read, if must_read { updates } else { 0 });
    }
}

#[test]
fn what_no_load_wrote_is_never_deleted_and_a_missing_record_is_found() {
    let cluster = FakeCluster::start(2, "test").unwrap();
    let place = Place::new(&cluster.addresses(), "test", "rows").unwrap();
    let write = |key: &[u8], value: &[u8]| {
        let found = Cluster::find(&place, PATIENCE).unwrap().partitions;
        let mut connection = Connection::open(&found.nodes()[found.master(key)], Some(PATIENCE)).unwrap();
        let mut messages = Messages::new(Arc::clone(&place.set));
        messages.write(Write::Replace, key, [("v", value)].into_iter());
        connection.exchange(&messages).unwrap();
    };
    write(b"mine", b"1");
    let refused = exec(&kv(&cluster, "load")).expect(2);
    assert!(refused.message().contains("records that no load wrote"), "{}", refused.message());
    assert!(cluster.forget(&place.set.digest(b"mine")));
    exec(&kv(&cluster, "load")).expect(0);
    let key = row_of(&cluster, &place.set);
    let mut second = Messages::new(Arc::clone(&place.set));
    second.write(Write::Update, &key, [("mine", &b"1"[..])].into_iter());
    let found = Cluster::find(&place, PATIENCE).unwrap().partitions;
    Connection::open(&found.nodes()[found.master(&key)], Some(PATIENCE)).unwrap().exchange(&second).unwrap();
    let broken = exec(&kv(&cluster, "check")).expect(5);
    assert!(broken.message().contains("has bins that no load wrote"), "{}", broken.message());
    write(&key, b"short");
    let broken = exec(&kv(&cluster, "check")).expect(5);
    let name = String::from_utf8_lossy(&key).into_owned();
    assert!(broken.message().contains("condition 3") && broken.message().contains(&name), "{}", broken.message());
    assert!(cluster.forget(&place.set.digest(&key)));
    let broken = exec(&kv(&cluster, "check")).expect(5);
    assert!(broken.message().contains("condition 1 is broken"), "{}", broken.message());
    let mut run = kv(&cluster, "run");
    (run["workload"]["read_percent"], run["workload"]["rows"]) = (json!(100), json!(3_000));
    let broken = exec(&run).expect(5);
    assert!(broken.message().contains("is missing"), "{}", broken.message());
    let other = exec(&{
        let mut rows = ycsb(&cluster, "load", "a");
        rows["load"] = json!({"part": "rows"});
        rows
    });
    assert!(other.expect(2).message().contains("create it again"));
}

/// The key of a loaded row.
fn row_of(cluster: &FakeCluster, set: &Set) -> Vec<u8> {
    let there: Vec<Digest> = cluster.digests();
    let data = nephoscope_load::workload::kv::KvData::new(nephoscope_load::workload::kv::KvOptions::new(1_500), 42);
    let key = nephoscope_load::workload::kv::write_key(data.row(7, &mut Vec::new()));
    assert!(there.contains(&set.digest(&key)));
    key.to_vec()
}

#[test]
fn a_node_that_refuses_is_counted_by_its_word_and_asked_no_second_time() {
    let cluster = FakeCluster::start(2, "test").unwrap();
    exec(&kv(&cluster, "load")).expect(0);
    for (result, word) in [(18, "DEVICE_OVERLOAD"), (11, "UNAVAILABLE")] {
        cluster.refuse(10, result);
        let ended = exec(&kv(&cluster, "run")).expect(7);
        let errors = ended.finished()["errors"].as_array().unwrap();
        assert!(!errors.is_empty() && errors.iter().all(|it| it["sqlstate"] == word && it["kind"] == "failed"));
        assert!(counters(&ended).iter().all(|(_, count)| *count > 10));
    }
}

#[test]
fn partitions_that_moved_are_told_and_a_cluster_that_dies_ends_the_run() {
    let cluster = FakeCluster::start(2, "test").unwrap();
    exec(&kv(&cluster, "load")).expect(0);
    let mut running = start(&paced(kv(&cluster, "run"), 500, 3.0));
    running.wait_for("started");
    thread::sleep(Duration::from_millis(400));
    cluster.move_partitions();
    let ended = running.end().expect_paced();
    assert!(ended.stderr.contains("partitions moved"), "{}", ended.stderr);
    let mut run = paced(kv(&cluster, "run"), 100, 120.0);
    run["reconnect_timeout_s"] = json!(0.5);
    let mut running = start(&run);
    running.wait_for("started");
    thread::sleep(Duration::from_millis(400));
    cluster.stop();
    let ended = running.end().expect(6);
    let errors = ended.finished()["errors"].as_array().unwrap();
    assert!(errors.iter().all(|error| error["sqlstate"] == "lost"), "{errors:?}");
}

#[test]
fn a_run_whose_writes_are_all_refused_says_so_in_a_line_and_by_its_exit_code() {
    let cluster = FakeCluster::start(1, "test").unwrap();
    exec(&ycsb(&cluster, "load", "a")).expect(0);
    cluster.stop_writes();
    let ended = exec(&ycsb(&cluster, "run", "a")).expect(7);
    let told: Vec<&str> = ended.stderr.lines().collect();
    assert!(told.len() == 1 && told[0].contains("most of them update with OUT_OF_SPACE"), "{told:?}");
    assert_eq!(conditions(&ended), [(1, true)]);
}

/// What nodes did for others is asked of the nodes that are there when the run has ended.
#[test]
fn a_node_that_joins_during_a_run_is_asked_for_what_it_counted() {
    let cluster = FakeCluster::start(3, "test").unwrap();
    cluster.resize(2);
    exec(&kv(&cluster, "load")).expect(0);
    let mut running = start(&paced(kv(&cluster, "run"), 200, 3.0));
    running.wait_for("started");
    thread::sleep(Duration::from_millis(600));
    cluster.resize(3);
    let ended = running.end().expect_paced();
    assert!(ended.stderr.contains("partitions moved during the run"), "{}", ended.stderr);
    assert_eq!((counters(&ended).len(), conditions(&ended)), (2, vec![(1, true)]));
    let proxied = cluster.counts()[2].proxied;
    assert!(proxied.iter().all(|count| *count > 0), "{proxied:?}");
    // Copies that are still on their way count twice.
    cluster.leave_to_migrate(7);
    let ended = exec(&kv(&cluster, "run")).expect(0);
    let told = "the rows were not counted: 21 partitions are still to be migrated";
    assert!(ended.stderr.contains(told) && conditions(&ended).is_empty(), "{}", ended.stderr);
    assert!(exec(&kv(&cluster, "check")).expect(6).message().contains("21 partitions are still to be migrated"));
}

#[test]
fn silent_nodes_are_waited_for_no_longer_than_the_run_says() {
    let cluster = FakeCluster::start(3, "test").unwrap();
    exec(&kv(&cluster, "load")).expect(0);
    let mut run = paced(kv(&cluster, "run"), 200, 120.0);
    run["target"]["hosts"] = json!(cluster.addresses());
    (run["answer_timeout_s"], run["reconnect_timeout_s"]) = (json!(0.7), json!(0.7));
    let mut running = start(&run);
    running.wait_for("started");
    thread::sleep(Duration::from_millis(500));
    cluster.fall_silent();
    let began = Instant::now();
    let ended = running.end().expect(6);
    // The load finds it out, or on a busy machine whoever looks at the data after it.
    let found = ["was silent for 0.7 s", "did not answer within the timeout"];
    assert!(found.iter().any(|words| ended.message().contains(words)), "{}", ended.message());
    assert!(began.elapsed() < support::HANGS, "{:?}", began.elapsed());
}

#[test]
fn shards_load_and_drive_one_data_set() {
    let cluster = FakeCluster::start(2, "test").unwrap();
    let part = |part: &str, shard: Value| {
        let mut spec = kv(&cluster, "load");
        (spec["load"], spec["shard"]) = (json!({"part": part}), shard);
        exec(&spec).expect(0)
    };
    part("create", json!({}));
    part("rows", json!({"index": 1, "count": 2}));
    part("rows", json!({"index": 0, "count": 2}));
    assert_eq!(conditions(&part("finish", json!({}))), [(1, true), (2, true), (3, true)]);
}

/// A server that answers each client by these bytes, and closes the connection.
fn answering(answers: impl Fn() -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4_096];
            let _ = client.read(&mut request);
            let _ = client.write_all(&answers());
        }
    });
    address
}

/// Whoever listens at the port, and whatever it says: the end is an error, and soon.
#[test]
fn damaged_answers_neither_panic_nor_hang() {
    let seed = std::sync::atomic::AtomicU64::new(0);
    let address = answering(move || {
        let number = seed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(number);
        let texts = ["node\tBB9\nbuild\t7\n", "node\tERROR:80:no\n", "ERROR:80:no\n", "replicas\ttest:0,1,AA==\n", ""];
        let text = texts[number as usize % texts.len()].as_bytes();
        let mut bytes = [&[2, 1, 0, 0, 0, 0, 0, text.len() as u8][..], text].concat();
        for _ in 0..random.next_u32() % 3 {
            let at = random.next_u32() as usize % bytes.len();
            bytes[at] = random.next_u32() as u8;
        }
        bytes
    });
    let place = Place::new(&[address], "test", "set").unwrap();
    let began = Instant::now();
    for _ in 0..100 {
        Cluster::find(&place, PATIENCE).unwrap_err();
    }
    assert!(began.elapsed() < 100 * PATIENCE / 2, "{:?}", began.elapsed());
}

#[test]
fn who_is_no_node_of_aerospike_is_told() {
    let other = answering(|| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    let (_, error) = Cluster::find(&Place::new(&[other], "test", "set").unwrap(), PATIENCE).unwrap_err();
    assert!(matches!(&error, TargetError::Protocol(why) if why.contains("version 72")), "{error}");
    let secure = answering(|| b"\x02\x01\0\0\0\0\0\x1bERROR:80:not authenticated\n".to_vec());
    let (_, error) = Cluster::find(&Place::new(&[secure], "test", "set").unwrap(), PATIENCE).unwrap_err();
    assert!(matches!(&error, TargetError::Database { sqlstate, .. } if sqlstate == "NOT_AUTHENTICATED"), "{error}");
}
