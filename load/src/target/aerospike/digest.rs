//! Which record is meant: a server knows a digest of its key, and the partition that the digest is in.

/// Partitions of a namespace.
pub const PARTITIONS: usize = 4_096;

/// RIPEMD-160 of a set's name, the type of a key, and the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 20]);

impl Digest {
    /// The part of a namespace that the record is in.
    #[must_use]
    pub fn partition(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[0], self.0[1]])) % PARTITIONS
    }
}
