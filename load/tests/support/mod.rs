//! A throw-away PostgreSQL for tests: its own data directory, port and password, gone when dropped.
//!
//! The binaries come from `NEPHOSCOPE_PG_BIN` (a directory), else from `/usr/lib/postgresql/*/bin`.

#![allow(dead_code, missing_docs, reason = "each test binary uses a part of it")]

pub mod certificates;
pub mod fake;
pub mod impostor;
pub mod mariadb;
pub mod pgbouncer;
pub mod program;
pub mod redis;
pub mod scram;
pub mod tls;

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub const USER: &str = "bench";
pub const PASSWORD: &str = "s3cret-of-the-test";
pub const DATABASE: &str = "postgres";

pub struct Server {
    child: Child,
    binaries: PathBuf,
    directory: PathBuf,
    pub port: u16,
}

/// How long something may take before it hangs; never how long it should take, for a busy machine takes its time.
pub const HANGS: Duration = Duration::from_secs(60);

/// What a program does in time whenever the machine lets it is seen in one of ten tries; what it may never do, such as
/// begin too early, is asserted within each try.
pub fn in_a_quiet_moment<E: std::fmt::Debug>(mut attempt: impl FnMut() -> Result<(), E>) {
    let late: Vec<E> = (0..10).map_while(|_| attempt().err()).collect();
    assert!(late.len() < 10, "late in each of ten tries: {late:?}");
}

/// Starts a server, or says why the test is skipped; where `CI` is set, nothing is skipped.
pub fn server() -> Option<Server> {
    match find_binaries() {
        Some(binaries) => Some(Server::start(&binaries, &[], |_| {})),
        None => skip(std::env::var_os("CI").is_some()),
    }
}

/// A server with data that `load` makes: once for all tests of a program, which get copies of the whole data directory,
/// as loading costs many times more than a copy. A name stands for one such data set.
pub fn server_with(name: &'static str, load: impl FnOnce(&Server)) -> Option<Server> {
    static MADE: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let Some(binaries) = find_binaries() else { return skip(std::env::var_os("CI").is_some()) };
    let data = {
        // A load that failed is tried again by the next test, which then fails by itself.
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry(name)
            .or_insert_with(|| {
                let mut first = Server::start(&binaries, &[], |_| {});
                load(&first);
                first.stop();
                let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loaded-{name}"));
                let _ = fs::remove_dir_all(&kept);
                copy(&first.directory.join("data"), &kept);
                kept
            })
            .clone()
    };
    Some(Server::start_on(&binaries, &data, &[], |_| {}))
}

/// A test that cannot run passes on a developer's machine only.
pub fn skip<T>(in_ci: bool) -> Option<T> {
    let why = "no PostgreSQL here; set NEPHOSCOPE_PG_BIN to a directory with initdb and postgres";
    assert!(!in_ci, "{why}");
    eprintln!("SKIPPED: {why}");
    None
}

fn find_binaries() -> Option<PathBuf> {
    if let Some(directory) = std::env::var_os("NEPHOSCOPE_PG_BIN") {
        let directory = PathBuf::from(directory);
        assert!(directory.join("postgres").exists(), "NEPHOSCOPE_PG_BIN={} has no postgres", directory.display());
        return Some(directory);
    }
    find_system_binaries()
}

/// The newest version that Debian's packages have installed.
fn find_system_binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|bin| bin.join("postgres").exists())
        .collect();
    found.sort();
    found.pop()
}

/// PostgreSQL refuses to run as root: root runs it as another user of a namespace, in which its files stay its own.
fn as_ordinary_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-user=65534", "--map-group=65534"]).arg(program);
    command
}

pub fn fresh_directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Short: the path of a unix socket must stay below 108 bytes.
    let directory = std::env::temp_dir().join(format!("nlt-{}-{count}", std::process::id()));
    fs::create_dir_all(&directory).expect("a temporary directory");
    directory
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// The data directory of a new server of these binaries: initdb runs once for all test programs, since a copy costs a
/// third of it.
fn template(binaries: &Path) -> PathBuf {
    let program = binaries.join("postgres");
    let mut hasher = DefaultHasher::new();
    (&program, program.metadata().and_then(|facts| facts.modified()).expect("the age of postgres")).hash(&mut hasher);
    let template = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("data-{:x}", hasher.finish()));
    if !template.exists() {
        let fresh = fresh_directory();
        initialise(binaries, &fresh);
        let unfinished = template.with_extension(fresh.file_name().expect("a name"));
        copy(&fresh.join("data"), &unfinished);
        // Fails where another test was sooner; its template is as good.
        let _ = fs::rename(&unfinished, &template);
        for left in [&fresh, &unfinished] {
            let _ = fs::remove_dir_all(left);
        }
    }
    template
}

