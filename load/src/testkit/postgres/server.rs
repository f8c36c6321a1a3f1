//! The fake target's sockets: an epoll, and a queue of what is to be sent when.

use super::answers::Answers;
use super::session::{Counts, FakeSession};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use serde::Serialize;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const LISTENER: u64 = u64::MAX;
const EVENTS: usize = 1024;
const READ_BYTES: usize = 64 * 1024;
/// A second without a line is too long for who reads them.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// How long a request to stop may wait.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// Where it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// `address:port`; port 0 takes a free one.
    Tcp(String),
    /// A socket file, which must not exist.
    Unix(PathBuf),
}

/// What it does to its clients.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// Each batch is answered this long after it came; batches do not wait for each other.
    pub service: Duration,
    /// Does nothing at all from the first duration on, counted from the first statement, for the second one.
    pub freeze: Option<(Duration, Duration)>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Listening { address: String },
    Second { at_s: f64, connections: usize, batches: u64, executes: u64 },
    Froze { start_s: f64, end_s: f64 },
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn bind(listen: &Listen) -> io::Result<(Self, String)> {
        match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?.to_string();
                Ok((Self::Tcp(listener), address))
            }
            Listen::Unix(path) => {
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok((Self::Unix(listener), path.display().to_string()))
            }
        }
    }

    fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

struct Client {
    socket: OwnedFd,
    session: FakeSession,
    /// Whether epoll reports when it takes more bytes.
    watches_write: bool,
}

/// A listening server.
pub struct FakeTarget {
    epoll: OwnedFd,
    listener: Listener,
    address: String,
    plan: Plan,
    answers: Answers,
    counts: Counts,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    /// Clients whose answers are due, in the order of time (all wait equally long).
    due: VecDeque<(Instant, usize)>,
    buffer: Vec<u8>,
}

impl FakeTarget {
    /// Listens, for a data set of this many warehouses.
    ///
    /// # Errors
    /// When the address is not available.
    pub fn bind(listen: &Listen, plan: Plan, warehouses: u32) -> io::Result<Self> {
        let (listener, address) = Listener::bind(listen)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            address,
            plan,
            answers: Answers::new(warehouses),
            counts: Counts::default(),
            clients: Vec::new(),
            free: Vec::new(),
            due: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Serves until `stopped` says so. Writes a JSON line when it listens, one per second, and one for a freeze; times
    /// are seconds since the start.
    ///
    /// # Errors
    /// When a line cannot be written, or the kernel refuses to wait.
    pub fn serve(mut self, out: &mut impl Write, stopped: impl Fn() -> bool) -> io::Result<Counts> {
        let start = Instant::now();
        let since_start = |at: Instant| at.saturating_duration_since(start).as_secs_f64();
        write_line(out, &Line::Listening { address: self.address.clone() })?;
        let mut next_line = start + LINE_EVERY;
        let mut freeze_at: Option<Instant> = None;
        let mut events = Vec::with_capacity(EVENTS);
        while !stopped() {
            self.wait(next_line.min(freeze_at.unwrap_or(next_line)), &mut events)?;
            if let (Some(at), Some((_, length))) = (freeze_at, self.plan.freeze) {
                if Instant::now() >= at {
                    let began = Instant::now();
                    std::thread::sleep(length);
                    write_line(out, &Line::Froze { start_s: since_start(began), end_s: since_start(Instant::now()) })?;
                    (freeze_at, self.plan.freeze) = (None, None);
                }
            }
            for event in &events {
                self.handle(event.data.u64())?;
            }
            self.send_due();
            let now = Instant::now();
            if freeze_at.is_none() && self.counts.executes > 0 {
                freeze_at = self.plan.freeze.map(|(after, _)| now + after);
            }
            if now >= next_line {
                next_line += LINE_EVERY;
                let connections = self.clients.len() - self.free.len();
                let Counts { batches, executes } = self.counts;
                write_line(out, &Line::Second { at_s: since_start(now), connections, batches, executes })?;
            }
        }
        Ok(self.counts)
    }

    /// Waits for events, for the first answer due, or until `deadline`.
    fn wait(&self, deadline: Instant, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let deadline = self.due.front().map_or(deadline, |(due, _)| deadline.min(*due));
        let left = deadline.saturating_duration_since(Instant::now()).min(LONGEST_WAIT);
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        events.clear();
        // epoll itself waits in milliseconds: the poll around it in nanoseconds.
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            outcome => outcome?,
        };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.epoll, spare_capacity(events), Some(&none))?;
        Ok(())
    }

    fn handle(&mut self, token: u64) -> io::Result<()> {
        if token == LISTENER {
            return self.accept();
        }
        let place = token as usize;
        let before = self.counts;
        if self.read(place).is_err() {
            self.close(place);
        } else if self.counts.batches == before.batches || self.plan.service.is_zero() {
            self.send(place);
        } else {
            self.due.push_back((Instant::now() + self.plan.service, place));
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let socket = match self.listener.accept() {
                Ok(socket) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Too many open files, or a client that is gone already: the others go on.
                Err(_) => return Ok(()),
            };
            let place = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            let data = epoll::EventData::new_u64(place as u64);
            epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN)?;
            self.clients[place] = Some(Client { socket, session: FakeSession::default(), watches_write: false });
        }
    }

    /// Reads once; a client that sent more is asked again by epoll.
    fn read(&mut self, place: usize) -> io::Result<()> {
        let Some(client) = &mut self.clients[place] else { return Ok(()) };
        let read = match rustix::io::read(&client.socket, &mut self.buffer[..]) {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            outcome => outcome?,
        };
        let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
        if read == 0 {
            return Err(ended());
        }
        client.session.take(&self.buffer[..read], &self.answers, &mut self.counts).map_err(|_| ended())
    }

    fn send_due(&mut self) {
        let now = Instant::now();
        while let Some(&(_, place)) = self.due.front().filter(|(due, _)| *due <= now) {
            self.due.pop_front();
            self.send(place);
        }
    }

    /// Sends what the socket takes; epoll reports when it takes more.
    fn send(&mut self, place: usize) {
        let Some(client) = &mut self.clients[place] else { return };
        while !client.session.outbox.is_empty() {
            match rustix::io::write(&client.socket, &client.session.outbox) {
                Ok(count) => bytes::Buf::advance(&mut client.session.outbox, count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return self.close(place),
            }
        }
        let full = !client.session.outbox.is_empty();
        if full != client.watches_write {
            client.watches_write = full;
            let flags = if full { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
            let data = epoll::EventData::new_u64(place as u64);
            if epoll::modify(&self.epoll, &client.socket, data, flags).is_err() {
                self.close(place);
            }
        }
    }

    fn close(&mut self, place: usize) {
        if self.clients[place].take().is_some() {
            self.due.retain(|(_, other)| *other != place);
            self.free.push(place);
        }
    }
}

fn write_line(out: &mut impl Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")?;
    out.flush()
}
