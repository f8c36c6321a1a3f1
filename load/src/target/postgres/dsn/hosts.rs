//! The servers that a URL names: one or several, each with its port.

use super::Address;
use super::error::DsnError;
use super::escape::unescape;
use crate::target::TargetError;
use std::path::PathBuf;

const DEFAULT_PORT: u16 = 5432;

/// The addresses of `host:port,[::1]:port,…`, overridden by the parameters `host` and `port`, which are lists too.
pub(super) fn addresses(
    authority: &str,
    host_parameter: Option<&str>,
    port_parameter: Option<&str>,
) -> Result<Vec<Address>, DsnError> {
    let written: Vec<_> = authority.split(',').map(split_port).collect::<Result<_, _>>()?;
    let hosts: Vec<String> = match host_parameter {
        Some(list) => list.split(',').map(str::to_owned).collect(),
        None => written.iter().map(|(host, _)| unescape(host, "host")).collect::<Result<_, _>>()?,
    };
    let ports: Vec<Option<u16>> = match port_parameter {
        Some(list) => list.split(',').map(parse_port).collect::<Result<_, _>>()?,
        None => written.into_iter().map(|(_, port)| port).collect(),
    };
    if ports.len() != 1 && ports.len() != hosts.len() {
        return Err(DsnError(format!("the DSN has {} ports for {} hosts", ports.len(), hosts.len())));
    }
    let every_port = ports.iter().cycle().map(|port| port.unwrap_or(DEFAULT_PORT));
    Ok(hosts.into_iter().zip(every_port).map(|(host, port)| address(host, port)).collect())
}

fn address(host: String, port: u16) -> Address {
    if host.starts_with('/') {
        return Address::Unix(PathBuf::from(host).join(format!(".s.PGSQL.{port}")));
    }
    let host = if host.is_empty() { "localhost".to_owned() } else { host };
    Address::Tcp { host, port }
}

/// `host:port`, `[::1]:port`, or either alone.
pub(in crate::target) fn split_port(hostport: &str) -> Result<(&str, Option<u16>), DsnError> {
    if let Some(bracketed) = hostport.strip_prefix('[') {
        let (host, rest) =
            bracketed.split_once(']').ok_or_else(|| DsnError("the DSN's host has no closing ]".to_owned()))?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, parse_port(port)?)),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(DsnError("there is unexpected text after the ] of the DSN's host".to_owned())),
        };
    }
    match hostport.split_once(':') {
        Some((_, port)) if port.contains(':') => {
            Err(DsnError("the DSN's host has several colons: write an IPv6 address in []".to_owned()))
        }
        Some((host, port)) => Ok((host, parse_port(port)?)),
        None => Ok((hostport, None)),
    }
}

/// A port; an empty one is the default, as libpq has it. What is no port is not shown: in `user:password` without
/// `@host` it is the password.
fn parse_port(text: &str) -> Result<Option<u16>, DsnError> {
    if text.is_empty() {
        return Ok(None);
    }
    let port = text.parse().ok().filter(|&port| port > 0);
    port.map(Some).ok_or_else(|| DsnError("the DSN's port must be 1 to 65535".to_owned()))
}

/// What the first address opens that will do; an error that does not lead to the next one counts.
pub(in crate::target) fn first_that_will_do<C>(
    addresses: &[Address],
    leads_on: impl Fn(&TargetError) -> bool,
    open: impl Fn(&Address) -> Result<C, TargetError>,
) -> Result<C, TargetError> {
    let mut reasons = Vec::new();
    for address in addresses {
        match open(address) {
            Err(error) if leads_on(&error) => reasons.push(error),
            outcome => return outcome,
        }
    }
    if reasons.len() > 1 {
        let all: Vec<_> = reasons.iter().map(ToString::to_string).collect();
        return Err(TargetError::Lost(format!("no usable host: {}", all.join("; "))));
    }
    Err(reasons.pop().unwrap_or_else(|| TargetError::Lost("the DSN has no host".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(authority: &str, host: Option<&str>, port: Option<&str>) -> Result<String, DsnError> {
        let addresses = addresses(authority, host, port)?;
        Ok(addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn hosts_and_ports_as_libpq_pairs_them() {
        for (authority, host, port, expected) in [
            ("", None, None, "localhost:5432"),
            ("a:1,b:2", None, None, "a:1 b:2"),
            ("a,b:2", None, None, "a:5432 b:2"),
            ("[::1]:7,[fe80::1]", None, None, "[::1]:7 [fe80::1]:5432"),
            ("a:1,b:2", None, Some("9"), "a:9 b:9"),
            ("", Some("a,b"), Some("1,2"), "a:1 b:2"),
            (":6000", Some("a,b"), None, "a:6000 b:6000"),
            ("ignored", Some("/run/pg,b"), Some("1,"), "/run/pg/.s.PGSQL.1 b:5432"),
            ("%2Frun%2Fpg", None, None, "/run/pg/.s.PGSQL.5432"),
        ] {
            assert_eq!(shown(authority, host, port).unwrap(), expected, "{authority} {host:?} {port:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (authority, port, expected) in [
            ("a,b,c", Some("1,2"), "2 ports for 3 hosts"),
            ("::1", None, "in []"),
            ("[::1", None, "closing ]"),
            ("[::1]x", None, "unexpected"),
            ("a:0", None, "1 to 65535"),
            ("a", Some("70000"), "1 to 65535"),
        ] {
            let message = shown(authority, None, port).unwrap_err().0;
            assert!(message.contains(expected), "{authority}: {message}");
        }
    }
}
