//! The fake target as a process.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

pub struct FakeTarget {
    child: Child,
    lines: Receiver<Value>,
    address: String,
}

impl FakeTarget {
    pub fn start(options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nephoscope-load"))
            .arg("fake-target")
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the fake target starts");
        let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("a JSON line"));
            }
        });
        let mut fake = Self { child, lines, address: String::new() };
        fake.address = fake.line("listening", |_| true)["address"].as_str().expect("an address").to_owned();
        fake
    }

    pub fn dsn(&self) -> String {
        format!("postgresql://u@{}/d", self.address)
    }

    /// The next line of this kind for which `wanted` is true.
    pub fn line(&self, event: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no such line of {event}"));
            if line["event"] == event && wanted(&line) {
                return line;
            }
        }
    }
}

impl Drop for FakeTarget {
    fn drop(&mut self) {
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}
