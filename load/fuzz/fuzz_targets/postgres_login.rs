//! A whole session with a server that says these bytes: login, a question, a statement that is prepared. Where SCRAM is
//! required, which no fuzzer can sign, there is no session, and the server is told no password.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nephoscope_load::target::postgres::{Connection, Dsn};
use signal_hook::consts::SIGPIPE;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// A server that says to each client what it is told to, and then nothing more.
struct Server {
    url: String,
    ends: Mutex<(Sender<Vec<u8>>, Receiver<Vec<u8>>)>,
}

static SERVER: OnceLock<Server> = OnceLock::new();

impl Server {
    fn start() -> Self {
        // A program that is no Rust program would end.
        signal_hook::flag::register(SIGPIPE, Arc::new(AtomicBool::new(false))).expect("a handler of SIGPIPE");
        let folder = PathBuf::from(std::env::temp_dir()).join(format!("fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the socket");
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).expect("a socket");
        let (sender, words) = channel::<Vec<u8>>();
        let (answers, receiver) = channel();
        thread::spawn(move || {
            for (stream, bytes) in listener.incoming().zip(words) {
                let (mut stream, mut answer) = (stream.expect("a client"), Vec::new());
                let _ = stream.write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write));
                let _ = stream.read_to_end(&mut answer);
                if answers.send(answer).is_err() {
                    return;
                }
            }
        });
        let url = format!("postgresql://me:secret@/d?host={}&connect_timeout=5", folder.display());
        Self { url, ends: Mutex::new((sender, receiver)) }
    }

    /// Lets a client talk to it; what the client said.
    fn say(&self, bytes: &[u8], parameters: &str, talk: impl FnOnce(&Dsn)) -> Vec<u8> {
        let dsn = Dsn::parse(&format!("{}{parameters}", self.url), |_| None).expect("a DSN");
        let ends = self.ends.lock().expect("one fuzzer");
        ends.0.send(bytes.to_vec()).expect("a server");
        talk(&dsn);
        ends.1.recv().expect("a server")
    }
}

fuzz_target!(|bytes: &[u8]| {
    let server = SERVER.get_or_init(Server::start);
    server.say(bytes, "", |dsn| {
        if let Ok(mut connection) = Connection::open(dsn, Some(TIMEOUT)) {
            let _ = connection.query("SELECT 1");
            let _ = connection.prepare_retry(nephoscope_load::target::postgres::Retry::Savepoint);
        }
    });
    let heard = server.say(bytes, "&require_auth=scram-sha-256", |dsn| {
        assert!(Connection::open(dsn, Some(TIMEOUT)).is_err(), "a server that cannot sign was believed");
    });
    for secret in [&b"secret"[..], b"md5"] {
        assert!(!heard.windows(secret.len()).any(|window| window == secret), "the password was given away");
    }
});
