//! Which server of a cluster has which keys.

use crate::target::TargetError;
use crate::target::postgres::Address;
use crate::target::quoted::quoted;

/// Slots, which a cluster divides its keys into.
pub const SLOTS: usize = 16_384;

/// Redis Cluster is made for as many: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
const MAX_NODES: usize = 1_000;

/// The slot of a key: CRC-16 (XMODEM) of the key, or of the text inside its first `{…}`, modulo [`SLOTS`].
#[must_use]
pub fn slot(key: &[u8]) -> usize {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let inside = &key[open + 1..];
        let length = inside.iter().position(|&byte| byte == b'}').filter(|&length| length > 0)?;
        Some(&inside[..length])
    });
    usize::from(crc16(tag.unwrap_or(key))) % SLOTS
}

/// Polynomial 0x1021, most significant bit first, from 0.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// The masters of a cluster, and which of them has which slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    /// Masters and replicas.
    nodes: Vec<Address>,
    masters: Vec<Address>,
    of: Vec<u16>,
}

impl Slots {
    /// Reads what CLUSTER NODES answers at `asked`.
    ///
    /// # Errors
    /// [`TargetError::Refused`] when a slot is nobody's; [`TargetError::Protocol`] when the text is another, has more
    /// nodes than a cluster, or one slot twice.
    pub fn read(nodes: &str, asked: &Address) -> Result<Self, TargetError> {
        let (mut all, mut masters, mut of) = (Vec::new(), Vec::new(), vec![None; SLOTS]);
        for (before, line) in nodes.lines().enumerate() {
            if before == MAX_NODES {
                return Err(TargetError::Protocol(format!(
                    "more than {MAX_NODES} nodes in the answer to CLUSTER NODES"
                )));
            }
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [_, address, flags, _, _, _, _, _, slots @ ..] = words.as_slice() else { return Err(unreadable(line)) };
            // One that the others only know by name has no address: `:0@0`.
            all.extend(read_address(address, asked).filter(|_| !flags.contains("noaddr")));
            if slots.is_empty() || !flags.split(',').any(|flag| flag == "master") {
                continue;
            }
            let master = u16::try_from(masters.len()).map_err(|_| unreadable(line))?;
            masters.push(read_address(address, asked).ok_or_else(|| unreadable(line))?);
            // A slot in brackets is on its way to another master, and still here.
            for range in slots.iter().filter(|range| !range.starts_with('[')) {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let (first, last) =
                    first.parse::<usize>().ok().zip(last.parse::<usize>().ok()).ok_or_else(|| unreadable(line))?;
                let those = of.get_mut(first..=last).filter(|those| those.iter().all(Option::is_none));
                those.ok_or_else(|| unreadable(line))?.fill(Some(master));
            }
        }
        let missing = of.iter().filter(|slot| slot.is_none()).count();
        let of = of.into_iter().collect::<Option<Vec<u16>>>();
        of.map(|of| Self { nodes: all, masters, of })
            .ok_or_else(|| TargetError::Refused(format!("{missing} of the cluster's {SLOTS} slots have no master")))
    }

    /// Where they are, by number.
    #[must_use]
    pub fn masters(&self) -> &[Address] {
        &self.masters
    }

    /// Where all nodes are, replicas included.
    #[must_use]
    pub fn nodes(&self) -> &[Address] {
        &self.nodes
    }

    /// The first slot of a master, by its number.
    #[must_use]
    pub fn first_of(&self, master: usize) -> usize {
        self.of.iter().position(|&owner| usize::from(owner) == master).unwrap_or(0)
    }

    /// A key in the first slot of a master, by its number.
    #[must_use]
    pub fn key_of(&self, master: usize) -> String {
        let first = self.first_of(master);
        (0_u32..).map(|number| number.to_string()).find(|key| slot(key.as_bytes()) == first).unwrap_or_default()
    }

    /// Where the master of a slot is.
    #[must_use]
    pub fn master_of(&self, slot: usize) -> &Address {
        &self.masters[usize::from(self.of[slot])]
    }

    /// The number of the master that has this key.
    #[must_use]
    pub fn master(&self, key: &[u8]) -> usize {
        usize::from(self.of[slot(key)])
    }
}

/// `host:port@bus[,name]`; a server that does not know its own host was asked at it.
fn read_address(text: &str, asked: &Address) -> Option<Address> {
    let (address, _) = text.split_once('@')?;
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let own = match asked {
        Address::Tcp { host, .. } => host.as_str(),
        Address::Unix(_) => "localhost",
    };
    let host = if host.is_empty() { own } else { host };
    Some(Address::Tcp { host: host.to_owned(), port })
}

fn unreadable(line: &str) -> TargetError {
    TargetError::Protocol(format!("cannot read the answer to CLUSTER NODES: \"{}\"", quoted(line.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = "\
07c3 127.0.0.1:30004@31004,host 4 slave e7d1 0 1426238317239 4 connected
67ed 127.0.0.1:30002@31002 master - 0 1426238316232 2 connected 5461-10922
292f 127.0.0.1:30003@31003 master - 0 1426238318243 3 connected 10923-16382 16383 [10923->-67ed]
e7d1 :30001@31001 myself,master - 0 0 1 connected 0-5460
";

    #[test]
    fn slots_are_those_of_the_specification() {
        // The check value of CRC-16/XMODEM, and CLUSTER KEYSLOT's answers.
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot(b"somekey"), 11_058);
        assert_eq!(slot(b"foo{hash_tag}"), slot(b"bar{hash_tag}"));
        assert_ne!(slot(b"foo{}{bar}"), slot(b"bar"));
    }

    #[test]
    fn masters_are_found_with_their_slots() {
        let asked = Address::Tcp { host: "h".to_owned(), port: 1 };
        assert!(Slots::read("07c3 127.0.0.1:30004@31004 master", &asked).is_err());
        let slots = Slots::read(NODES, &asked).unwrap();
        let shown: Vec<String> = slots.masters().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:30002", "127.0.0.1:30003", "h:30001"]);
        assert_eq!((slots.nodes().len(), slots.first_of(1)), (4, 10_923), "a replica can tell, too");
        assert_eq!(slots.master_of(16_383).to_string(), "127.0.0.1:30003");
        assert_eq!(slots.master(b"somekey"), 1);
        assert_eq!([0, 1, 2].map(|master| slots.master(slots.key_of(master).as_bytes())), [0, 1, 2]);
        assert_eq!((slots.of[0], slots.of[5_461], slots.of[16_383]), (2, 0, 1));
    }

    #[test]
    fn more_nodes_than_a_cluster_has_and_slots_told_twice_are_refused() {
        let asked = Address::Tcp { host: "h".to_owned(), port: 1 };
        let twice = NODES.replace("5461-10922", "5461-10922 5461-10922");
        let many = "a 127.0.0.1:1@2 slave b 0 0 1 connected\n".repeat(MAX_NODES + 1);
        for (text, expected) in [(twice, "cannot read"), (many, "more than 1000 nodes")] {
            let error = Slots::read(&text, &asked).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_slot_without_a_master_is_told() {
        let asked = Address::Tcp { host: "h".to_owned(), port: 1 };
        let error = Slots::read(&NODES.replace("5461-10922", "5461-10921"), &asked).unwrap_err();
        assert!(error.to_string().contains("1 of the cluster's 16384 slots"), "{error}");
    }
}
