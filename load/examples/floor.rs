//! The floor of the wire: what a client costs that has nothing to think about. It writes round trips that were recorded
//! from `nephoscope-load` and reads each answer to `ReadyForQuery`, on several connections in one epoll loop.
//!
//! Reads a JSON object from stdin (see [`Work`]), writes one to stdout (see [`Done`]). `bench/` makes the one and reads
//! the other.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What to do. Byte strings are base64.
#[derive(Deserialize)]
struct Work {
    /// `host:port` of a server that trusts.
    address: String,
    /// The first message.
    startup: String,
    /// Round trips that prepare a session.
    setup: Vec<String>,
    /// For each connection its transactions, each a list of round trips. They are repeated for ever.
    connections: Vec<Vec<Vec<String>>>,
    duration_s: f64,
}

/// What was done.
#[derive(Serialize)]
struct Done {
    transactions: u64,
    round_trips: u64,
    elapsed_s: f64,
    /// Round trips of the first pass over all transactions that the server answered by an error: before anything is
    /// measured, and one connection after the other.
    errors: Vec<String>,
    /// Round trips, while measuring, after which a transaction was in error: deadlocks.
    failed: u64,
    /// CPU time of the first pass, whose transactions are not counted.
    rehearsal_cpu_s: f64,
}

/// The last message of an answer: tag, length 5, transaction status.
const READY: [u8; 5] = [b'Z', 0, 0, 0, 5];

struct Connection {
    socket: TcpStream,
    transactions: Vec<Vec<Vec<u8>>>,
    transaction: usize,
    round_trip: usize,
    answer: Vec<u8>,
    filled: usize,
}

impl Connection {
    fn open(work: &Work, transactions: &[Vec<String>]) -> io::Result<Self> {
        let socket = TcpStream::connect(&work.address)?;
        socket.set_nodelay(true)?;
        let transactions = transactions.iter().map(|trips| trips.iter().map(|trip| decode(trip)).collect()).collect();
        let answer = vec![0; 64 * 1024];
        let mut connection = Self { socket, transactions, transaction: 0, round_trip: 0, answer, filled: 0 };
        for bytes in [&work.startup].into_iter().chain(&work.setup) {
            if let Some(error) = connection.exchange(&decode(bytes))? {
                return Err(io::Error::other(error));
            }
        }
        Ok(connection)
    }

    /// One round trip, waited for; the server's error if it has one.
    fn exchange(&mut self, bytes: &[u8]) -> io::Result<Option<String>> {
        self.socket.write_all(bytes)?;
        self.filled = 0;
        while !self.answered() {
            self.receive()?;
        }
        Ok(error_in(&self.answer[..self.filled]))
    }

    /// All of its transactions once; their errors.
    fn rehearse(&mut self) -> io::Result<Vec<String>> {
        let mut errors = Vec::new();
        for transaction in self.transactions.clone() {
            for trip in &transaction {
                errors.extend(self.exchange(trip)?);
            }
        }
        Ok(errors)
    }

    fn send(&mut self) -> io::Result<()> {
        self.filled = 0;
        let trip = &self.transactions[self.transaction][self.round_trip];
        // Requests are smaller than any socket's buffer, which is empty when an answer has come.
        let sent = self.socket.write(trip)?;
        if sent == trip.len() { Ok(()) } else { Err(io::Error::other("a socket took a part of a request")) }
    }

    fn receive(&mut self) -> io::Result<()> {
        if self.filled == self.answer.len() {
            self.answer.resize(2 * self.filled, 0);
        }
        let read = self.socket.read(&mut self.answer[self.filled..])?;
        self.filled += read;
        if read > 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn answered(&self) -> bool {
        self.filled > READY.len() && self.answer[..self.filled - 1].ends_with(&READY)
    }

    /// Steps to the next round trip; true when that ends a transaction.
    fn step(&mut self) -> bool {
        self.round_trip += 1;
        let ended = self.round_trip == self.transactions[self.transaction].len();
        if ended {
            self.round_trip = 0;
            self.transaction = (self.transaction + 1) % self.transactions.len();
        }
        ended
    }
}

fn decode(text: &str) -> Vec<u8> {
    STANDARD.decode(text).expect("base64")
}

/// The text of the first `ErrorResponse` in an answer.
fn error_in(answer: &[u8]) -> Option<String> {
    let mut rest = answer;
    while let [tag, a, b, c, d, ..] = rest {
        let end = 1 + u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if *tag == b'E' {
            return Some(String::from_utf8_lossy(&rest[5..end]).replace('\0', " "));
        }
        rest = &rest[end..];
    }
    None
}

fn drive(connections: &mut [Connection], length: Duration) -> io::Result<Done> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, connection) in connections.iter_mut().enumerate() {
        connection.socket.set_nonblocking(true)?;
        epoll::add(&epoll, &connection.socket, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        connection.send()?;
    }
    let mut done =
        Done { transactions: 0, round_trips: 0, elapsed_s: 0.0, errors: Vec::new(), failed: 0, rehearsal_cpu_s: 0.0 };
    let (mut events, began) = (Vec::with_capacity(64), Instant::now());
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    while began.elapsed() < length {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&second))?;
        for event in &events {
            let connection = &mut connections[event.data.u64() as usize];
            connection.receive()?;
            if !connection.answered() {
                continue;
            }
            done.round_trips += 1;
            done.failed += u64::from(connection.answer[connection.filled - 1] == b'E');
            done.transactions += u64::from(connection.step());
            connection.send()?;
        }
    }
    done.elapsed_s = began.elapsed().as_secs_f64();
    Ok(done)
}

/// User and system, of this process so far.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() -> io::Result<()> {
    let work: Work = serde_json::from_reader(io::stdin().lock())?;
    let open = |transactions: &Vec<Vec<String>>| Connection::open(&work, transactions);
    let mut connections = work.connections.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    let (mut errors, before_s) = (Vec::new(), cpu_s());
    for connection in &mut connections {
        errors.extend(connection.rehearse()?);
    }
    let rehearsal_cpu_s = cpu_s() - before_s;
    let done = drive(&mut connections, Duration::from_secs_f64(work.duration_s))?;
    serde_json::to_writer(io::stdout().lock(), &Done { errors, rehearsal_cpu_s, ..done })?;
    Ok(())
}
