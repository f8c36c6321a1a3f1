//! Writes, checks and counts the rows of a workload on Aerospike, as records of one set, each at its partition's
//! master.

use crate::exit::{ExitCode, Failure, cannot_use_node};
use crate::fill::rows::{Asks, Calls, Each, Numbers, RowStore};
use crate::target::TargetError;
use crate::target::aerospike::{Cluster, Connection, FOUND, Member, Messages, NOT_FOUND, Place, Reply, Write};
use crate::target::postgres::Address;
use crate::words::counted;
use crate::workload::kv::{BIN, MARKER};
use crate::workload::{Records, ServerCounter};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A node that is silent for longer is lost, where no load says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);
/// Records of a truncated set go in the background.
const TRUNCATION: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// A node refuses writes until its own clock is past the truncation, whose time is another node's.
const CLOCKS_DIFFER: Duration = Duration::from_secs(1);
/// How much two clocks that count whole seconds may differ over the same time.
const SECONDS_APART: u64 = 2;
/// A node counts an operation when it has sent the answer, not before.
const COUNTED: Duration = Duration::from_millis(50);

/// Where the records are.
pub struct Recordset {
    place: Place,
    cluster: Cluster,
    patience: Duration,
}

/// What the nodes had counted at one moment.
pub(crate) struct Reading {
    at: Instant,
    /// By the names of the nodes.
    nodes: BTreeMap<String, Counted>,
}

/// What a node had counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counted {
    /// Changes when partitions move.
    generation: String,
    uptime_s: u64,
    /// In the order of the counters.
    calls: Vec<u64>,
}

impl Recordset {
    /// Finds the nodes, each of which may be silent for `patience` whenever it is asked; by default a minute.
    ///
    /// # Errors
    /// [`ExitCode::CannotConnect`] when the server cannot be reached or refuses the login, or the cluster is not whole.
    pub fn open(place: Place, patience: Option<Duration>) -> Result<Self, Failure> {
        let patience = patience.unwrap_or(PATIENCE);
        let cluster = Cluster::find(&place, patience).map_err(unusable)?;
        Ok(Self { place, cluster, patience })
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
        Ok(self.members()? != self.cluster.members)
    }

    /// The nodes of the cluster as it is now: partitions may be on their way.
    fn members(&self) -> Result<Vec<Member>, Failure> {
        Cluster::members(&self.place, self.patience).map_err(unusable)
    }

    fn open_at(&self, address: &Address) -> Result<Connection, Failure> {
        Connection::open_within(address, Some(self.patience), self.patience)
            .map_err(|error| cannot_use_node(address, &error))
    }

    fn nodes(&self) -> &[Address] {
        self.cluster.partitions.nodes()
    }

    /// What each node of the cluster, as it is now, says about this.
    fn ask_all(&self, name: &str) -> Result<Vec<String>, Failure> {
        let ask = |node: Member| Ok(self.open_at(&node.address)?.ask(&[name]).map_err(lost)?.concat());
        self.members()?.into_iter().map(ask).collect()
    }

    /// What a node has counted; operations that other nodes passed on to it are counted apart.
    fn counted(&self, node: Member, counters: &[ServerCounter]) -> Result<Counted, Failure> {
        let asked = format!("namespace/{}", self.place.set.namespace());
        let answers = self.open_at(&node.address)?.ask(&["statistics", &asked]).map_err(lost)?;
        let [of_node, of_namespace] = answers.as_slice() else { unreachable!("an answer to each question") };
        let number = |text: &str, name: &str| {
            let message = || format!("the nodes do not report {name}");
            value_of(text, name).ok_or_else(|| Failure::new(ExitCode::TargetLost, message()))
        };
        let calls = counters.iter().map(|counter| {
            let own = number(of_namespace, &format!("client_{}", counter.sql))?;
            Ok(own + value_of(of_namespace, &format!("from_proxy_{}", counter.sql)).unwrap_or(0))
        });
        let uptime_s = number(of_node, "uptime")?;
        Ok(Counted { generation: node.generation, uptime_s, calls: calls.collect::<Result<_, Failure>>()? })
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
        let mut connection = self.open_at(&self.nodes()[self.master(key)])?;
        let reply = connection.exchange(messages).map_err(lost)?;
        Ok(reply.bins(0).next().map(|bin| bin.value.to_vec()))
    }

