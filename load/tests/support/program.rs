//! Runs the built program with a spec and reads its lines.

#![allow(dead_code, missing_docs, reason = "each test binary uses a part of it")]

use super::PASSWORD;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a finished program left.
pub struct Ended {
    pub code: i32,
    pub lines: Vec<Value>,
    pub stderr: String,
}

impl Ended {
    pub fn finished(&self) -> &Value {
        let last = self.lines.last().expect("a last line");
        assert_eq!(last["event"], "finished", "{}", self.stderr);
        assert_eq!(last["exit_code"], self.code, "{last}");
        last
    }

    pub fn message(&self) -> &str {
        self.finished()["message"].as_str().expect("a message")
    }

    pub fn intervals(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(|line| line["event"] == "interval")
    }

    /// Fails with everything the program said.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stderr: {}\nlast line: {:?}", self.stderr, self.lines.last());
        self
    }
}

pub fn spec(action: &str, dsn: &str, workload: Value) -> Value {
    json!({
        "schema": "nephoscope/load-spec/1", "action": action, "target": {"kind": "postgres", "dsn": dsn},
        "workload": workload, "seed": 42, "connections": 4, "duration_s": 1,
    })
}

pub fn point_select(action: &str, dsn: &str) -> Value {
    spec(action, dsn, json!({"kind": "point_select", "rows": 20_000}))
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nephoscope-load"));
    command.env("PGPASSWORD", PASSWORD).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts `exec` and hands it the spec.
pub fn start(spec: &Value) -> Child {
    let mut child = command().arg("exec").spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("its stdin");
    stdin.write_all(spec.to_string().as_bytes()).expect("it reads the spec");
    child
}

/// Reads what the program says until it ends.
pub fn end(mut child: Child) -> Ended {
    let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
    let lines = stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).expect("a JSON line")).collect();
    let mut stderr = String::new();
    child.stderr.take().expect("its stderr").read_to_string(&mut stderr).expect("text");
    let code = child.wait().expect("its end").code().expect("an exit code, not a signal");
    Ended { code, lines, stderr }
}

pub fn exec(spec: &Value) -> Ended {
    end(start(spec))
}

pub fn signal(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).expect("a signal");
}

/// Waits for a program that must end soon.
pub fn ends_within(child: &mut Child, limit: Duration) -> i32 {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            return status.code().expect("an exit code, not a signal");
        }
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}
