//! A fake Aerospike cluster: tests the target without a server.
//!
//! They hold records in memory, know who is master of which partition, and refuse what is not laid out as the protocol
//! says, with the result that a server would use. What is written to a node that is not master is refused, so that a
//! test sees it; once partitions have moved it is passed on, as a server does. They neither copy records (they say they
//! do, to be counted) nor forget any.

mod info;
mod record;

use crate::target::aerospike::Digest;
use record::{Record, Refusal};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const VERSION: u8 = 2;
const INFO: u8 = 1;
const MESSAGE: u8 = 3;
/// How often a silent node looks whether it is stopped.
const SILENCE: Duration = Duration::from_millis(10);
/// As servers have it; also less than what a damaged length would make of memory.
const MAX_BYTES: usize = 128 * 1024 * 1024;

/// Nodes of one cluster, in threads of this process.
pub struct FakeCluster {
    shared: Arc<Shared>,
}

/// What the nodes share.
struct Shared {
    namespace: String,
    addresses: Vec<SocketAddr>,
    /// How many of these form the cluster; the others wait.
    size: AtomicUsize,
    silent: AtomicBool,
    stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    records: HashMap<Digest, Record>,
    /// Of each node.
    counts: Vec<Counts>,
    /// Of each node, when it started.
    started: Vec<Instant>,
    generation: u64,
    /// Partitions that each node says are left to migrate.
    to_migrate: u64,
    /// The result that answers every n-th message about records, if any.
    refused: Option<(u64, u8)>,
    /// Whether no node takes writes.
    stop_writes: bool,
    messages: u64,
    clients: Vec<TcpStream>,
}

/// What a node has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that were read.
    pub reads: u64,
    /// Records that were not there when they were to be read.
    pub not_found: u64,
    /// Records that were written.
    pub writes: u64,
    /// Of all writes, records that had to be read first.
    pub reads_for_writes: u64,
    /// Records that were read and written for another node, which was asked and is not their master any more.
    pub proxied: [u64; 2],
    /// Messages that are not as the protocol says.
    pub malformed: u64,
}

impl FakeCluster {
    /// This many nodes on free ports of this machine, with one namespace.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn start(nodes: usize, namespace: &str) -> io::Result<Self> {
        let listeners: Vec<TcpListener> =
            (0..nodes).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        let (counts, started) = (vec![Counts::default(); nodes], vec![Instant::now(); nodes]);
        let state = State { counts, started, ..State::default() };
        let shared = Shared {
            namespace: namespace.to_owned(),
            addresses,
            size: AtomicUsize::new(nodes),
            silent: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            state: Mutex::new(state),
        };
        let shared = Arc::new(shared);
        for (node, listener) in listeners.into_iter().enumerate() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.accept(node, &listener));
        }
        Ok(Self { shared })
    }

    /// Where they are, `host:port` each.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        self.shared.addresses.iter().map(SocketAddr::to_string).collect()
    }

    /// What each node has done.
    #[must_use]
    pub fn counts(&self) -> Vec<Counts> {
        self.shared.state().counts.clone()
    }

    /// What the records are known by.
    #[must_use]
    pub fn digests(&self) -> Vec<Digest> {
        self.shared.state().records.keys().copied().collect()
    }

    /// Loses a record; whether it was there.
    #[must_use]
    pub fn forget(&self, digest: &Digest) -> bool {
        self.shared.state().records.remove(digest).is_some()
    }

    /// From now on, every n-th message about records is answered with this result and has no effect.
    pub fn refuse(&self, every: u64, result: u8) {
        self.shared.state().refused = Some((every, result));
    }

    /// From now on all nodes refuse writes, as with full storage.
    pub fn stop_writes(&self) {
        self.shared.state().stop_writes = true;
    }

    /// Claims that partitions have moved, without moving any.
    pub fn move_partitions(&self) {
        self.shared.state().generation += 1;
    }

    /// From now on the first nodes are the cluster: others leave it, or start and join it. Partitions move, and a node
    /// that is asked for a record of another passes the operation on.
    pub fn resize(&self, nodes: usize) {
        let state = &mut *self.shared.state();
        state.generation += 1;
        let before = self.shared.size.swap(nodes, Ordering::SeqCst);
        for node in before..nodes {
            (state.counts[node], state.started[node]) = (Counts::default(), Instant::now());
        }
    }

    /// From now on each node says that this many partitions are left to migrate.
    pub fn leave_to_migrate(&self, partitions: u64) {
        self.shared.state().to_migrate = partitions;
    }

    /// From now on all nodes take connections and questions, and answer none.
    pub fn fall_silent(&self) {
        self.shared.silent.store(true, Ordering::SeqCst);
    }

    /// Stops all nodes.
    pub fn stop(&self) {
        if self.shared.stopped.swap(true, Ordering::SeqCst) {
            return;
        }
        for client in self.shared.state().clients.drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
        for address in &self.shared.addresses {
            // It wakes who waits for clients.
            let _ = TcpStream::connect(address);
        }
    }
}

