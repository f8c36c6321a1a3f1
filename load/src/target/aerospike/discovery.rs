//! Finds the nodes of a cluster by asking some of them.

use super::cluster::{Claim, Partitions, Peer, read_peers, read_services};
use super::connection::{Connection, NODE, info_refusal};
use super::place::Place;
use crate::target::TargetError;
use crate::target::postgres::Address;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster as its nodes told it.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Which node has which part.
    pub partitions: Partitions,
    /// What the first node that answered says of its version.
    pub version: String,
    /// One per node; a different one means that partitions have moved.
    pub generations: Vec<String>,
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
    /// Asks the place's hosts, and every node that one of them knows.
    ///
    /// # Errors
    /// Where, and why: none of the hosts answers, a node cannot be reached, or the cluster is not whole.
    pub fn find(place: &Place) -> Result<Self, (Address, TargetError)> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut first_error = None;
        for host in &place.hosts {
            match Node::ask(host, place.set.namespace()) {
                Ok(node) => add(&mut nodes, node),
                Err(error) => {
                    first_error.get_or_insert((host.clone(), error));
                }
            }
        }
        let peers: Vec<Peer> = nodes.iter().flat_map(|node| node.peers.clone()).collect();
        for peer in peers {
            if !nodes.iter().any(|node| node.name == peer.name) {
                add(&mut nodes, Node::reach(&peer, place.set.namespace())?);
            }
        }
        // Each time the same order, whoever told of whom.
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        let Some(first) = nodes.first() else {
            let nobody = || (place.hosts[0].clone(), TargetError::Lost("nobody answers".to_owned()));
            return Err(first_error.unwrap_or_else(nobody));
        };
        let (asked, version) = (first.address.clone(), first.version.clone());
        let generations = nodes.iter().map(|node| node.generation.clone()).collect();
        let claims = nodes.into_iter().map(|node| (node.address, node.claim)).collect();
        let partitions = Partitions::new(claims, place.set.clone()).map_err(|error| (asked, error))?;
        Ok(Self { partitions, version, generations })
    }
}

/// Hosts may be several names of one node.
fn add(nodes: &mut Vec<Node>, node: Node) {
    if !nodes.iter().any(|known| known.name == node.name) {
        nodes.push(node);
    }
}

impl Node {
    /// At the first of its addresses that leads to it.
    fn reach(peer: &Peer, namespace: &str) -> Result<Self, (Address, TargetError)> {
        let mut first_error = None;
        for address in &peer.addresses {
            match Self::ask(address, namespace) {
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

    fn ask(address: &Address, namespace: &str) -> Result<Self, TargetError> {
        let mut connection = Connection::open(address, Some(PATIENCE))?;
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
        let claim = Claim::read(&replicas, namespace)?;
        Ok(Self { name, address: address.clone(), version, generation, claim, peers })
    }
}
