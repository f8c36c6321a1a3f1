//! A byte stream to a server: TCP, TLS or a unix socket, with bounded waiting.

use super::TargetError;
use super::postgres::Address;
use super::postgres::tls::{TlsClient, TlsStream};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

/// When a server is silent for this long, the kernel asks whether it is still there …
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
/// … this often …
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// … and this many times, before it gives the connection up.
const KEEPALIVE_PROBES: u32 = 3;
/// Bytes on the way that nobody acknowledges for this long end the connection too: keep-alive asks only when nothing is
/// under way. A server that is too busy to read what it was sent looks the same, so that this is as long as the longest
/// answer, if that is more …
const MIN_UNACKNOWLEDGED: Duration = Duration::from_secs(60);
/// … and as long as the kernel's own patience where an answer may take for ever.
const MAX_UNACKNOWLEDGED: Duration = Duration::from_secs(15 * 60);
/// An answer may come in so many pieces, and in one more for each so many bytes …
const FREE_READS: usize = 256;
const BYTES_A_READ: usize = 512;
/// … and what comes in more is given time to gather: a server that sends byte by byte is not worth a CPU.
const GATHER: Duration = Duration::from_millis(1);
const RECEIVING: &str = "waiting for an answer";

/// A connected stream, and how long its server may take.
#[derive(Debug)]
pub(super) struct Socket {
    stream: Stream,
    /// How long an answer may take, from its request to its last byte; `None`: for ever.
    timeout: Option<Duration>,
    /// Until when the answer to what was last sent must have come.
    answer_until: Option<Instant>,
    /// Until when the session must be open, however many requests that takes.
    open_until: Option<Instant>,
    /// Of the answer to what was last sent: how often was read, and what came.
    reads: usize,
    read_bytes: usize,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// How long one read waits.
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            Self::Unix(stream) => stream.set_read_timeout(timeout),
            Self::Tls(stream) => stream.socket().set_read_timeout(timeout),
        }
    }

    /// How long one write waits.
    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_write_timeout(timeout),
            Self::Unix(stream) => stream.set_write_timeout(timeout),
            Self::Tls(stream) => stream.socket().set_write_timeout(timeout),
        }
    }

    /// How long sent bytes may stay unacknowledged.
    fn set_unacknowledged(&self, timeout: Duration) -> io::Result<()> {
        let stream = match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.socket(),
            Self::Unix(_) => return Ok(()),
        };
        let milliseconds = u32::try_from(timeout.as_millis()).expect("a quarter of an hour at most");
        Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds)?)
    }
}

impl Socket {
    fn new(stream: Stream) -> Self {
        Self { stream, timeout: None, answer_until: None, open_until: None, reads: 0, read_bytes: 0 }
    }

    #[cfg(test)]
    pub(super) fn unix(stream: UnixStream) -> Self {
        Self::new(Stream::Unix(stream))
    }

    /// Connects to the first IP address of the host that answers within `timeout` (all of them together). Until
    /// [`Socket::opened`], every answer must come within `timeout` from now, too: a server that says a little now and
    /// then does not hold a login for ever.
    pub(super) fn connect(address: &Address, timeout: Duration) -> Result<Self, TargetError> {
        let open_until = Instant::now().checked_add(timeout);
        let connected = match address {
            Address::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
            Address::Tcp { host, port } => connect_tcp(host, *port, timeout).map(Stream::Tcp),
        };
        let stream = connected.map_err(|error| TargetError::Lost(format!("cannot connect to {address}: {error}")))?;
        Ok(Self { open_until, ..Self::new(stream) })
    }

    /// The session is open: from now on each answer may take `timeout`, from its request to its last byte; `None` waits
    /// for ever.
    pub(super) fn opened(&mut self, timeout: Option<Duration>) -> Result<(), TargetError> {
        self.open_until = None;
        self.set_timeout(timeout)
    }

    /// Encrypts a TCP connection whose server has agreed to it.
    pub(super) fn start_tls(self, client: &TlsClient, host: &str) -> Result<Self, TargetError> {
        let stream = match self.stream {
            Stream::Tcp(stream) => Stream::Tls(Box::new(client.start(host, stream, self.open_until)?)),
            other => other,
        };
        Ok(Self { stream, ..self })
    }

    /// Whether what is sent is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Protocol and cipher; `None` without TLS.
    pub(super) fn encryption(&self) -> Option<String> {
        match &self.stream {
            Stream::Tls(stream) => Some(stream.encryption()),
            Stream::Tcp(_) | Stream::Unix(_) => None,
        }
    }

    /// What a login can be bound to; `None` without TLS.
    pub(super) fn server_end_point(&self) -> Option<Vec<u8>> {
        match &self.stream {
            Stream::Tls(stream) => stream.server_end_point(),
            Stream::Tcp(_) | Stream::Unix(_) => None,
        }
    }

