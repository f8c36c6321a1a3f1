//! Where servers are: `redis://[user[:password]@]host[:port][/database]`, or `unix:///path/of/socket[?db=number]`.

use crate::target::postgres::{Address, redact, unescape, without_secrets};
use std::fmt;
use std::path::PathBuf;

const DEFAULT_PORT: u16 = 6379;
/// Where redis-cli looks for the password.
const PASSWORD_VARIABLE: &str = "REDISCLI_AUTH";

/// A server, and who we are there.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    pub(super) address: Address,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: u32,
    shown: String,
}

/// What is wrong with a URL; never holds the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlError(pub String);

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UrlError {}

impl Url {
    /// Whether a text names such a server, rather than one of another kind.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        ["redis://", "valkey://", "unix://", "rediss://", "valkeys://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads a URL; what it does not say comes from `environment`.
    ///
    /// # Errors
    /// [`UrlError`].
    pub fn parse(text: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, UrlError> {
        Self::read(text, environment).map_err(|UrlError(wrong)| UrlError(without_secrets(text, wrong)))
    }

    fn read(text: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, UrlError> {
        let bad = |why: &str| UrlError(why.to_owned());
        let password = environment(PASSWORD_VARIABLE);
        let shown = redact(text);
        if let Some(rest) = text.strip_prefix("unix://") {
            let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
            let database = match query.strip_prefix("db=") {
                Some(number) => number.parse().map_err(|_| bad("db must be a number"))?,
                None if query.is_empty() => 0,
                None => return Err(bad("only db=NUMBER is allowed after ?")),
            };
            return Ok(Self { address: Address::Unix(PathBuf::from(path)), user: None, password, database, shown });
        }
        if text.starts_with("rediss://") || text.starts_with("valkeys://") {
            return Err(bad("TLS to Redis is not supported yet: use redis:// inside a trusted network"));
        }
        let rest = text.strip_prefix("redis://").or_else(|| text.strip_prefix("valkey://"));
        let rest = rest.ok_or_else(|| bad("must begin with redis:// or unix://"))?;
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('?') || database.contains('?') {
            return Err(bad("parameters after ? are not allowed"));
        }
        let database = if database.is_empty() { Ok(0) } else { database.parse() };
        let (who, host) = authority.rsplit_once('@').map_or((None, authority), |(who, host)| (Some(who), host));
        let part = |text: &str, what| unescape(text, what).map_err(|error| UrlError(error.to_string()));
        let some = |text: &str, what| if text.is_empty() { Ok(None) } else { part(text, what).map(Some) };
        let (user, given) = match who.map(|who| who.split_once(':').unwrap_or((who, ""))) {
            Some((user, password)) => (some(user, "user")?, some(password, "password")?),
            None => (None, None),
        };
        Ok(Self {
            address: address(host)?,
            user,
            password: given.or(password),
            database: database.map_err(|_| bad("the database after / must be a number"))?,
            shown,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The same for another server of its cluster.
    #[must_use]
    pub fn at(&self, address: Address) -> Self {
        let shown = format!("redis://{address}");
        Self { address, shown, ..self.clone() }
    }
}

fn address(text: &str) -> Result<Address, UrlError> {
    // The text is not shown: in `user:password` without `@host` it holds the password.
    let bad = || UrlError("what follows redis:// is not [USER@]HOST:PORT".to_owned());
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(bad)?;
            (host, rest.strip_prefix(':'))
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Ok(DEFAULT_PORT), |port| port.parse().ok().filter(|&port| port > 0).ok_or_else(bad))?;
    let host = if host.is_empty() { "localhost" } else { host };
    Ok(Address::Tcp { host: host.to_owned(), port })
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Url").field(&self.shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Url, UrlError> {
        Url::parse(text, |_| None)
    }

    #[test]
    fn every_part_is_read() {
        let url = parse("redis://u%40x:p:w@[::1]:7000/3").unwrap();
        assert_eq!(url.address, Address::Tcp { host: "::1".to_owned(), port: 7000 });
        assert_eq!((url.user.as_deref(), url.password.as_deref(), url.database), (Some("u@x"), Some("p:w"), 3));
        let url = Url::parse("redis://h", |name| (name == "REDISCLI_AUTH").then(|| "x".to_owned())).unwrap();
        assert_eq!(
            (url.address.to_string(), url.user, url.password.as_deref()),
            ("h:6379".to_owned(), None, Some("x"))
        );
        let url = parse("unix:///run/redis.sock?db=2").unwrap();
        assert_eq!((url.address, url.database), (Address::Unix("/run/redis.sock".into()), 2));
    }

    #[test]
    fn bad_urls_say_what_is_wrong_and_no_password() {
        for (url, expected) in [
            ("http://h", "redis://"),
            ("rediss://h", "TLS"),
            ("redis://h:x", "HOST:PORT"),
            ("redis://h:0", "HOST:PORT"),
            ("redis://[::1", "HOST:PORT"),
            ("redis://h/x", "number"),
            ("redis://h?db=1", "?"),
            ("unix:///x?base=1", "db=NUMBER"),
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains(expected), "{url}: {message}");
        }
        for url in ["redis://u:hunt/er2@h:1/1", "redis://u:hunt?er2@h", "redis://:hunt/er2@h", "redis://u:hunt"] {
            let message = parse(url).unwrap_err().to_string();
            assert!(!message.contains("hunt") && !message.contains("er2"), "{message}");
            assert_eq!(message.contains("%2F"), url.contains('@'), "{message}");
        }
        let url = parse("redis://u:hunter2@h/1").unwrap();
        assert!(!format!("{url} {url:?}").contains("hunter2"));
    }
}
