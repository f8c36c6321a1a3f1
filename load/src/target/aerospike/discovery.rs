//! Finds the nodes of a cluster by asking some of them.

use super::cluster::{Claim, Partitions, Peer, read_peers, read_services};
use super::connection::{Connection, NODE, info_refusal};
use super::place::Place;
use crate::target::TargetError;
use crate::target::postgres::Address;
use std::thread;
use std::time::Duration;

/// A cluster has as many nodes at most: https://aerospike.com/docs/database/reference/limitations/
const MAX_NODES: usize = 256;
/// A node has a few network interfaces; each that does not answer costs the patience for one.
const MAX_ADDRESSES: usize = 16;

/// A cluster as its nodes told it.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Which node has which part.
    pub partitions: Partitions,
    /// What the first node that answered says of its version.
    pub version: String,
    /// The nodes, by name.
    pub members: Vec<Member>,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// What it calls itself.
    pub name: String,
    /// Where it answered.
    pub address: Address,
    /// Another one later means that partitions have moved.
    pub generation: String,
}

/// What a node reports about itself.
struct Node {
    name: String,
    address: Address,
    version: String,
    generation: String,
    claim: Claim,
    peers: Vec<Peer>,
}

impl Cluster {
    /// Asks the place's hosts, all at the same time, then every node that one of them knows. Each may be silent for
    /// `patience`.
    ///
    /// # Errors
    /// Where, and why: none of the hosts answers, a node cannot be reached, or the cluster is not whole. While partitions
    /// are handed over, both nodes may claim one, as they are not asked at the same moment.
    pub fn find(place: &Place, patience: Duration) -> Result<Self, (Address, TargetError)> {
        let nodes = Node::all(place, patience)?;
        let (asked, version) = (nodes[0].address.clone(), nodes[0].version.clone());
        let members = nodes.iter().map(Node::member).collect();
        let claims = nodes.into_iter().map(|node| (node.address, node.claim)).collect();
        let partitions = Partitions::new(claims, place.set.clone()).map_err(|error| (asked, error))?;
        Ok(Self { partitions, version, members })
    }

    /// The nodes alone, whatever each of them has.
    ///
    /// # Errors
    /// Where, and why: none of the hosts answers, or a node cannot be reached.
    pub fn members(place: &Place, patience: Duration) -> Result<Vec<Member>, (Address, TargetError)> {
        Ok(Node::all(place, patience)?.iter().map(Node::member).collect())
    }
}

impl Node {
    /// Each of a cluster, at least one, in an order that does not depend on who told of whom.
    fn all(place: &Place, patience: Duration) -> Result<Vec<Self>, (Address, TargetError)> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut first_error = None;
        let namespace = place.set.namespace();
        let asked = at_once(&place.hosts, |host| Node::ask(host, namespace, patience));
        for (host, asked) in place.hosts.iter().zip(asked) {
            match asked {
                Ok(node) => add(&mut nodes, node),
                Err(error) => {
                    first_error.get_or_insert((host.clone(), error));
                }
            }
        }
        let mut others: Vec<Peer> = Vec::new();
        for peer in nodes.iter().flat_map(|node| &node.peers) {
            if !others.contains(peer) && !nodes.iter().any(|node| node.name == peer.name) {
                others.push(peer.clone());
            }
        }
        for reached in at_once(&others, |peer| Node::reach(peer, namespace, patience)) {
            add(&mut nodes, reached?);
        }
        if nodes.is_empty() {
            let nobody = || (place.hosts[0].clone(), TargetError::Lost("nobody answers".to_owned()));
            return Err(first_error.unwrap_or_else(nobody));
        }
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(nodes)
    }

    fn member(&self) -> Member {
        Member { name: self.name.clone(), address: self.address.clone(), generation: self.generation.clone() }
    }
}

/// The answers of all of them, in their order: all silent ones together cost the patience for one of them.
fn at_once<T: Sync, A: Send>(those: &[T], ask: impl Fn(&T) -> A + Sync) -> Vec<A> {
    thread::scope(|scope| {
        let ask = &ask;
        let asked: Vec<_> = those.iter().map(|one| scope.spawn(move || ask(one))).collect();
        asked.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    })
}

/// Hosts may be several names of one node.
fn add(nodes: &mut Vec<Node>, node: Node) {
    if !nodes.iter().any(|known| known.name == node.name) {
        nodes.push(node);
    }
}

impl Node {
    /// At the first of its addresses that leads to it.
    fn reach(peer: &Peer, namespace: &str, patience: Duration) -> Result<Self, (Address, TargetError)> {
        let mut first_error = None;
        for address in &peer.addresses {
            match Self::ask(address, namespace, patience) {
                Ok(node) if peer.name.is_empty() || node.name == peer.name => return Ok(node),
                Ok(node) => {
                    let why = format!("{} answers instead of {}", node.name, peer.name);
                    first_error.get_or_insert((address.clone(), TargetError::Refused(why)));
                }
                Err(error) => {
                    first_error.get_or_insert((address.clone(), error));
                }
            }
        }
        let unknown = Address::Tcp { host: peer.name.clone(), port: 0 };
        Err(first_error.unwrap_or_else(|| (unknown, TargetError::Refused("the node has no address".to_owned()))))
    }

    fn ask(address: &Address, namespace: &str, patience: Duration) -> Result<Self, TargetError> {
        let mut connection = Connection::open_within(address, Some(patience), patience)?;
        let asked = [NODE, "build", "partition-generation", "replicas", "peers-clear-std"];
        let mut answers = connection.ask(&asked)?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        let (name, version, generation, replicas, peers) = (next(), next(), next(), next(), next());
        for value in [&name, &replicas] {
            if value.is_empty() || value.starts_with("ERROR") {
                return Err(info_refusal(value));
            }
        }
        let peers = match read_peers(&peers) {
            Some(peers) => Some(peers),
            // A server older than 3.10 has no peers.
            None => read_services(&connection.ask(&["services"])?.concat()),
        };
        let peers = peers.ok_or_else(|| TargetError::Protocol("cannot read the peers".to_owned()))?;
        if peers.len() > MAX_NODES || peers.iter().any(|peer| peer.addresses.len() > MAX_ADDRESSES) {
            let why = format!("more than {MAX_NODES} peers, or one with more than {MAX_ADDRESSES} addresses");
            return Err(TargetError::Protocol(why));
        }
        let claim = Claim::read(&replicas, namespace)?;
        Ok(Self { name, address: address.clone(), version, generation, claim, peers })
    }
}
