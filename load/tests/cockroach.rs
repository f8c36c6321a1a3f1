//! A real CockroachDB of any version, where `NEPHOSCOPE_COCKROACH` names its program: TPC-C in every profile, and what
//! its servers do differently.

mod support;

use nephoscope_load::target::Statement;
use nephoscope_load::target::postgres::{Connection, Dsn, Isolation};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use support::program::{self, exec};
use support::{free_port, fresh_directory};

/// One server that keeps everything in memory.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("NEPHOSCOPE_COCKROACH") else {
            eprintln!("SKIPPED: no CockroachDB here; set NEPHOSCOPE_COCKROACH to its program");
            return None;
        };
        let (port, console) = (free_port(), free_port());
        let child = Command::new(program)
            .args(["start-single-node", "--insecure", "--store=type=mem,size=3GiB", "--log-dir="])
            .args([format!("--listen-addr=127.0.0.1:{port}"), format!("--http-addr=127.0.0.1:{console}")])
            .env("COCKROACH_SKIP_ENABLING_DIAGNOSTIC_REPORTING", "true")
            .current_dir(fresh_directory())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let server = Self { child, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while Connection::open(&server.parsed(), None).is_err() {
            assert!(Instant::now() < deadline, "the server does not answer");
            thread::sleep(Duration::from_millis(200));
        }
        Some(server)
    }

    fn dsn(&self) -> String {
        format!("postgresql://root@127.0.0.1:{}/defaultdb?sslmode=disable", self.port)
    }

    fn parsed(&self) -> Dsn {
        Dsn::parse(&self.dsn(), |_| None).unwrap()
    }

    fn connect(&self) -> Connection {
        Connection::open(&self.parsed(), Some(Duration::from_secs(600))).unwrap()
    }

    fn spec(&self, action: &str, workload: &Value) -> Value {
        let mut spec = program::spec(action, &self.dsn(), workload.clone());
        spec["target"]["dialect"] = json!("cockroachdb");
        spec["target"]["isolation"] = json!("serializable");
        spec
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Eight connections on one warehouse: they collide, are retried, and every condition and counter holds.
#[test]
#[ignore = "takes minutes and needs NEPHOSCOPE_COCKROACH; `make test-all` runs it"]
fn tpcc_runs_in_every_profile_and_collisions_are_retried() {
    let Some(server) = Server::start() else { return };
    let tpcc = |profile: &str| json!({"kind": "tpcc", "warehouses": 1, "profile": profile});
    let loaded = exec(&server.spec("load", &tpcc("batched"))).expect(0);
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
        assert!(finished["counters"].as_array().unwrap().iter().all(|counter| counter["agrees"] == true));
        assert!(finished["conditions"].as_array().unwrap().iter().all(|condition| condition["holds"] == true));
        assert!(finished["audit"].as_array().unwrap().iter().all(|line| line["passed"] != false));
        let errors = finished["errors"].as_array().unwrap();
        let retried = |error: &&Value| error["sqlstate"] == "40001" && error["kind"] == "retried";
        assert!(errors.iter().any(|error| retried(&error)), "{profile}: {errors:?}");
    }
}

/// The server infers types that the client encodes: a statement that it takes at all may still fail when it is executed.
#[test]
#[ignore = "needs NEPHOSCOPE_COCKROACH; `make test-all` runs it"]
fn every_statement_is_prepared_and_another_isolation_level_is_refused_where_there_is_none() {
    let Some(server) = Server::start() else { return };
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
