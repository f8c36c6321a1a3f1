//! A throw-away MariaDB for tests, gone when dropped.

use super::certificates::{Of, certificate};
use super::{copy, free_port, fresh_directory};
use nephoscope_load::target::mysql::{Connection, Dsn};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

pub const PASSWORD: &str = "s3cret-of-mariadb";

pub struct MariaDb {
    child: Child,
    directory: PathBuf,
    pub port: u16,
    databases: AtomicU32,
}

/// The program: `NEPHOSCOPE_MARIADBD`, or the one of PATH or of the system's folder.
fn program() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("NEPHOSCOPE_MARIADBD") {
        return Some(PathBuf::from(given));
    }
    let folders = std::env::var_os("PATH")?;
    let system = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&folders).chain(system).map(|folder| folder.join("mariadbd")).find(|program| program.exists())
}

/// A server for one test alone, or says why the test is skipped; where `CI` is set, nothing is skipped.
pub fn own_mariadb() -> Option<MariaDb> {
    own_mariadb_with(&[])
}

/// The same with further options.
pub fn own_mariadb_with(options: &[&str]) -> Option<MariaDb> {
    if let Some(program) = program() {
        return Some(start(&program, options));
    }
    let why = "no mariadbd here; set NEPHOSCOPE_MARIADBD to one";
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("SKIPPED: {why}");
    None
}

/// The server that all tests of a program share while one of them runs.
pub fn mariadb() -> Option<Arc<MariaDb>> {
    static SHARED: Mutex<Weak<MariaDb>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(own_mariadb()?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

fn start(program: &Path, options: &[&str]) -> MariaDb {
    let (directory, port) = (fresh_directory(), free_port());
    copy(&template(), &directory.join("data"));
    fs::write(directory.join("users.sql"), USERS).expect("the script");
    certificate(&directory, "root", &Of::Root, &[]);
    certificate(&directory, "other", &Of::Root, &[]);
    certificate(&directory, "server", &Of::SignedBy("root"), &["localhost", "127.0.0.1"]);
    let file = |name: &str| format!("{}/{name}", directory.display());
    let log = fs::File::create(file("log")).expect("the log file");
    let child = Command::new(program)
        .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve"])
        .args(["--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=0"])
        .args([format!("--port={port}"), format!("--socket={}", file("socket"))])
        .args([format!("--datadir={}", file("data")), format!("--init-file={}", file("users.sql"))])
        .args([format!("--ssl-cert={}", file("server.crt")), format!("--ssl-key={}", file("server.key"))])
        .args([format!("--ssl-ca={}", file("root.crt"))])
        .args(rustix::process::geteuid().is_root().then_some("--user=root"))
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the server starts");
    let server = MariaDb { child, directory, port, databases: AtomicU32::new(0) };
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = Connection::open(&server.parsed("?connect-timeout=30"), None) {
        let log = || fs::read_to_string(server.directory.join("log")).unwrap_or_default();
        assert!(Instant::now() < deadline, "the server does not answer: {error}: {}", log());
        thread::sleep(Duration::from_millis(20));
    }
    server
}

/// Each of another way to log in. The server reads a statement from each line.
const USERS: &str = "\
CREATE DATABASE IF NOT EXISTS bench;
CREATE USER bench@'%' IDENTIFIED BY 's3cret-of-mariadb';
GRANT ALL ON *.* TO bench@'%';
CREATE USER nobody@'%';
GRANT ALL ON bench.* TO nobody@'%';
";

/// The data directory of a new server: it is made once for all test programs, since a copy costs a tenth of it.
fn template() -> PathBuf {
    let template = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mariadb-data");
    if !template.exists() {
        let fresh = fresh_directory();
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"])
            .args(["--innodb-log-file-size=16M", &format!("--datadir={}/data", fresh.display())])
            .args(rustix::process::geteuid().is_root().then_some("--user=root"))
            .output()
            .expect("mariadb-install-db starts");
        assert!(made.status.success(), "mariadb-install-db: {}", String::from_utf8_lossy(&made.stdout));
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

impl MariaDb {
    pub fn dsn(&self) -> String {
        format!("mysql://bench@127.0.0.1:{}/bench", self.port)
    }

    pub fn socket_dsn(&self) -> String {
        format!("mariadb://bench@/bench?socket={}/socket", self.directory.display())
    }

    pub fn parsed(&self, parameters: &str) -> Dsn {
        parse(&format!("{}{parameters}", self.dsn()))
    }

    /// A database for one test alone.
    pub fn database(&self) -> String {
        let name = format!("bench{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.connect().query(&format!("CREATE DATABASE {name}")).expect("a database");
        format!("mysql://bench@127.0.0.1:{}/{name}", self.port)
    }

    /// A file of the server's folder, for TLS.
    pub fn file(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    pub fn connect(&self) -> Connection {
        Connection::open(&self.parsed(""), Some(Duration::from_secs(60))).expect("the test's own connection")
    }

    /// One number that a query returns.
    pub fn number(&self, sql: &str) -> u64 {
        self.connect().query(sql).unwrap()[0][0].as_deref().expect("a number").parse().expect("a number")
    }
}

pub fn parse(dsn: &str) -> Dsn {
    Dsn::parse(dsn, |name| (name == "MYSQL_PWD").then(|| PASSWORD.to_owned())).expect("a DSN")
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
