//! Aerospike's wire protocol: records of bins, read and written one at a time, each at the node that is master of its
//! partition.
//!
//! The layout is that of `proto.h` in aerospike/aerospike-server, the meaning that of the official clients. It is a
//! small part of it: single records and info; no batch, scan, query or user function, no TLS and no user. A message has
//! no number of its own: a connection's messages are answered one after the other, in their order.

mod cluster;
mod connection;
mod digest;
mod discovery;
mod message;
mod place;
mod reply;
mod result;

pub use cluster::Partitions;
#[cfg(feature = "testkit")]
pub(super) use cluster::{Claim, read_peers, read_services};
pub use connection::Connection;
pub use digest::{Digest, PARTITIONS};
pub use discovery::{Cluster, Member};
pub use message::{Messages, Write};
pub(crate) use place::MAX_NAMESPACE_CHARACTERS;
pub use place::{DEFAULT_SET, Place, PlaceError, Set};
pub use reply::{BLOB, Bin, Reply};
pub use result::{FOUND, NOT_FOUND, name_of};

/// Of the header of every message; 0 and 1 are older than any server in use.
const VERSION: u8 = 2;
/// Version, type, and the length of what follows in six bytes.
const HEADER_BYTES: usize = 8;
/// The part of a record's message before its fields.
const MESSAGE_BYTES: usize = 22;
/// Of a message whose body is text: names of what is asked, or names and values.
pub(super) const INFO: u8 = 1;
/// Of a message about a record.
pub(super) const MESSAGE: u8 = 3;
/// Types of values: texts are keys, bytes are what bins hold.
const STRING: u8 = 3;
/// A record has at most 8 MiB: a greater length means that the stream is out of step. (The server's own limit of a
/// message, `PROTO_SIZE_MAX`, is 128 MiB.)
const MAX_MESSAGE_BYTES: u64 = 16 * 1024 * 1024;
/// Who holds the 4,096 partitions of a namespace, and the names and addresses of all nodes, take a tenth of that.
const MAX_INFO_BYTES: u64 = 4 * 1024 * 1024;
