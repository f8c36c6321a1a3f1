//! A real PgBouncer between a test and its server: the program that `NEPHOSCOPE_PGBOUNCER` names, else Debian's.

use super::{PASSWORD, Server, USER, as_ordinary_user, free_port, fresh_directory};
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The first version that keeps named statements apart in transaction mode.
const NAMES_SINCE: (u32, u32) = (1, 21);

pub struct Pooler {
    child: Child,
    directory: PathBuf,
    port: u16,
}

/// Where it is, or why the test is skipped.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("NEPHOSCOPE_PGBOUNCER").map(PathBuf::from);
    let found = named.or_else(|| Some(PathBuf::from("/usr/sbin/pgbouncer")).filter(|path| path.exists()));
    if found.is_none() {
        eprintln!("SKIPPED: no PgBouncer here; apt-get install pgbouncer, or set NEPHOSCOPE_PGBOUNCER to its program");
    }
    found
}

/// Whether the PgBouncer that is here keeps named statements apart in transaction mode.
pub fn keeps_names() -> bool {
    let said = program().and_then(|program| Command::new(program).arg("--version").output().ok());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut numbers = said.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= NAMES_SINCE
}

impl Pooler {
    /// Four sessions of the server for any number of clients, and what `settings` say, a line each.
    pub fn start(server: &Server, settings: &str) -> Option<Self> {
        let program = program()?;
        let (directory, port) = (fresh_directory(), free_port());
        let file = directory.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={} user={USER} password={PASSWORD}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             default_pool_size = 4\n{settings}\n",
            server.port
        );
        fs::write(&file, text).expect("the pooler's configuration");
        let child = as_ordinary_user(&program)
            .args(["-q", "-v"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(directory.join("log")).expect("the log file"))
            .spawn()
            .expect("the pooler starts");
        let mut pooler = Self { child, directory, port };
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = pooler.child.try_wait().expect("the pooler can be asked");
            let log = fs::read_to_string(pooler.directory.join("log")).unwrap_or_default();
            assert!(ended.is_none() && Instant::now() < deadline, "the pooler does not answer: {log}");
            thread::sleep(Duration::from_millis(20));
        }
        Some(pooler)
    }

    pub fn dsn(&self) -> String {
        format!("postgresql://{USER}@127.0.0.1:{}/{}", self.port, super::DATABASE)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
