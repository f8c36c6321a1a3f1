//! Writes, checks and counts the rows of a workload on Aerospike, as records of one set, each at its partition's
//! master.

use crate::exit::{ExitCode, Failure, cannot_use_node};
use crate::fill::rows::{Asks, Each, RowStore};
use crate::target::TargetError;
use crate::target::aerospike::{Cluster, Connection, FOUND, Messages, NOT_FOUND, Place, Reply, Write};
use crate::target::postgres::Address;
use crate::workload::kv::{BIN, MARKER};
use crate::workload::{Records, ServerCounter};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A node that is silent for longer is lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// Records of a truncated set go in the background.
const TRUNCATION: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// A node refuses writes until its own clock is past the truncation, whose time is another node's.
const CLOCKS_DIFFER: Duration = Duration::from_secs(1);
/// A node counts an operation when it has sent the answer, not before.
const COUNTED: Duration = Duration::from_millis(50);

/// Where the records are.
pub struct Recordset {
    place: Place,
    cluster: Cluster,
}

impl Recordset {
    /// Finds the nodes.
    ///
    /// # Errors
    /// [`ExitCode::CannotConnect`] when the server cannot be reached or refuses the login, or the cluster is not whole.
    pub fn open(place: Place) -> Result<Self, Failure> {
        let cluster = find(&place)?;
        Ok(Self { place, cluster })
    }

    /// The nodes, and what is where.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Whether partitions have moved since.
    ///
    /// # Errors
    /// As [`Recordset::open`].
    pub fn has_moved(&self) -> Result<bool, Failure> {
        Ok(find(&self.place)?.generations != self.cluster.generations)
    }

    fn nodes(&self) -> &[Address] {
        self.cluster.partitions.nodes()
    }

    /// What each node says about this.
    fn ask_all(&self, name: &str) -> Result<Vec<String>, Failure> {
        let ask = |mut connection: Connection| Ok(connection.ask(&[name]).map_err(lost)?.concat());
        self.connect()?.into_iter().map(ask).collect()
    }

    fn statistics(&self) -> Result<Vec<String>, Failure> {
        self.ask_all(&format!("namespace/{}", self.place.set.namespace()))
    }

    /// Records of the set, on all nodes, each copy for itself.
    fn count_copies(&self) -> Result<u64, Failure> {
        let sets = self.ask_all(&format!("sets/{}/{}", self.place.set.namespace(), self.place.set.name()))?;
        // A node that has none of its records does not know the set.
        Ok(sets.iter().map(|set| value_of(set, "objects").unwrap_or(0)).sum())
    }

    fn exchange(&self, key: &[u8], messages: &Messages) -> Result<Option<Vec<u8>>, Failure> {
        let mut connection = connect(&self.nodes()[self.master(key)])?;
        let reply = connection.exchange(messages).map_err(lost)?;
        Ok(reply.bins(0).next().map(|bin| bin.value.to_vec()))
    }

    /// Removes all records of the set, and waits until they are gone.
    fn truncate(&self) -> Result<(), Failure> {
        let set = &self.place.set;
        let command = format!("truncate:namespace={};set={}", set.namespace(), set.name());
        let answer = connect(&self.nodes()[0])?.ask(&[command.as_str()]).map_err(lost)?.concat();
        if !answer.eq_ignore_ascii_case("ok") {
            return Err(Failure::new(ExitCode::TargetLost, format!("cannot truncate the set: {answer}")));
        }
        let deadline = Instant::now() + TRUNCATION;
        loop {
            thread::sleep(LOOK_AGAIN);
            match self.count_copies()? {
                0 => break,
                left if Instant::now() >= deadline => {
                    let message = format!("{left} records remain {} s after the truncation", TRUNCATION.as_secs());
                    return Err(Failure::new(ExitCode::TargetLost, message));
                }
                _ => {}
            }
        }
        thread::sleep(CLOCKS_DIFFER);
        Ok(())
    }
}

impl RowStore for Recordset {
    type Session = Connection;

    const COUNTS_CHECKS: bool = true;

    fn connect(&self) -> Result<Vec<Connection>, Failure> {
        self.nodes().iter().map(connect).collect()
    }

    fn request(&self) -> Messages {
        Messages::new(Arc::clone(&self.place.set))
    }

    fn master(&self, key: &[u8]) -> usize {
        self.cluster.partitions.master(key)
    }

