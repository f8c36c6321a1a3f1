//! Servers that drip, never come to an end, lie about lengths or answer at random: no client waits longer than it was
//! told to, grows without bound, or panics.

use nephoscope_load::target::TargetError;
use nephoscope_load::target::aerospike;
use nephoscope_load::target::postgres::{self, Address, Dsn};
use nephoscope_load::target::resp::{self, Url};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// PostgreSQL counts its connect time-out in whole seconds.
const PATIENCE: Duration = Duration::from_secs(1);
/// What a busy machine may add to it.
const GRACE: Duration = Duration::from_secs(60);
/// A notice, `ready`, and a login without a password with what a server tells of itself.
const NOTICE: &[u8] = b"N\0\0\0\x0cSNOTICE\0";
const WELCOME: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x18server_version\x0018.1\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0";
const NODE: &[u8] = b"\x02\x01\0\0\0\0\0\x0enode\tBB900000\n";

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Postgres,
    Resp,
    Aerospike,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Postgres, Protocol::Resp, Protocol::Aerospike];

impl Protocol {
    /// What a server says until a session is open.
    fn greeting(self) -> &'static [u8] {
        match self {
            Self::Postgres => WELCOME,
            Self::Resp => b"+OK\r\n",
            Self::Aerospike => NODE,
        }
    }

    /// Opens a session within [`PATIENCE`], and asks one question that may take as long.
    fn talk(self, port: u16) -> Result<(), TargetError> {
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
        match self {
            Self::Postgres => {
                let dsn = format!("postgresql://me@127.0.0.1:{port}/d?sslmode=disable&connect_timeout=1");
                let dsn = Dsn::parse(&dsn, |_| None).unwrap();
                postgres::Connection::open(&dsn, Some(PATIENCE))?.query("SELECT 1").map(|_| ())
            }
            Self::Resp => {
                let url = Url::parse(&format!("redis://127.0.0.1:{port}"), |_| None).unwrap();
                resp::Connection::open_within(&url, Some(PATIENCE), PATIENCE)?.call(&[b"PING"]).map(|_| ())
            }
            Self::Aerospike => {
                aerospike::Connection::open_within(&address, Some(PATIENCE), PATIENCE)?.ask(&["build"]).map(|_| ())
            }
        }
    }
}

/// A server that does this with each session.
fn serve(behave: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that hangs up is what is wanted.
            let _ = stream.and_then(|mut stream| behave(&mut stream));
        }
    });
    port
}

/// Reads one request, whatever it is.
fn request(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.read(&mut [0; 4096]).map(|_| ())
}

/// Says this again and again, with a pause in between.
fn repeat(stream: &mut TcpStream, what: &[u8], pause: Duration) -> std::io::Result<()> {
    loop {
        stream.write_all(what)?;
        thread::sleep(pause);
    }
}

fn ends_in_time(protocol: Protocol, port: u16) -> TargetError {
    let begun = Instant::now();
    let error = protocol.talk(port).expect_err("a hostile server was believed");
    assert!(begun.elapsed() < 2 * PATIENCE + GRACE, "{protocol:?} held on for {:?}: {error}", begun.elapsed());
    error
}

const DRIP: Duration = Duration::from_millis(100);

/// A byte now and then is no answer, neither to a login nor to a question.
#[test]
fn a_server_that_drips_is_lost_in_time() {
    for protocol in PROTOCOLS {
        // Of a message that would be long.
        let part: &[u8] = match protocol {
            Protocol::Postgres => b"S\0\0\x70\0x",
            Protocol::Resp => b"$60000\r\nx",
            Protocol::Aerospike => b"\x02\x01\0\0\0\0\xff\xffn",
        };
        let drip = move |stream: &mut TcpStream| {
            stream.write_all(part)?;
            repeat(stream, b"x", DRIP)
        };
        let slow_login = serve(move |stream| request(stream).and_then(|()| drip(stream)));
        assert!(matches!(ends_in_time(protocol, slow_login), TargetError::Lost(_)));
        let slow_answer = serve(move |stream| {
            request(stream)?;
            stream.write_all(protocol.greeting())?;
            request(stream)?;
            drip(stream)
        });
        assert!(matches!(ends_in_time(protocol, slow_answer), TargetError::Lost(_)));
    }
}