fn initialise(binaries: &Path, directory: &Path) {
    let password_file = directory.join("password");
    fs::write(&password_file, PASSWORD).expect("the password file");
    let initdb = as_ordinary_user(&binaries.join("initdb"))
        .args(["--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--username", USER])
        .arg("--pwfile")
        .arg(&password_file)
        .arg("-D")
        .arg(directory.join("data"))
        .output()
        .expect("initdb starts");
    assert!(initdb.status.success(), "initdb: {}", String::from_utf8_lossy(&initdb.stderr));
}

/// With its modes: the server refuses a data directory that others can read.
pub fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().expect("cp starts");
    assert!(copied.success(), "cp of {}: {copied}", from.display());
}

impl Server {
    /// A server with more `settings` (`name=value`); `prepare` may change its data directory before it starts.
    fn start(binaries: &Path, settings: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        Self::start_on(binaries, &template(binaries), settings, prepare)
    }

    /// The same, on a copy of another data directory.
    fn start_on(binaries: &Path, original: &Path, settings: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let directory = fresh_directory();
        let data = directory.join("data");
        copy(original, &data);
        prepare(&data);
        let config = settings.iter().map(|setting| format!("{setting}\n")).collect::<String>();
        fs::write(data.join("postgresql.auto.conf"), config).expect("the server's configuration");
        let port = free_port();
        let child = spawn(binaries, &data, &directory, port);
        let mut server = Self { child, binaries: binaries.to_owned(), directory, port };
        server.wait_until_up();
        server
    }

    fn wait_until_up(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while nephoscope_load::target::postgres::Connection::open(&self.parsed(), None).is_err() {
            let ended = self.child.try_wait().expect("the server can be asked");
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(ended.is_none(), "the server ended: {}", log());
            assert!(Instant::now() < deadline, "the server does not answer: {}", log());
            thread::sleep(Duration::from_millis(30));
        }
    }

    pub fn dsn(&self) -> String {
        format!("postgresql://{USER}@127.0.0.1:{}/{DATABASE}", self.port)
    }

    pub fn socket_dsn(&self) -> String {
        format!("postgresql://{USER}@/{DATABASE}?host={}&port={}", self.directory.display(), self.port)
    }

    pub fn parsed(&self) -> nephoscope_load::target::postgres::Dsn {
        parse(&self.dsn())
    }

    pub fn connect(&self) -> nephoscope_load::target::postgres::Connection {
        nephoscope_load::target::postgres::Connection::open(&self.parsed(), Some(Duration::from_secs(20)))
            .expect("the test's own connection")
    }

    /// What the server wrote into its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).expect("the log")
    }

    /// Ends it with a checkpoint, so that its data directory can be copied.
    fn stop(&mut self) {
        let server = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(server, rustix::process::Signal::INT).expect("the server can be stopped");
        let ended = self.child.wait().expect("the server ends");
        assert!(ended.success(), "the server ended with {ended}");
    }

    /// The end of a machine: no farewell, no more answers.
    pub fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }

    /// Sends a signal to all of its processes: each session's is the leader of a group of its own.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let server = self.child.id();
        let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap_or_default();
        let children = children.split_ascii_whitespace().filter_map(|number| number.parse::<i32>().ok());
        for number in children.chain(i32::try_from(server)) {
            let process = rustix::process::Pid::from_raw(number).expect("a process has a number");
            let _ = rustix::process::kill_process(process, signal);
        }
    }

    /// A machine that is back after its end, with the same data and port.
    pub fn restart(&mut self) {
        let data = self.directory.join("data");
        self.child = spawn(&self.binaries, &data, &self.directory, self.port);
        self.wait_until_up();
    }
}

pub fn parse(dsn: &str) -> nephoscope_load::target::postgres::Dsn {
    let environment = |name: &str| (name == "PGPASSWORD").then(|| PASSWORD.to_owned());
    nephoscope_load::target::postgres::Dsn::parse(dsn, environment).expect("a DSN")
}

fn spawn(binaries: &Path, data: &Path, directory: &Path, port: u16) -> Child {
    use std::os::unix::process::CommandExt;
    let log = fs::File::create(directory.join("log")).expect("the log file");
    as_ordinary_user(&binaries.join("postgres"))
        .arg("-D")
        .arg(data)
        .args(["-p", &port.to_string(), "-k", &directory.to_string_lossy()])
        .args(["-c", "listen_addresses=127.0.0.1,127.0.0.2", "-c", "fsync=off", "-c", "max_connections=60"])
        .args(["-c", "shared_buffers=32MB"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
        .expect("the server starts")
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that a test has frozen would not hear the next signal.
        self.signal(rustix::process::Signal::CONT);
        // Immediate shutdown: nothing here is worth a checkpoint, and the postmaster takes its children with it.
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::QUIT);
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
