//! Runs the built program with a spec and reads its lines.

#![allow(dead_code, missing_docs, reason = "each test binary uses a part of it")]

use super::PASSWORD;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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

    /// It ended well, or it had a rate, and a busy machine came too late for the last operations.
    pub fn expect_paced(self) -> Self {
        let count = |of: &str| self.finished()[of].as_u64().unwrap_or(0);
        let (offered, not_sent) = (count("offered"), count("not_sent"));
        assert!(2 * not_sent < offered.max(1), "of {offered} operations {not_sent} were not sent");
        self.expect(if 100 * not_sent > offered { 4 } else { 0 })
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
    command
        .env("PGPASSWORD", PASSWORD)
        .env("REDISCLI_AUTH", super::redis::PASSWORD)
        .env("MYSQL_PWD", super::mariadb::PASSWORD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A program under way.
pub struct Running {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    lines: Vec<Value>,
}

/// Starts `exec` and hands it the spec.
pub fn start(spec: &Value) -> Running {
    let mut running = spawn(command().arg("exec"));
    let mut stdin = running.child.stdin.take().expect("its stdin");
    stdin.write_all(spec.to_string().as_bytes()).expect("it reads the spec");
    running
}

pub fn spawn(command: &mut Command) -> Running {
    let mut child = command.spawn().expect("the program starts");
    let stdout = child.stdout.take().map(BufReader::new);
    Running { child, stdout, lines: Vec::new() }
}

pub fn exec(spec: &Value) -> Ended {
    start(spec).end()
}

pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Starts so many generators that share one run.
pub fn shards(spec: &Value, count: u32) -> Vec<Running> {
    let shard = |index| {
        let mut spec = spec.clone();
        spec["shard"] = json!({"index": index, "count": count});
        start(&spec)
    };
    (0..count).map(shard).collect()
}

/// What `merge` says of their outputs.
pub fn merge(shards: &[Ended]) -> Ended {
    let directory = super::fresh_directory();
    let mut command = command();
    command.arg("merge");
    for (index, shard) in shards.iter().enumerate() {
        let file = directory.join(index.to_string());
        fs::write(&file, shard.lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        command.arg(file);
    }
    let ended = spawn(&mut command).end();
    fs::remove_dir_all(directory).unwrap();
    ended
}

impl Running {
    /// Reads until a line of this event came: what happens next happens then, however slow the machine is.
    pub fn wait_for(&mut self, event: &str) {
        self.wait_until(|lines| lines.last().is_some_and(|line| line["event"] == event));
    }

    /// Reads so many lines in all.
    pub fn wait_for_lines(&mut self, count: usize) {
        self.wait_until(|lines| lines.len() >= count);
    }

    /// Reads until this holds of all that came.
    pub fn wait_until(&mut self, holds: impl Fn(&[Value]) -> bool) {
        while !holds(&self.lines) {
            assert!(self.read_line(), "nothing more came: {:?}", self.lines);
        }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).expect("a signal");
    }

    /// Ends it as a machine that dies would: without a word.
    pub fn kill(mut self) {
        self.signal(rustix::process::Signal::KILL);
        self.child.wait().expect("its end");
    }

    pub fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("its stdin")
    }

    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    pub fn close_stderr(&mut self) {
        drop(self.child.stderr.take());
    }

    pub fn stop_reading(&mut self) {
        self.stdout = None;
    }

    /// Reads what it says until it ends.
    pub fn end(mut self) -> Ended {
        while self.read_line() {}
        let mut stderr = String::new();
        if let Some(mut its) = self.child.stderr.take() {
            its.read_to_string(&mut stderr).expect("text");
        }
        let code = self.child.wait().expect("its end").code().expect("an exit code, not a signal");
        Ended { code, lines: self.lines, stderr }
    }

    /// Like [`Running::end`], for a program that must end soon.
    pub fn end_within(mut self, limit: Duration) -> Ended {
        let deadline = Instant::now() + limit;
        while self.child.try_wait().expect("it can be asked").is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.end()
    }

    fn read_line(&mut self) -> bool {
        let mut line = String::new();
        let read = self.stdout.as_mut().map_or(0, |stdout| stdout.read_line(&mut line).expect("text"));
        if read > 0 {
            self.lines.push(serde_json::from_str(&line).expect("a JSON line"));
        }
        read > 0
    }
}