    fn create(&self, data: &dyn Records) -> Result<(), Failure> {
        let marked = self.identity()?.is_some();
        let copies = self.count_copies()?;
        let set = &self.place.set;
        if copies > 0 && !marked {
            let message = format!(
                "the set {} of {} holds {copies} records that no load wrote: use an empty set, or truncate this one",
                set.name(),
                set.namespace()
            );
            return Err(Failure::new(ExitCode::BadSpec, message));
        }
        if copies > 0 || marked {
            self.truncate()?;
        }
        let mut messages = self.request();
        messages.write(Write::Replace, MARKER, [(BIN, data.identity().as_bytes())].into_iter());
        self.exchange(MARKER, &messages).map(|_| ())
    }

    fn identity(&self) -> Result<Option<String>, Failure> {
        let mut messages = self.request();
        messages.read(MARKER);
        let found = self.exchange(MARKER, &messages)?;
        Ok(found.map(|identity| String::from_utf8_lossy(&identity).into_owned()))
    }

    /// Nodes count copies: this many of each record are on different ones.
    fn count(&self) -> Result<u64, Failure> {
        let copies = self.count_copies()?;
        let factors = self.statistics()?;
        let factors = factors.iter().map(|text| value_of(text, "effective_replication_factor"));
        match factors.collect::<Option<Vec<u64>>>().as_deref() {
            Some([factor @ (1..), others @ ..]) if others.iter().all(|other| other == factor) => Ok(copies / factor),
            _ => Err(Failure::new(ExitCode::TargetLost, "the nodes report no common effective_replication_factor")),
        }
    }

    /// Operations that nodes did for clients, or for other nodes, which pass on what is not theirs any more.
    fn calls(&self, counters: &[ServerCounter]) -> Result<Vec<i64>, Failure> {
        if counters.is_empty() {
            return Ok(Vec::new());
        }
        thread::sleep(COUNTED);
        let statistics = self.statistics()?;
        let calls = |counter: &ServerCounter| {
            let of = |text: &String| {
                let own = value_of(text, &format!("client_{}", counter.sql))?;
                Some(own + value_of(text, &format!("from_proxy_{}", counter.sql)).unwrap_or(0))
            };
            let sum = statistics.iter().map(of).sum::<Option<u64>>();
            let message = || format!("the nodes do not report client_{}", counter.sql);
            sum.map(|sum| sum as i64).ok_or_else(|| Failure::new(ExitCode::TargetLost, message()))
        };
        counters.iter().map(calls).collect()
    }
}

impl Asks for Connection {
    /// A node takes a connection's messages one after the other.
    const MAX_ROWS: usize = 200;

    fn ask(data: &dyn Records, what: Each, number: u64, messages: &mut Messages) -> u64 {
        match what {
            Each::Store => data.put(number, messages),
            Each::Measure => {
                messages.read(data.name(number).bytes());
                0
            }
        }
    }

    fn exchange_rows(&mut self, messages: &mut Messages) -> Result<&Reply, Failure> {
        self.exchange(messages).map_err(lost)
    }

    fn told(reply: &Reply, index: usize, what: Each, stored: u64, data: &dyn Records) -> Result<u64, Failure> {
        match (what, reply.result(index)) {
            (Each::Store, Some(FOUND)) => Ok(stored),
            (Each::Measure, Some(FOUND)) => Ok(data.measure_bins(&mut reply.bins(index))),
            (Each::Measure, Some(NOT_FOUND)) => Ok(0),
            (_, other) => Err(Failure::new(ExitCode::TargetLost, format!("unexpected result {other:?} for a record"))),
        }
    }
}

fn connect(address: &Address) -> Result<Connection, Failure> {
    Connection::open(address, Some(PATIENCE)).map_err(|error| cannot_use_node(address, &error))
}

fn find(place: &Place) -> Result<Cluster, Failure> {
    Cluster::find(place).map_err(|(address, error)| cannot_use_node(&address, &error))
}

/// The number behind `name=`; what a node tells is parted by semicolons, of sets by colons.
fn value_of(text: &str, name: &str) -> Option<u64> {
    let value = text.split([';', ':']).find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    value?.parse().ok()
}

fn lost(error: TargetError) -> Failure {
    Failure::target("cannot use the set", &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_by_their_whole_name() {
        let namespace = "ns_cluster_size=3;effective_replication_factor=2;objects=7;client_read_success=21";
        assert_eq!(value_of(namespace, "objects"), Some(7));
        assert_eq!(value_of(namespace, "client_read_success"), Some(21));
        assert_eq!((value_of(namespace, "read_success"), value_of(namespace, "client_read")), (None, None));
        assert_eq!(value_of("objects=12:tombstones=0:truncating=false;", "objects"), Some(12));
        assert_eq!(value_of("type=unknown", "objects"), None);
    }
}
