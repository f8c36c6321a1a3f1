//! Where records are: the nodes to ask first, a namespace, and a set in it.
//! `aerospike://host:port[,host:port …]/namespace[/set]` on the command line.

use super::STRING;
use super::digest::Digest;
use crate::target::postgres::Address;
use ripemd::{Digest as _, Ripemd160};
use std::fmt;
use std::sync::Arc;

const SCHEME: &str = "aerospike://";
const DEFAULT_PORT: u16 = 3000;
/// The set of a spec that names none.
pub const DEFAULT_SET: &str = "nephoscope";
/// `AS_ID_NAMESPACE_SZ` and `AS_SET_NAME_MAX_SIZE` of the server, without the byte behind a name.
pub(crate) const MAX_NAMESPACE_CHARACTERS: usize = 31;
const MAX_SET_CHARACTERS: usize = 63;
/// Types of fields.
const NAMESPACE_FIELD: u8 = 0;
const SET_FIELD: u8 = 1;
const DIGEST_FIELD: u8 = 4;

/// What is wrong with a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceError(pub String);

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlaceError {}

/// A set of records, as every message about one of them names it.
#[derive(Debug)]
pub struct Set {
    namespace: String,
    name: String,
    /// Both as fields of a message.
    fields: Vec<u8>,
    /// The hash of a key, in progress.
    begun: Ripemd160,
}

impl Set {
    /// How many fields [`Set::write_fields`] writes.
    pub(super) const FIELDS: u16 = 3;

    /// A set of a namespace.
    ///
    /// # Errors
    /// [`PlaceError`] for names that no server takes.
    pub fn new(namespace: &str, name: &str) -> Result<Self, PlaceError> {
        check_name("namespace", namespace, MAX_NAMESPACE_CHARACTERS)?;
        check_name("set", name, MAX_SET_CHARACTERS)?;
        let mut fields = Vec::new();
        write_field(&mut fields, NAMESPACE_FIELD, namespace.as_bytes());
        write_field(&mut fields, SET_FIELD, name.as_bytes());
        let begun = Ripemd160::new_with_prefix(name);
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned(), fields, begun })
    }

    /// The namespace that it is in.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a server knows a record of this set by: its key is a text.
    #[must_use]
    pub fn digest(&self, key: &[u8]) -> Digest {
        Digest(self.begun.clone().chain_update([STRING]).chain_update(key).finalize().into())
    }

    /// Appends the fields that say which record is meant.
    pub(super) fn write_fields(&self, bytes: &mut Vec<u8>, digest: &Digest) {
        bytes.extend_from_slice(&self.fields);
        write_field(bytes, DIGEST_FIELD, &digest.0);
    }
}

/// Its length with the type, the type, the value.
fn write_field(bytes: &mut Vec<u8>, kind: u8, value: &[u8]) {
    bytes.extend_from_slice(&(value.len() as u32 + 1).to_be_bytes());
    bytes.push(kind);
    bytes.extend_from_slice(value);
}

/// Colons, semicolons and slashes are the info protocol's own; `=` stands between its names and values.
fn check_name(what: &str, name: &str, most: usize) -> Result<(), PlaceError> {
    let taken = |character: char| !character.is_ascii_graphic() || ":;/=,".contains(character);
    if name.is_empty() || name.len() > most || name.contains(taken) {
        return Err(PlaceError(format!(
            "{what}: must be 1 to {most} ASCII characters without spaces or any of : ; / = ,"
        )));
    }
    Ok(())
}

/// Nodes of a cluster, and the set.
#[derive(Debug, Clone)]
pub struct Place {
    /// Asked for the others, in this order.
    pub hosts: Vec<Address>,
    /// Where the records are.
    pub set: Arc<Set>,
}

/// The parts of a URL, none of them checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlParts<'a> {
    pub hosts: Vec<&'a str>,
    pub namespace: &'a str,
    pub set: Option<&'a str>,
}

