//! A throw-away Redis or Valkey for tests, gone when dropped.

use super::{free_port, fresh_directory};
use nephoscope_load::target::resp::{Connection, Url};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub const PASSWORD: &str = "s3cret-of-redis";

pub struct Redis {
    child: Child,
    directory: PathBuf,
    pub port: u16,
}

/// The program: `NEPHOSCOPE_REDIS` (valkey-server does as well), or the first of PATH.
fn program() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("NEPHOSCOPE_REDIS") {
        return Some(PathBuf::from(given));
    }
    let folders = std::env::var_os("PATH")?;
    let each = |folder: PathBuf| ["valkey-server", "redis-server"].map(|name| folder.join(name));
    std::env::split_paths(&folders).flat_map(each).find(|program| program.exists())
}

/// Starts a server with more `settings` (words of its command line), or says why the test is skipped; where `CI` is
/// set, nothing is skipped.
pub fn redis(settings: &[&str]) -> Option<Redis> {
    let Some(program) = program() else {
        let why = "no redis-server or valkey-server here; set NEPHOSCOPE_REDIS to one";
        assert!(std::env::var_os("CI").is_none(), "{why}");
        eprintln!("SKIPPED: {why}");
        return None;
    };
    let (directory, port) = (fresh_directory(), free_port());
    let child = Command::new(program)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--requirepass", PASSWORD, "--dir", &directory.to_string_lossy()])
        .args(["--unixsocket", &directory.join("socket").to_string_lossy()])
        .args(settings)
        .stdin(Stdio::null())
        .stdout(fs::File::create(directory.join("log")).expect("the log file"))
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let redis = Redis { child, directory, port };
    let deadline = Instant::now() + Duration::from_secs(30);
    while Connection::open(&redis.url(), None).is_err() {
        assert!(Instant::now() < deadline, "the server does not answer");
        thread::sleep(Duration::from_millis(20));
    }
    Some(redis)
}

impl Redis {
    /// With the password, which programs under test get from the environment.
    pub fn url(&self) -> Url {
        let dsn = format!("redis://:{PASSWORD}@127.0.0.1:{}", self.port);
        Url::parse(&dsn, |_| None).expect("a URL")
    }

    pub fn dsn(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn socket_dsn(&self) -> String {
        format!("unix://{}/socket", self.directory.display())
    }

    pub fn connect(&self) -> Connection {
        Connection::open(&self.url(), Some(Duration::from_secs(20))).expect("the test's own connection")
    }

    /// Its process, to be frozen.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal);
    }

    /// The end of a machine.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