impl Drop for FakeCluster {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: Arc<Self>, node: usize, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let Ok(kept) = client.try_clone() else { continue };
            self.state().clients.push(kept);
            let shared = Arc::clone(&self);
            // A client that sends what no server understands is left alone.
            thread::spawn(move || shared.serve(node, client));
        }
    }

    fn serve(&self, node: usize, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        loop {
            let mut header = [0; 8];
            client.read_exact(&mut header)?;
            let length = (u64::from_be_bytes(header) & 0xFFFF_FFFF_FFFF) as usize;
            let (VERSION, kind @ (INFO | MESSAGE)) = (header[0], header[1]) else { break };
            if length > MAX_BYTES {
                break;
            }
            let mut body = vec![0; length];
            client.read_exact(&mut body)?;
            while self.silent.load(Ordering::SeqCst) && !self.stopped.load(Ordering::SeqCst) {
                thread::sleep(SILENCE);
            }
            let answer = if kind == INFO { self.tell(node, &body) } else { self.record(node, &body) };
            let head = u64::from(VERSION) << 56 | u64::from(kind) << 48 | answer.len() as u64;
            client.write_all(&[&head.to_be_bytes()[..], &answer].concat())?;
        }
        client.shutdown(Shutdown::Both)
    }

    /// The node that is master of a record.
    fn master(&self, digest: &Digest) -> usize {
        digest.partition() % self.size()
    }

    /// How many nodes say that they have a copy of a record.
    fn copies(&self) -> usize {
        self.size().min(2)
    }

    fn size(&self) -> usize {
        self.size.load(Ordering::SeqCst)
    }

    fn record(&self, node: usize, body: &[u8]) -> Vec<u8> {
        let state = &mut *self.state();
        state.messages += 1;
        let refused = state.refused.filter(|(every, _)| state.messages % every == 0).map(|(_, result)| result);
        let done = refused.map_or_else(|| self.carry_out(state, node, body), |result| Err(Refusal(result)));
        let result = done.as_ref().map_or_else(|Refusal(result)| *result, |_| 0);
        state.counts[node].malformed += u64::from(result == record::PARAMETER);
        record::answer(result, &done.unwrap_or_default())
    }

    fn carry_out(&self, state: &mut State, node: usize, body: &[u8]) -> Result<Record, Refusal> {
        let request = record::read(body)?;
        if request.namespace != self.namespace.as_bytes() {
            return Err(Refusal(record::NAMESPACE));
        }
        let master = self.master(&request.digest);
        if master != node && state.generation == 0 {
            return Err(Refusal(record::UNAVAILABLE));
        }
        let counts = &mut state.counts[master];
        let found = state.records.get(&request.digest);
        let Some(write) = &request.write else {
            let reads = if master == node { &mut counts.reads } else { &mut counts.proxied[0] };
            *reads += u64::from(found.is_some());
            counts.not_found += u64::from(found.is_none());
            return found.cloned().ok_or(Refusal(record::NOT_FOUND));
        };
        if state.stop_writes {
            return Err(Refusal(record::OUT_OF_SPACE));
        }
        let record = write.apply(request.set, found)?;
        *if master == node { &mut counts.writes } else { &mut counts.proxied[1] } += 1;
        counts.reads_for_writes += u64::from(write.reads(found));
        state.records.insert(request.digest, record);
        Ok(Record::default())
    }
}
