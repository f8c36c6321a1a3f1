//! A whole session with a server that says these bytes: login, a question, a statement that is prepared.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nephoscope_load::target::postgres::{Connection, Dsn};
use signal_hook::consts::SIGPIPE;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

static SERVER: OnceLock<(Dsn, Mutex<Sender<Vec<u8>>>)> = OnceLock::new();

/// A server that says to each client what it is told to, and then nothing more.
fn serve() -> (Dsn, Mutex<Sender<Vec<u8>>>) {
    // A program that is no Rust program would end.
    signal_hook::flag::register(SIGPIPE, Arc::new(AtomicBool::new(false))).expect("a handler of SIGPIPE");
    let folder = PathBuf::from(std::env::temp_dir()).join(format!("fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the socket");
    let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).expect("a socket");
    let (sender, said) = channel::<Vec<u8>>();
    thread::spawn(move || {
        for (stream, bytes) in listener.incoming().zip(said) {
            let mut stream = stream.expect("a client");
            let _ = stream.write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write));
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let dsn = format!("postgresql://me:secret@/d?host={}&connect_timeout=5", folder.display());
    (Dsn::parse(&dsn, |_| None).expect("a DSN"), Mutex::new(sender))
}

fuzz_target!(|bytes: &[u8]| {
    let (dsn, sender) = SERVER.get_or_init(serve);
    sender.lock().expect("one fuzzer").send(bytes.to_vec()).expect("a server");
    if let Ok(mut connection) = Connection::open(dsn, Some(Duration::from_secs(5))) {
        let _ = connection.query("SELECT 1");
        let _ = connection.prepare_retry(nephoscope_load::target::postgres::Retry::Savepoint);
    }
});
