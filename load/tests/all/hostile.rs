//! Servers that drip, never come to an end, lie about lengths or answer at random: no client waits longer than it was
//! told to, grows without bound, or panics.

use nephoscope_load::target::TargetError;
use nephoscope_load::target::aerospike;
use nephoscope_load::target::mysql;
use nephoscope_load::target::postgres::{self, Address, Dsn};
use nephoscope_load::target::resp::{self, Url};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
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
/// What MariaDB 10.11 says first, and that something succeeded: a login, or a command.
const MARIADB: &[u8] =
    b"\x5a\0\0\0\x0a5.5.5-10.11.19-MariaDB\0\x27\0\0\0\x3d\x4b\x7b\x32\x40\x55\x3a\x79\0\xfe\xf7\x2d\
    \x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0\x24\x47\x52\x37\x6f\x33\x3a\x3a\x6f\x54\x44\x5f\0mysql_native_password\0";
const LOGGED_IN: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
const SUCCEEDED: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Postgres,
    Resp,
    Aerospike,
    Mysql,
}

const PROTOCOLS: [Protocol; 4] = [Protocol::Postgres, Protocol::Resp, Protocol::Aerospike, Protocol::Mysql];

impl Protocol {
    /// What a server says until a session is open: at the beginning, and after each request.
    fn greetings(self) -> &'static [&'static [u8]] {
        match self {
            Self::Postgres => &[b"", WELCOME],
            Self::Resp => &[b"", b"+OK\r\n"],
            Self::Aerospike => &[b"", NODE],
            Self::Mysql => &[MARIADB, LOGGED_IN, SUCCEEDED],
        }
    }

    /// Lets a client in, and reads what it asks then.
    fn let_in(self, stream: &mut TcpStream) -> std::io::Result<()> {
        for greeting in self.greetings() {
            stream.write_all(greeting)?;
            request(stream)?;
        }
        Ok(())
    }

    /// Begins as the protocol does, so that the client waits for the first answer to its login.
    fn begin(self, stream: &mut TcpStream) -> std::io::Result<()> {
        stream.write_all(self.greetings()[0])?;
        request(stream)
    }

    /// Opens a session within [`PATIENCE`], and asks one question that may take so long.
    fn talk(self, port: u16, patience: Duration) -> Result<(), TargetError> {
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
        match self {
            Self::Postgres => {
                let dsn = format!("postgresql://me@127.0.0.1:{port}/d?sslmode=disable&connect_timeout=1");
                let dsn = Dsn::parse(&dsn, |_| None).unwrap();
                postgres::Connection::open(&dsn, Some(patience))?.query("SELECT 1").map(|_| ())
            }
            Self::Resp => {
                let url = Url::parse(&format!("redis://127.0.0.1:{port}"), |_| None).unwrap();
                resp::Connection::open_within(&url, Some(patience), PATIENCE)?.call(&[b"PING"]).map(|_| ())
            }
            Self::Aerospike => {
                aerospike::Connection::open_within(&address, Some(patience), PATIENCE)?.ask(&["build"]).map(|_| ())
            }
            Self::Mysql => {
                let dsn = format!("mysql://me:secret@127.0.0.1:{port}/d?ssl-mode=DISABLED&connect-timeout=1");
                let dsn = mysql::Dsn::parse(&dsn, |_| None).unwrap();
                mysql::Connection::open(&dsn, Some(patience))?.query("SELECT 1").map(|_| ())
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
    let error = protocol.talk(port, PATIENCE).expect_err("a hostile server was believed");
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
            Protocol::Mysql => b"\0\xff\0\x02\x01",
        };
        let drip = move |stream: &mut TcpStream| {
            stream.write_all(part)?;
            repeat(stream, b"x", DRIP)
        };
        let slow_login = serve(move |stream| protocol.begin(stream).and_then(|()| drip(stream)));
        assert!(matches!(ends_in_time(protocol, slow_login), TargetError::Lost(_)));
        let slow_answer = serve(move |stream| protocol.let_in(stream).and_then(|()| drip(stream)));
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
    let lies: [(Protocol, &[u8]); 13] = [
        (Protocol::Postgres, b"D\x7f\xff\xff\xff"),
        (Protocol::Postgres, b"Z\0\0\0\0"),
        (Protocol::Resp, b"*536870912\r\n"),
        (Protocol::Resp, b"$536870912\r\n"),
        (Protocol::Resp, b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
        (Protocol::Aerospike, b"\x02\x01\0\0\x08\0\0\0"),
        (Protocol::Aerospike, b"\x02\x01\xff\xff\xff\xff\xff\xff"),
        (Protocol::Mysql, b"\xff\xff\xff\x01"),
        // More columns than a table has, and as many as a number can say.
        (Protocol::Mysql, b"\x03\0\0\x01\xfc\x01\x10"),
        (Protocol::Mysql, b"\x09\0\0\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
        // Out of turn, empty, and a wish for a file.
        (Protocol::Mysql, b"\x07\0\0\x05\0\0\0\x02\0\0\0"),
        (Protocol::Mysql, b"\0\0\0\x01"),
        (Protocol::Mysql, b"\x0c\0\0\x01\xfb/etc/passwd"),
    ];
    for (protocol, lie) in lies {
        let port = serve(move |stream| {
            protocol.let_in(stream)?;
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

/// An answer may be as long as the time allows, but not as the memory.
#[test]
fn rows_without_end_are_refused() {
    let mut row = b"D\0\0\x27\x16\x09\xc4".to_vec();
    row.extend([0xFF; 4 * 2_500]); // as many NULLs
    let endless: [(Protocol, Vec<u8>, Vec<u8>); 2] = [
        (Protocol::Postgres, Vec::new(), row.repeat(8)),
        (Protocol::Mysql, mysqls_columns(4_096), mysqls_rows(&[0xFB; 4_096])),
    ];
    for (protocol, head, rows) in endless {
        let port = serve(move |stream| {
            protocol.let_in(stream)?;
            stream.write_all(&head)?;
            repeat(stream, &rows, Duration::ZERO)
        });
        let error = protocol.talk(port, GRACE).unwrap_err();
        assert!(matches!(&error, TargetError::Protocol(why) if why.contains("more rows")), "{protocol:?}: {error}");
    }
}

fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&[low, middle, high, sequence], body].concat()
}

/// The head of an answer to a query.
fn mysqls_columns(columns: u16) -> Vec<u8> {
    let [low, high] = columns.to_le_bytes();
    let mut head = packet(1, &[0xFC, low, high]);
    (0..columns).for_each(|column| head.extend(packet((column + 2) as u8, b"\x03def")));
    head
}

/// Enough rows for the numbers of packets to come round, behind 4,096 columns.
fn mysqls_rows(row: &[u8]) -> Vec<u8> {
    (0..256_u32).flat_map(|number| packet((number + 2) as u8, row)).collect()
}

/// Each peer is asked at the same time by a thread of its own, and each address of it may be silent.
#[test]
fn a_node_names_no_more_peers_than_a_cluster_has() {
    let many_peers = format!("1,3000,[{}[B,,[h]]]", "[A,,[h]],".repeat(256));
    let many_addresses = format!("1,3000,[[A,,[{}h]]]", "h,".repeat(16));
    for peers in [many_peers, many_addresses] {
        let port = serve(move |stream| {
            loop {
                let mut head = [0; 8];
                stream.read_exact(&mut head)?;
                let mut names = vec![0; usize::from(u16::from_be_bytes([head[6], head[7]]))];
                stream.read_exact(&mut names)?;
                let mut said = String::new();
                for name in String::from_utf8_lossy(&names).lines() {
                    let masters = "A".repeat(683) + "=";
                    let value = match name {
                        "replicas" => format!("test:0,2,{masters},{masters}"),
                        "peers-clear-std" => peers.clone(),
                        name => name.to_owned(),
                    };
                    said += &format!("{name}\t{value}\n");
                }
                let length = u64::try_from(said.len()).unwrap().to_be_bytes();
                stream.write_all(&[&[2, 1], &length[2..], said.as_bytes()].concat())?;
            }
        });
        let hosts = vec![Address::Tcp { host: "127.0.0.1".to_owned(), port }];
        let place = aerospike::Place { hosts, set: Arc::new(aerospike::Set::new("test", "set").unwrap()) };
        let (_, error) = aerospike::Cluster::members(&place, PATIENCE).unwrap_err();
        assert!(matches!(&error, TargetError::Protocol(why) if why.contains("more than 256 peers")), "{error}");
    }
}

/// What a server says of an error is quoted, not repeated: no megabytes, and no commands to a terminal.
#[test]
fn a_servers_words_are_quoted() {
    let long = "x".repeat(20_000);
    let said = format!("\x1b[2J{long}");
    let again = format!("M{}\0D{0}\0", "x".repeat(900)).repeat(20);
    let mut error = format!("E____SERROR\0C\x1b]0;\0M{said}\0{again}\0").into_bytes();
    let length = u32::try_from(error.len() - 1).unwrap();
    error[1..5].copy_from_slice(&length.to_be_bytes());
    let mut info = format!("\x02\x01______node\tERROR:4:{said}\n").into_bytes();
    let length = u64::try_from(info.len() - 8).unwrap();
    info[2..8].copy_from_slice(&length.to_be_bytes()[2..]);
    let answers = [
        (Protocol::Postgres, error),
        (Protocol::Resp, format!("-\x1b]0; {said}\r\n").into_bytes()),
        (Protocol::Aerospike, info),
        (Protocol::Mysql, packet(2, &[b"\xff\x15\x04#\x1b]0;_", said.as_bytes()].concat())),
    ];
    for (protocol, answer) in answers {
        let port = serve(move |stream| {
            protocol.begin(stream)?;
            stream.write_all(&answer)?;
            request(stream)
        });
        let shown = ends_in_time(protocol, port).to_string();
        assert!(shown.len() < 3_000, "{protocol:?}: {} bytes", shown.len());
        assert!(!shown.contains('\x1b'), "{protocol:?}: {shown:?}");
    }
}

/// Whatever comes, a session is open or it is not.
#[test]
fn answers_damaged_at_random_never_panic_or_hang() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(22);
    for protocol in PROTOCOLS {
        for _ in 0..150 {
            let mut said = [protocol.greetings().concat(), protocol.greetings().concat()].concat();
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
                stream.write_all(&said)?;
                stream.shutdown(Shutdown::Write)?;
                request(stream)
            });
            let begun = Instant::now();
            // It may be answered by chance.
            let _ = protocol.talk(port, PATIENCE);
            assert!(begun.elapsed() < 2 * PATIENCE + GRACE, "{protocol:?}: {:?}", begun.elapsed());
        }
    }
}