    /// Removes all records of the set, and waits until they are gone.
    fn truncate(&self) -> Result<(), Failure> {
        let set = &self.place.set;
        let command = format!("truncate:namespace={};set={}", set.namespace(), set.name());
        let answer = self.open_at(&self.nodes()[0])?.ask(&[command.as_str()]).map_err(lost)?.concat();
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
    type Reading = Reading;

    const COUNTS_CHECKS: bool = true;

    fn connect(&self) -> Result<Vec<Connection>, Failure> {
        self.nodes().iter().map(|address| self.open_at(address)).collect()
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
                "the set {} of {} holds {} that no load wrote: use an empty set, or truncate this one",
                set.name(),
                set.namespace(),
                counted(copies, "record")
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

    fn read(&self, counters: &[ServerCounter]) -> Result<Reading, Failure> {
        if counters.is_empty() {
            return Ok(Reading { at: Instant::now(), nodes: BTreeMap::new() });
        }
        thread::sleep(COUNTED);
        let at = Instant::now();
        let read = self.members()?.into_iter().map(|node| Ok((node.name.clone(), self.counted(node, counters)?)));
        Ok(Reading { at, nodes: read.collect::<Result<_, Failure>>()? })
    }

    fn calls(&self, before: &Reading, after: &Reading) -> Result<Calls, String> {
        grown(&before.nodes, &after.nodes, after.at - before.at)
    }

    fn numbers(&self, _: Duration) -> Result<Numbers, Failure> {
        Err(Failure::new(ExitCode::BadSpec, "workload.ledger: not for targets of kind aerospike"))
    }

    fn unsettled(&self) -> Result<Option<String>, Failure> {
        let left = |text: &String| value_of(text, "migrate_tx_partitions_remaining").unwrap_or(0);
        let left: u64 = self.statistics()?.iter().map(left).sum();
        Ok((left > 0).then(|| format!("{left} partitions are still to be migrated, whose copies count twice")))
    }
}

/// What the nodes counted in the time between two readings, added up: a node that started in it counted from 0 on.
fn grown(
    before: &BTreeMap<String, Counted>,
    after: &BTreeMap<String, Counted>,
    between: Duration,
) -> Result<Calls, String> {
    let sum = |nodes: &BTreeMap<String, Counted>| -> Vec<i64> {
        let counters = nodes.values().map(|node| node.calls.len()).max().unwrap_or(0);
        (0..counters).map(|at| nodes.values().map(|node| node.calls[at] as i64).sum()).collect()
    };
    if let Some(gone) = before.keys().find(|name| !after.contains_key(*name)) {
        return Err(format!("node {gone} has left the cluster during the run, with what it had counted"));
    }
    for (name, node) in after {
        match before.get(name) {
            Some(earlier) if node.uptime_s + SECONDS_APART < earlier.uptime_s + between.as_secs() => {
                return Err(format!("node {name} restarted during the run and counts from 0 again"));
            }
            None if node.uptime_s > between.as_secs() + SECONDS_APART => {
                return Err(format!("node {name} joined the cluster during the run, and had counted before"));
            }
            _ => {}
        }
    }
    let same = |(name, node): (&String, &Counted)| before.get(name).is_some_and(|it| it.generation == node.generation);
    Ok(Calls { before: sum(before), after: sum(after), moved: !after.iter().all(same) })
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

fn unusable((address, error): (Address, TargetError)) -> Failure {
    cannot_use_node(&address, &error)
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

    /// Nodes by their names, with what each counted and how long it has run.
    fn nodes(those: &[(&str, u64, u64)]) -> BTreeMap<String, Counted> {
        let node = |uptime_s, calls| Counted { generation: "4".to_owned(), uptime_s, calls: vec![calls] };
        those.iter().map(|&(name, calls, uptime_s)| (name.to_owned(), node(uptime_s, calls))).collect()
    }

    #[test]
    fn counters_of_nodes_that_restarted_or_left_are_not_compared() {
        let before = nodes(&[("A", 10, 3), ("B", 20, 300)]);
        let after = |those: &[(&str, u64, u64)]| grown(&before, &nodes(those), Duration::from_secs(60));
        let still = after(&[("A", 15, 63), ("B", 27, 360)]).unwrap();
        assert_eq!(still, Calls { before: vec![30], after: vec![42], moved: false });
        let joined = after(&[("A", 15, 63), ("B", 27, 360), ("C", 4, 40)]).unwrap();
        assert_eq!(joined, Calls { before: vec![30], after: vec![46], moved: true });
        for (those, expected) in [
            (&[("A", 15, 50), ("B", 27, 360)][..], "node A restarted"),
            (&[("A", 15, 63)], "node B has left"),
            (&[("A", 15, 63), ("B", 27, 360), ("C", 4, 400)], "node C joined the cluster during the run, and had"),
        ] {
            let why = after(those).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }

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