/// Whole messages that are no answer are as good as silence.
#[test]
fn notices_without_end_hold_nobody() {
    for pause in [Duration::ZERO, DRIP] {
        let login = serve(move |stream| {
            request(stream)?;
            stream.write_all(LET_IN)?;
            repeat(stream, NOTICE, pause)
        });
        ends_in_time(Protocol::Postgres, login);
        let answer = serve(move |stream| {
            request(stream)?;
            stream.write_all(WELCOME)?;
            request(stream)?;
            repeat(stream, NOTICE, pause)
        });
        ends_in_time(Protocol::Postgres, answer);
    }
}

/// A length that cannot be, or a line without an end, is found before anything of it is stored.
#[test]
fn impossible_lengths_are_refused_at_once() {
    // The longest that a login may hold has 30,000 bytes.
    let login = serve(|stream| request(stream).and_then(|()| repeat(stream, b"S\0\0\x75\x30x", DRIP)));
    assert!(matches!(ends_in_time(Protocol::Postgres, login), TargetError::Protocol(_)));
    let lies: [(Protocol, &[u8]); 7] = [
        (Protocol::Postgres, b"D\x7f\xff\xff\xff"),
        (Protocol::Postgres, b"Z\0\0\0\0"),
        (Protocol::Resp, b"*536870912\r\n"),
        (Protocol::Resp, b"$536870912\r\n"),
        (Protocol::Resp, b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
        (Protocol::Aerospike, b"\x02\x01\0\0\x08\0\0\0"),
        (Protocol::Aerospike, b"\x02\x01\xff\xff\xff\xff\xff\xff"),
    ];
    for (protocol, lie) in lies {
        let port = serve(move |stream| {
            request(stream)?;
            stream.write_all(protocol.greeting())?;
            request(stream)?;
            stream.write_all(lie)?;
            thread::sleep(4 * PATIENCE);
            Ok(())
        });
        let error = ends_in_time(protocol, port);
        assert!(matches!(error, TargetError::Protocol(_)), "{protocol:?} {lie:?}: {error}");
    }
    let endless = serve(|stream| request(stream).and_then(|()| repeat(stream, &[b'+'; 4096], Duration::ZERO)));
    assert!(matches!(ends_in_time(Protocol::Resp, endless), TargetError::Protocol(_)));
}

/// What a server says of an error is quoted, not repeated: no megabytes, and no commands to a terminal.
#[test]
fn a_servers_words_are_quoted() {
    let long = "x".repeat(20_000);
    let said = format!("\x1b[2J{long}");
    let mut error = format!("E____SERROR\0C\x1b]0;\0M{said}\0\0").into_bytes();
    let length = u32::try_from(error.len() - 1).unwrap();
    error[1..5].copy_from_slice(&length.to_be_bytes());
    let mut info = format!("\x02\x01______node\tERROR:4:{said}\n").into_bytes();
    let length = u64::try_from(info.len() - 8).unwrap();
    info[2..8].copy_from_slice(&length.to_be_bytes()[2..]);
    let answers = [
        (Protocol::Postgres, error),
        (Protocol::Resp, format!("-\x1b]0; {said}\r\n").into_bytes()),
        (Protocol::Aerospike, info),
    ];
    for (protocol, answer) in answers {
        let port = serve(move |stream| {
            request(stream)?;
            stream.write_all(&answer)?;
            request(stream)
        });
        let shown = ends_in_time(protocol, port).to_string();
        assert!(shown.len() < 2_000, "{protocol:?}: {} bytes", shown.len());
        assert!(!shown.contains('\x1b'), "{protocol:?}: {shown:?}");
    }
}

/// Whatever comes, a session is open or it is not.
#[test]
fn answers_damaged_at_random_never_panic_or_hang() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(22);
    for protocol in PROTOCOLS {
        for _ in 0..150 {
            let mut said = [protocol.greeting(), protocol.greeting()].concat();
            for _ in 0..=random.next_u32() % 4 {
                let at = random.next_u32() as usize % said.len();
                match random.next_u32() % 4 {
                    0 => said[at] = random.next_u32() as u8,
                    1 => said.truncate(at.max(1)),
                    2 => said.insert(at, random.next_u32() as u8),
                    _ => said[at] ^= 1 << (random.next_u32() % 8),
                }
            }
            let port = serve(move |stream| {
                request(stream)?;
                stream.write_all(&said)
            });
            let begun = Instant::now();
            // It may be answered by chance.
            let _ = protocol.talk(port);
            assert!(begun.elapsed() < 2 * PATIENCE + GRACE, "{protocol:?}: {:?}", begun.elapsed());
        }
    }
}
