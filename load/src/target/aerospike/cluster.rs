//! Which node of a cluster is the master of which partition, as the nodes report it.

use super::digest::PARTITIONS;
use super::place::{Set, read_address};
use crate::target::TargetError;
use crate::target::postgres::Address;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

const PORT: u16 = 3000;

/// The nodes of a cluster, and which of them has which part of the set's namespace.
#[derive(Debug, Clone)]
pub struct Partitions {
    nodes: Vec<Address>,
    set: Arc<Set>,
    of: Vec<u16>,
}

impl Partitions {
    /// From what each node says that it is master of.
    ///
    /// # Errors
    /// [`TargetError::Refused`] when a part has no master, or two.
    pub(super) fn new(nodes: Vec<(Address, Claim)>, set: Arc<Set>) -> Result<Self, TargetError> {
        let mut of: Vec<Option<u16>> = vec![None; PARTITIONS];
        for (partition, master) in of.iter_mut().enumerate() {
            let claims = nodes.iter().zip(0..).filter(|((_, claim), _)| claim.has(partition));
            let newest = claims.clone().map(|((_, claim), _)| claim.regime).max();
            let mut masters = claims.filter(|((_, claim), _)| Some(claim.regime) == newest);
            *master = masters.next().map(|(_, index)| index);
            if masters.next().is_some() {
                let why = format!("two nodes claim to be the master of partition {partition} of {}", set.namespace());
                return Err(moving(&why));
            }
        }
        let missing = of.iter().filter(|master| master.is_none()).count();
        let of = of.into_iter().collect::<Option<Vec<u16>>>();
        let of = of.ok_or_else(|| {
            moving(&format!("{missing} of the {PARTITIONS} partitions of {} have no master", set.namespace()))
        })?;
        Ok(Self { nodes: nodes.into_iter().map(|(address, _)| address).collect(), set, of })
    }

    /// Where they are, by number.
    #[must_use]
    pub fn nodes(&self) -> &[Address] {
        &self.nodes
    }

    /// The records that are meant.
    #[must_use]
    pub fn set(&self) -> &Arc<Set> {
        &self.set
    }

    /// The number of the node that is master of this record.
    #[must_use]
    pub fn master(&self, key: &[u8]) -> usize {
        if self.nodes.len() == 1 { 0 } else { usize::from(self.of[self.set.digest(key).partition()]) }
    }
}

fn moving(why: &str) -> TargetError {
    TargetError::Refused(format!("{why}: wait until the cluster is complete and its migrations have ended"))
}

/// What a node says that it is master of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::target) struct Claim {
    /// Counts the changes of the cluster, with strong consistency; 0 without.
    regime: u64,
    /// A bit for each partition, the highest first.
    bits: Vec<u8>,
}

impl Claim {
    fn has(&self, partition: usize) -> bool {
        self.bits[partition / 8] & (0x80 >> (partition % 8)) != 0
    }

    /// From what `replicas` answers: `namespace:regime,count,masters,others …;namespace: …`.
    pub(in crate::target) fn read(replicas: &str, namespace: &str) -> Result<Self, TargetError> {
        let unreadable = || TargetError::Protocol(format!("cannot read the replicas: {:?}", shortened(replicas)));
        let named = |text: &str| text.split_once(':').is_some_and(|(name, _)| name == namespace);
        let Some(own) = replicas.split(';').find(|text| named(text)) else {
            return Err(TargetError::Refused(format!("the node has no namespace {namespace:?}")));
        };
        let mut parts = own.split_once(':').map_or("", |(_, rest)| rest).split(',');
        let regime = parts.next().and_then(|regime| regime.parse().ok()).ok_or_else(unreadable)?;
        let bits = parts.nth(1).and_then(|bits| STANDARD.decode(bits).ok()).ok_or_else(unreadable)?;
        if bits.len() == PARTITIONS / 8 { Ok(Self { regime, bits }) } else { Err(unreadable()) }
    }
}

/// Another node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::target) struct Peer {
    /// Its name; empty where it is not told.
    pub(super) name: String,
    /// Where it may be reached, the first first.
    pub(super) addresses: Vec<Address>,
}

/// From what `peers-clear-std` answers: `generation,port,[[name,tls,[address,address …]], …]`.
pub(in crate::target) fn read_peers(text: &str) -> Option<Vec<Peer>> {
    let mut parts = text.splitn(3, ',');
    let (_generation, port, list) = (parts.next()?, parts.next()?, parts.next()?);
    let port = if port.is_empty() { PORT } else { port.parse().ok()? };
    let peer = |text: &str| {
        let parts = elements(text)?;
        let [name, _tls, addresses] = parts.as_slice() else { return None };
        let addresses = elements(addresses)?.into_iter().map(|address| read_address(address, port));
        Some(Peer { name: (*name).to_owned(), addresses: addresses.collect::<Option<_>>()? })
    };
    elements(list)?.into_iter().map(peer).collect()
}