    /// From the next request on an answer that takes longer than `timeout` as a whole fails, as does a write that waits
    /// so long; `None` waits for ever.
    pub(super) fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), TargetError> {
        (self.timeout, self.answer_until) = (timeout, None);
        let set = self.stream.set_read_timeout(timeout).and_then(|()| self.stream.set_write_timeout(timeout));
        let unacknowledged = timeout.unwrap_or(MAX_UNACKNOWLEDGED).clamp(MIN_UNACKNOWLEDGED, MAX_UNACKNOWLEDGED);
        set.and_then(|()| self.stream.set_unacknowledged(unacknowledged)).map_err(|error| no_timeout(&error))
    }

    /// Writes everything. The time of an answer begins.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), TargetError> {
        (self.reads, self.read_bytes) = (0, 0);
        self.answer_until = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let written = match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        };
        written.map_err(|error| lost("sending", &error))
    }

    /// From now on nothing waits: use [`Socket::try_send`] and [`Socket::try_receive`].
    pub(super) fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        let set = match &mut self.stream {
            Stream::Tcp(stream) => stream.set_nonblocking(true),
            Stream::Unix(stream) => stream.set_nonblocking(true),
            Stream::Tls(stream) => {
                stream.read_until(None);
                stream.socket().set_nonblocking(true)
            }
        };
        set.map_err(|error| lost("not waiting", &error))
    }

    /// Writes what the kernel takes at once; `None` when that is nothing.
    pub(super) fn try_send(&mut self, bytes: &[u8]) -> Result<Option<usize>, TargetError> {
        loop {
            let written = match &mut self.stream {
                Stream::Tcp(stream) => stream.write(bytes),
                Stream::Unix(stream) => stream.write(bytes),
                Stream::Tls(stream) => stream.write(bytes),
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return if_ready(outcome, "sending"),
            }
        }
    }

    /// Whether bytes that were taken wait for room in the kernel.
    pub(super) fn wants_write(&self) -> bool {
        matches!(&self.stream, Stream::Tls(stream) if stream.wants_write())
    }

    /// Gives the kernel what it has room for of the bytes that were taken.
    pub(super) fn try_flush(&mut self) -> Result<(), TargetError> {
        let Stream::Tls(stream) = &mut self.stream else { return Ok(()) };
        if_ready(stream.flush().map(|()| 0), "sending").map(|_| ())
    }

    /// Reads what is there; `None` when that is nothing.
    pub(super) fn try_receive(&mut self, into: &mut [u8]) -> Result<Option<usize>, TargetError> {
        match self.read(into) {
            Ok(0) => Err(closed()),
            outcome => if_ready(outcome, RECEIVING),
        }
    }

    /// Reads what is there, at least one byte.
    ///
    /// # Errors
    /// [`TargetError::Lost`] when the answer's time is over, however recently a part of it came.
    pub(super) fn receive(&mut self, into: &mut [u8]) -> Result<usize, TargetError> {
        if self.reads > FREE_READS + self.read_bytes / BYTES_A_READ {
            thread::sleep(GATHER);
        }
        let until = self.answer_until.into_iter().chain(self.open_until).min();
        if let Stream::Tls(stream) = &mut self.stream {
            stream.read_until(until);
        }
        if let Some(until) = until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(lost(RECEIVING, &io::ErrorKind::TimedOut.into()));
            }
            self.stream.set_read_timeout(Some(left)).map_err(|error| no_timeout(&error))?;
        }
        match self.read(into) {
            Ok(0) => Err(closed()),
            Ok(count) => {
                (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + count);
                Ok(count)
            }
            Err(error) => Err(lost(RECEIVING, &error)),
        }
    }

    /// One read, started again where a signal cut it short.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.stream {
                Stream::Tcp(stream) => stream.read(into),
                Stream::Unix(stream) => stream.read(into),
                Stream::Tls(stream) => stream.read(into),
            };
            if !matches!(&read, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
                return read;
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.socket().as_fd(),
        }
    }
}

fn closed() -> TargetError {
    TargetError::Lost("the server closed the connection".to_owned())
}

fn if_ready(outcome: io::Result<usize>, doing: &str) -> Result<Option<usize>, TargetError> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(lost(doing, &error)),
    }
}

fn no_timeout(error: &io::Error) -> TargetError {
    TargetError::Lost(format!("socket timeout: {error}"))
}

fn lost(doing: &str, error: &io::Error) -> TargetError {
    match error.kind() {
        // A socket timeout is reported as EAGAIN.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            TargetError::Lost(format!("{doing}: the server did not answer within the timeout"))
        }
        _ => TargetError::Lost(format!("{doing}: {error}")),
    }
}

fn connect_tcp(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let deadline = Instant::now() + timeout;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in (host, port).to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                keep_alive(&stream)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Statements that may take hours (an index) have no read timeout: only keep-alive finds a machine that vanished.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn bytes_that_come_one_by_one_are_given_time_to_gather() {
        let (mut server, client) = UnixStream::pair().unwrap();
        let mut socket = Socket::unix(client);
        server.write_all(&[0; 1_000]).unwrap();
        let mut took = |reads: usize, bytes: usize| {
            let begun = Instant::now();
            (0..reads).for_each(|_| assert_eq!(socket.receive(&mut vec![0; bytes]).unwrap(), bytes));
            let pauses = begun.elapsed().as_millis() / GATHER.as_millis();
            socket.send(b"next").unwrap();
            pauses
        };
        let few = FREE_READS + 1;
        assert!(took(few + 100, 1) >= 100, "a pause before each read of little");
        assert_eq!((took(1, 1) < 100, took(1, 600) < 100), (true, true), "each answer begins anew");
    }

    #[test]
    fn a_server_may_leave_bytes_unread_for_as_long_as_it_may_take_to_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        let mut socket = Socket::connect(&address, Duration::from_secs(5)).unwrap();
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (timeout, expected_ms) in
            [(seconds(2), 60_000), (seconds(600), 600_000), (seconds(4_000_000), 900_000), (None, 900_000)]
        {
            socket.set_timeout(timeout).unwrap();
            assert_eq!(rustix::net::sockopt::tcp_user_timeout(&socket).unwrap(), expected_ms);
        }
    }
}
