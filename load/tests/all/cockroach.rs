//! A real CockroachDB of any version, where `NEPHOSCOPE_COCKROACH` names its program: TPC-C in every profile, KV on one
//! server and on three, servers that go away, and what CockroachDB does differently.

use crate::support::program::{self, Ended, exec};
use crate::support::{free_port, fresh_directory};
use nephoscope_load::target::Statement;
use nephoscope_load::target::postgres::{Connection, Dsn, Isolation};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Servers of one cluster.
struct Servers {
    children: Vec<Child>,
    ports: Vec<u16>,
}

const IN_MEMORY: &str = "--store=type=mem,size=1GiB";

impl Servers {
    fn start(count: usize) -> Option<Self> {
        Self::start_with(count, IN_MEMORY)
    }

    /// One server, whose data is in a folder.
    fn start_in(folder: &Path) -> Option<Self> {
        Self::start_with(1, &format!("--store={}", folder.display()))
    }

    fn start_with(count: usize, store: &str) -> Option<Self> {
        let Some(program) = std::env::var_os("NEPHOSCOPE_COCKROACH") else {
            eprintln!("SKIPPED: no CockroachDB here; set NEPHOSCOPE_COCKROACH to its program");
            return None;
        };
        let ports: Vec<_> = (0..count).map(|_| free_port()).collect();
        let at = |port: &u16| format!("127.0.0.1:{port}");
        let join = format!("--join={}", ports.iter().map(at).collect::<Vec<_>>().join(","));
        let run = |arguments: &[&str]| {
            Command::new(&program)
                .args(arguments)
                .arg("--insecure")
                .env("COCKROACH_SKIP_ENABLING_DIAGNOSTIC_REPORTING", "true")
                .current_dir(fresh_directory())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program starts")
        };
        let mut servers = Self { children: Vec::new(), ports: ports.clone() };
        for port in &ports {
            let listen = format!("--listen-addr={}", at(port));
            let console = format!("--http-addr={}", at(&free_port()));
            let common = [store, "--log-dir=", &listen, &console];
            let kind = if count == 1 { vec!["start-single-node"] } else { vec!["start", &join] };
            servers.children.push(run(&[&kind[..], &common].concat()));
        }
        let deadline = Instant::now() + Duration::from_secs(120);
        let soon = || {
            assert!(Instant::now() < deadline, "the servers do not answer");
            thread::sleep(Duration::from_millis(200));
        };
        while count > 1 && !run(&["init", "--host", &at(&ports[0])]).wait().unwrap().success() {
            soon();
        }
        for port in &ports {
            while Connection::open(&dsn(&[*port]), None).is_err() {
                soon();
            }
        }
        while !servers.have_all_copies() {
            soon();
        }
        Some(servers)
    }

    fn have_all_copies(&self) -> bool {
        let copies = self.ports.len().min(3);
        let few =
            format!("SELECT count(*) FROM crdb_internal.ranges_no_leases WHERE array_length(replicas, 1) < {copies}");
        self.connect().query(&few).unwrap() == [[Some("0".to_owned())]]
    }

    fn dsn(&self) -> String {
        text(&self.ports)
    }

    fn connect(&self) -> Connection {
        Connection::open(&dsn(&self.ports), Some(Duration::from_secs(600))).unwrap()
    }