impl Place {
    /// From its parts as a spec has them.
    ///
    /// # Errors
    /// [`PlaceError`], which begins with the key.
    pub fn new(hosts: &[String], namespace: &str, set: &str) -> Result<Self, PlaceError> {
        if hosts.is_empty() {
            return Err(PlaceError("hosts: give at least one HOST:PORT".to_owned()));
        }
        let hosts = hosts.iter().map(|host| {
            read_address(host, DEFAULT_PORT).ok_or_else(|| PlaceError(format!("hosts: {host:?} is not HOST:PORT")))
        });
        Ok(Self { hosts: hosts.collect::<Result<_, _>>()?, set: Arc::new(Set::new(namespace, set)?) })
    }

    /// The parts of a URL; `None` when it is one of another kind.
    pub(crate) fn parts(url: &str) -> Option<UrlParts<'_>> {
        let rest = url.strip_prefix(SCHEME)?;
        let (hosts, names) = rest.split_once('/').unwrap_or((rest, ""));
        let (namespace, set) = names.split_once('/').map_or((names, None), |(namespace, set)| (namespace, Some(set)));
        Some(UrlParts { hosts: hosts.split(',').filter(|host| !host.is_empty()).collect(), namespace, set })
    }
}

/// `host:port`, `[::1]:port`, or either without its port.
pub(super) fn read_address(text: &str, default_port: u16) -> Option<Address> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(default_port), |port| port.parse().ok().filter(|&port| port > 0))?;
    (!host.is_empty() && !host.contains('@')).then(|| Address::Tcp { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: &Digest) -> String {
        digest.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The values are those that the tests of the official clients hold.
    #[test]
    fn digests_are_those_of_the_official_clients() {
        let set = Set::new("namespace", "set").unwrap();
        for (key, expected) in [
            (&b""[..], "2819b1ff6e346a43b4f5f6b77a88bc3eaac22a83"),
            (b"s", "607cddba7cd111745ef0a3d783d57f0e83c8f311"),
            (b"aaaaaaaaaa", "5979fb32a80da070ff356f7695455592272e36c2"),
            (&[b'm'; 100], "f00ad7dbcb4bd8122d9681bca49b8c2ffd4beeed"),
            (&[b't'; 1_000], "07ac412d4c33b8628ab147b8db244ce44ae527f8"),
        ] {
            assert_eq!(hex(&set.digest(key)), expected, "{key:?}");
        }
        assert_eq!(set.digest(b"s").partition(), 0xc60, "of the first two bytes, the lower first");
    }

    #[test]
    fn urls_name_hosts_a_namespace_and_a_set() {
        let parts = |url| Place::parts(url);
        let whole = parts("aerospike://a:3100,[::1]/test/kv").unwrap();
        assert_eq!(
            (whole.hosts.as_slice(), whole.namespace, whole.set),
            (&["a:3100", "[::1]"][..], "test", Some("kv"))
        );
        assert_eq!(parts("aerospike://a/test").unwrap().set, None);
        assert_eq!(parts("aerospike://a").unwrap().namespace, "");
        assert_eq!(parts("redis://a/1"), None);
    }

    #[test]
    fn places_say_what_is_wrong_with_them() {
        let place = |host: &str, namespace: &str, set: &str| Place::new(&[host.to_owned()], namespace, set);
        let whole = place("[::1]", "test", "kv").unwrap();
        assert_eq!(whole.hosts, [Address::Tcp { host: "::1".to_owned(), port: 3000 }]);
        assert_eq!((whole.set.namespace(), whole.set.name()), ("test", "kv"));
        for (host, namespace, set, expected) in [
            ("a:b", "test", "kv", "hosts: \"a:b\""),
            ("a:0", "test", "kv", "hosts"),
            ("[::1", "test", "kv", "hosts"),
            ("u@a", "test", "kv", "hosts"),
            ("", "test", "kv", "hosts"),
            ("a", "", "kv", "namespace: must be 1 to 31"),
            ("a", &"n".repeat(32), "kv", "namespace"),
            ("a", "test", "a;b", "set: must be 1 to 63"),
            ("a", "test", "a b", "set"),
        ] {
            let message = place(host, namespace, set).map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(expected), "{host} {namespace} {set}: {message}");
        }
        assert!(Place::new(&[], "test", "kv").is_err());
    }
}