/// From what `services` answers, which older servers have: `address:port;address:port …`.
pub(in crate::target) fn read_services(text: &str) -> Option<Vec<Peer>> {
    let peer = |text: &str| Some(Peer { name: String::new(), addresses: vec![read_address(text, PORT)?] });
    text.split(';').filter(|text| !text.is_empty()).map(peer).collect()
}

/// What stands between commas in `[…]`; commas in inner brackets are those of others.
fn elements(list: &str) -> Option<Vec<&str>> {
    let inside = list.strip_prefix('[')?.strip_suffix(']')?;
    if inside.is_empty() {
        return Some(Vec::new());
    }
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, character) in inside.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    (depth == 0).then_some(parts)
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    fn set() -> Arc<Set> {
        Arc::new(Set::new("test", "set").unwrap())
    }

    /// What a node says that has each partition for which this holds.
    fn replicas(regime: u64, has: impl Fn(usize) -> bool) -> String {
        let mut bits = vec![0_u8; PARTITIONS / 8];
        (0..PARTITIONS).filter(|&partition| has(partition)).for_each(|it| bits[it / 8] |= 0x80 >> (it % 8));
        let (mine, none) = (STANDARD.encode(&bits), STANDARD.encode(vec![0; PARTITIONS / 8]));
        format!("bar:0,1,{none};test:{regime},2,{mine},{none};tester:0,1,{none}")
    }

    fn partitions(nodes: &[String]) -> Result<Partitions, TargetError> {
        let node = |(text, port): (&String, u16)| (tcp("h", port), Claim::read(text, "test").unwrap());
        Partitions::new(nodes.iter().zip(1..).map(node).collect(), set())
    }

    #[test]
    fn every_partition_has_the_master_that_claims_it() {
        let found = partitions(&[replicas(0, |it| it % 3 != 1), replicas(0, |it| it % 3 == 1)]).unwrap();
        assert_eq!(found.nodes(), [tcp("h", 1), tcp("h", 2)]);
        // The digest of s in this set begins with 60 7c: partition 0xc60, which is 3,168.
        assert_eq!((found.of[3_168], found.master(b"s")), (0, 0));
        assert_eq!((found.of[4_093], found.of[4_094], found.of[4_095]), (1, 0, 0));
        let newer = partitions(&[replicas(4, |_| true), replicas(5, |it| it == 3_168)]).unwrap();
        assert_eq!((newer.master(b"s"), newer.of[0]), (1, 0));
    }

    #[test]
    fn a_cluster_that_is_not_whole_is_told() {
        let missing = partitions(&[replicas(0, |it| it > 1)]).unwrap_err().to_string();
        assert!(missing.contains("2 of the 4096 partitions of test have no master"), "{missing}");
        let twice = partitions(&[replicas(0, |_| true), replicas(0, |it| it == 7)]).unwrap_err().to_string();
        assert!(twice.contains("partition 7"), "{twice}");
        let other = Claim::read(&replicas(0, |_| true), "tes").unwrap_err().to_string();
        assert!(other.contains("no namespace \"tes\""), "{other}");
        for damaged in ["test:0,2,AAAA", "test:x,1,AAAA", "test:0", "test:", "test:0,1,*"] {
            assert!(matches!(Claim::read(damaged, "test"), Err(TargetError::Protocol(_))), "{damaged}");
        }
    }

    #[test]
    fn peers_are_read_with_all_of_their_addresses() {
        let peer = |name: &str, addresses: Vec<Address>| Peer { name: name.to_owned(), addresses };
        let found = read_peers("6,3000,[[BB9040011AC4202,,[172.17.0.4,[fe80::1]:3100]],[BB9,tls,[h:3200]]]").unwrap();
        let both = vec![tcp("172.17.0.4", 3000), tcp("fe80::1", 3100)];
        assert_eq!(found, [peer("BB9040011AC4202", both), peer("BB9", vec![tcp("h", 3200)])]);
        assert_eq!(read_peers("0,3000,[]"), Some(Vec::new()));
        assert_eq!(read_peers("1,,[[A,,[h]]]").unwrap()[0].addresses, [tcp("h", 3000)]);
        for damaged in ["", "1,3000", "1,3000,", "1,3000,[[A,[h]]]", "1,x,[]", "1,3000,[[A,,[h]]", "1,3000,[]]]"] {
            assert_eq!(read_peers(damaged), None, "{damaged}");
        }
        let older = read_services("10.0.0.1:3000;10.0.0.2:3100").unwrap();
        assert_eq!(older[1], peer("", vec![tcp("10.0.0.2", 3100)]));
        assert_eq!(read_services(""), Some(Vec::new()));
    }
}