    fn signal(&self, which: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.children[which]), signal).unwrap();
    }

    fn spec(&self, action: &str, workload: &Value) -> Value {
        let mut spec = program::spec(action, &self.dsn(), workload.clone());
        spec["target"]["dialect"] = json!("cockroachdb");
        spec["target"]["isolation"] = json!("serializable");
        spec
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn text(ports: &[u16]) -> String {
    let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgresql://root@{}/defaultdb?sslmode=disable", hosts.join(","))
}

fn dsn(ports: &[u16]) -> Dsn {
    Dsn::parse(&text(ports), |_| None).unwrap()
}

fn all_hold(finished: &Value) {
    assert!(finished["counters"].as_array().unwrap().iter().all(|counter| counter["agrees"] == true), "{finished}");
    assert!(finished["conditions"].as_array().unwrap().iter().all(|condition| condition["holds"] == true));
    assert!(finished["audit"].as_array().unwrap().iter().all(|line| line["passed"] != false));
}

/// Eight connections on one warehouse: they collide, are retried, and every condition and counter holds. A transaction
/// that is one statement is retried by the server itself.
#[test]
#[ignore = "takes minutes and needs NEPHOSCOPE_COCKROACH; `make test-all` runs it"]
fn tpcc_runs_in_every_profile_and_collisions_are_retried() {
    let Some(server) = Servers::start(1) else { return };
    let tpcc = |profile: &str| json!({"kind": "tpcc", "warehouses": 1, "profile": profile});
    let loaded = loaded_after_a_kill(&server, &server.spec("load", &tpcc("batched")));
    assert_eq!(loaded.finished()["conditions"].as_array().unwrap().len(), 16);
    for (profile, seed) in [("batched", 7), ("chatty", 8), ("pipelined", 9)] {
        let mut spec = server.spec("run", &tpcc(profile));
        spec["seed"] = json!(seed);
        spec["connections"] = json!(8);
        spec["duration_s"] = json!(10);
        spec["max_retries"] = json!(100);
        let ended = exec(&spec).expect(0);
        let finished = ended.finished();
        assert_eq!(finished["isolation"], "serializable");
        all_hold(finished);
        let errors = finished["errors"].as_array().unwrap();
        // One that collides when the load ends is not tried again.
        assert!(errors.iter().all(|error| error["sqlstate"] == "40001"), "{errors:?}");
        let retried = errors.iter().any(|error| error["kind"] == "retried");
        assert!(retried || profile == "pipelined", "{profile}: {errors:?}");
    }
}

/// The load generator is killed between two transactions of a table, and goes on after the first.
fn loaded_after_a_kill(server: &Servers, load: &Value) -> Ended {
    let running = program::start(load);
    let mut witness = server.connect();
    let begun = "SELECT count(*) > 0 FROM nephoscope_load WHERE step LIKE 'first rows of %'";
    let deadline = Instant::now() + Duration::from_secs(120);
    while witness.query(begun).ok() != Some(vec![vec![Some("t".to_owned())]]) {
        assert!(Instant::now() < deadline, "no table is begun");
        thread::sleep(Duration::from_millis(20));
    }
    running.kill();
    let driven = exec(&server.spec("run", &load["workload"])).expect(5);
    assert!(driven.message().contains("the load did not finish"), "{}", driven.message());
    let mut rest = load.clone();
    (rest["load"], rest["fingerprint"]) = (json!({"part": "all", "resume": true}), json!(true));
    let loaded = exec(&rest).expect(0);
    all_hold(loaded.finished());
    let fingerprints = loaded.finished()["fingerprints"].as_array().unwrap();
    assert_eq!(fingerprints.len(), 9);
    assert!(fingerprints.iter().all(|table| table["hash"] == table["expected"]), "{fingerprints:?}");
    loaded
}

/// About a gigabyte, which takes several in a server's memory.
#[test]
#[ignore = "takes minutes and needs NEPHOSCOPE_COCKROACH; `make test-all` runs it"]
fn ten_warehouses_are_loaded_and_driven_and_add_up() {
    let folder = fresh_directory();
    let Some(server) = Servers::start_in(&folder) else { return };
    let tpcc = json!({"kind": "tpcc", "warehouses": 10});
    let mut load = server.spec("load", &tpcc);
    load["connections"] = json!(4);
    // Each warehouse would give reason to read whole tables again.
    server.connect().query("SET CLUSTER SETTING sql.stats.automatic_collection.enabled = false").unwrap();
    let loaded = exec(&load).expect(0);
    all_hold(loaded.finished());
    let rows = |name: &str| {
        let tables = loaded.finished()["tables"].as_array().unwrap();
        tables.iter().find(|table| table["table"] == name).unwrap()["rows"].as_u64().unwrap()
    };
    assert_eq!([rows("stock"), rows("customer"), rows("warehouse")], [1_000_000, 300_000, 10]);
    let mut run = server.spec("run", &tpcc);
    run["connections"] = json!(10);
    run["duration_s"] = json!(20);
    run["max_retries"] = json!(100);
    let ended = exec(&run).expect(0);
    all_hold(ended.finished());
    assert_eq!(ended.finished()["conditions"].as_array().unwrap().len(), 15);
    drop(server);
    std::fs::remove_dir_all(folder).unwrap();
}

fn kv95(servers: &Servers, duration_s: u32) -> Value {
    let mut spec = servers.spec("run", &json!({"kind": "kv", "rows": 5_000, "read_percent": 95}));
    spec["connections"] = json!(6);
    spec["duration_s"] = json!(duration_s);
    spec["answer_timeout_s"] = json!(4);
    spec["reconnect_timeout_s"] = json!(2);
    spec
}

fn loaded(servers: &Servers) {
    all_hold(exec(&servers.spec("load", &json!({"kind": "kv", "rows": 5_000}))).expect(0).finished());
}

#[test]
#[ignore = "takes a minute and needs NEPHOSCOPE_COCKROACH; `make test-all` runs it"]
fn kv_on_one_server_and_on_three_of_which_one_falls_silent_or_dies() {
    let Some(one) = Servers::start(1) else { return };
    loaded(&one);
    all_hold(exec(&kv95(&one, 3)).expect(0).finished());
    drop(one);
    let Some(three) = Servers::start(3) else { return };
    loaded(&three);
    all_hold(exec(&kv95(&three, 3)).expect(0).finished());
    let third = format!("127.0.0.1:{}", three.ports[2]);
    // In mid-run, after the end of a run, and for good: the others go on, and tell what was done.
    for (duration_s, signal, said) in [
        (60, Signal::STOP, "did not come back within 2 s"),
        (3, Signal::STOP, "was silent for 4 s, and the load ended meanwhile"),
        (60, Signal::KILL, "did not come back within 2 s"),
    ] {
        let mut run = program::start(&kv95(&three, duration_s));
        run.wait_for("interval");
        three.signal(2, signal);
        let ended = run.end_within(crate::support::HANGS).expect(6);
        assert!(ended.message().contains(&third) && ended.message().contains(said), "{}", ended.message());
        let lost = &ended.finished()["errors"];
        assert!(lost.as_array().unwrap().iter().all(|error| error["sqlstate"] == "lost"), "{lost}");
        all_hold(ended.finished());
        if signal == Signal::STOP {
            three.signal(2, Signal::CONT);
            thread::sleep(Duration::from_secs(5));
        }
    }
}

/// The first id that the server gives is not one that was loaded.
#[test]
#[ignore = "needs NEPHOSCOPE_COCKROACH; `make test-all` runs it"]
fn inserts_go_on_after_the_rows_that_were_loaded() {
    let Some(server) = Servers::start(1) else { return };
    let inserts = json!({"kind": "oltp_insert", "tables": 2, "rows": 100, "distribution": "uniform"});
    exec(&server.spec("load", &inserts)).expect(0);
    let ended = exec(&server.spec("run", &inserts)).expect(0);
    all_hold(ended.finished());
    assert_eq!(ended.finished()["errors"], json!([]));
}

/// The server infers types that the client encodes: a statement that it takes at all may still fail when it is executed.
#[test]
#[ignore = "needs NEPHOSCOPE_COCKROACH; `make test-all` runs it"]
fn every_statement_is_prepared_and_another_isolation_level_is_refused_where_there_is_none() {
    let Some(server) = Servers::start(1) else { return };
    let mut connection = server.connect();
    for workload in
        ["tpcc", "point-select", "oltp-insert --tables 2", "oltp-read-write --tables 2", "tpcb", "kv", "ycsb"]
    {
        let printed = |part: &str| {
            let arguments = format!("sql --workload {workload} --dialect cockroachdb --part {part}");
            let output = program::command().args(arguments.split(' ')).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().map(|line| line.trim_end_matches(';').to_owned()).collect::<Vec<_>>()
        };
        for line in printed("schema") {
            connection.query(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        let sent = ["run", "check"].map(printed).concat();
        let control = ["BEGIN", "COMMIT", "ROLLBACK", "SET", "SHOW", "SAVEPOINT", "RELEASE"];
        let sent = sent.into_iter().filter(|line| !control.iter().any(|word| line.starts_with(word)));
        let statements: Vec<Statement> = sent.map(|sql| Statement { name: String::leak(sql.clone()), sql }).collect();
        server.connect().prepare(&statements, Isolation::Serializable).unwrap();
    }
    let mut spec = server.spec("run", &json!({"kind": "null"}));
    spec["target"]["isolation"] = json!("read committed");
    match connection.isolation_in_force(Isolation::ReadCommitted).unwrap().as_str() {
        "read committed" => drop(exec(&spec).expect(0)),
        _ => assert!(exec(&spec).expect(2).message().contains("runs transactions at serializable")),
    }
}
