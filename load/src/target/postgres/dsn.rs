//! Where a server is and who we are: URLs as libpq takes them.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const DEFAULT_PORT: u16 = 5432;
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_APPLICATION_NAME: &str = "nephoscope-load";

/// What to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A name or an IP address, and a port.
    Tcp {
        /// Name or address, without brackets.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The socket file itself.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A parsed connection URL. Printing it (`Display`, `Debug`) never shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Dsn {
    address: Address,
    user: String,
    password: Option<String>,
    database: String,
    application_name: String,
    connect_timeout: Duration,
    redacted: String,
}

/// Why a URL is not one of ours; one sentence, without the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DsnError(pub String);

impl fmt::Display for DsnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DsnError {}

impl Dsn {
    /// Parses `postgresql://user[:password]@host:port/database?host=/socket/directory&application_name=…`.
    /// `environment` is asked for `PGPASSWORD` and `PGUSER` when the URL does not say.
    ///
    /// # Errors
    /// [`DsnError`] for another scheme, a missing user, a bad port, a bad escape or an unknown parameter.
    pub fn parse(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, DsnError> {
        let rest = url
            .strip_prefix("postgresql://")
            .or_else(|| url.strip_prefix("postgres://"))
            .ok_or_else(|| DsnError("the DSN must begin with postgresql://".to_owned()))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may hold an @ that its author forgot to escape: the last one ends it.
        let (userinfo, hostport) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match userinfo.split_once(':') {
            Some((user, password)) => (user, Some(unescape(password, "password")?)),
            None => (userinfo, None),
        };
        let parameters = Parameters::parse(query)?;
        let (host, port) = split_port(hostport)?;
        let host = unescape(host, "host")?;
        let user = some(unescape(user, "user")?)
            .or_else(|| environment("PGUSER"))
            .ok_or_else(|| DsnError("the DSN names no user (postgresql://USER@host/database)".to_owned()))?;
        Ok(Self {
            address: address(parameters.host.unwrap_or(host), parameters.port.or(port).unwrap_or(DEFAULT_PORT)),
            database: some(unescape(database, "database")?).unwrap_or_else(|| user.clone()),
            user,
            password: password.or_else(|| environment("PGPASSWORD")),
            application_name: parameters.application_name.unwrap_or_else(|| DEFAULT_APPLICATION_NAME.to_owned()),
            connect_timeout: parameters.connect_timeout.unwrap_or(DEFAULT_CONNECT_TIMEOUT),
            redacted: redact(url),
        })
    }

    /// What to connect to.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The role to log in as.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database to use.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// How the sessions call themselves in `pg_stat_activity`.
    #[must_use]
    pub fn application_name(&self) -> &str {
        &self.application_name
    }

    /// How long connecting and logging in may take.
    #[must_use]
    pub fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }
}

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted)
    }
}

impl fmt::Debug for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dsn({self})")
    }
}

/// The URL with `***` for its password. Works on any text, so that a bad URL can be shown too.
#[must_use]
pub fn redact(url: &str) -> String {
    let authority_start = url.find("://").map_or(0, |at| at + 3);
    let authority_end = url[authority_start..].find(['/', '?']).map_or(url.len(), |at| authority_start + at);
    // An unescaped / or ? in the password would cut the authority short: look for the last @ of the whole text.
    let end = url.rfind('@').filter(|&at| at >= authority_start).unwrap_or(authority_end);
    match url[authority_start..end].find(':') {
        Some(colon) if url[end..].starts_with('@') => {
            format!("{}:***{}", &url[..authority_start + colon], &url[end..])
        }
        _ => url.to_owned(),
    }
}

/// The parameters we understand; all others are refused, because ignoring one (a TLS mode) would change the meaning.
#[derive(Default)]
struct Parameters {
    host: Option<String>,
    port: Option<u16>,
    application_name: Option<String>,
    connect_timeout: Option<Duration>,
}

impl Parameters {
    fn parse(query: &str) -> Result<Self, DsnError> {
        let mut parameters = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescape(value, name)?;
            match name {
                "host" => parameters.host = Some(value),
                "port" => parameters.port = Some(parse_port(&value)?),
                "application_name" => parameters.application_name = Some(value),
                "connect_timeout" => {
                    let seconds: u64 = value.parse().ok().filter(|&seconds| seconds > 0).ok_or_else(|| {
                        DsnError(format!("connect_timeout must be whole seconds above 0, not {value:?}"))
                    })?;
                    parameters.connect_timeout = Some(Duration::from_secs(seconds));
                }
                "sslmode" if matches!(value.as_str(), "disable" | "allow" | "prefer") => {}
                "sslmode" => {
                    return Err(DsnError(format!("sslmode={value} is not possible: this program speaks no TLS yet")));
                }
                _ => {
                    return Err(DsnError(format!(
                        "unknown parameter {name:?} in the DSN; known are host, port, application_name, \
                         connect_timeout, sslmode"
                    )));
                }
            }
        }
        Ok(parameters)
    }
}

fn address(host: String, port: u16) -> Address {
    if host.starts_with('/') {
        return Address::Unix(PathBuf::from(host).join(format!(".s.PGSQL.{port}")));
    }
    Address::Tcp { host: some(host).unwrap_or_else(|| "localhost".to_owned()), port }
}

/// `host:port`, `[::1]:port`, or either alone.
fn split_port(hostport: &str) -> Result<(&str, Option<u16>), DsnError> {
    if let Some(bracketed) = hostport.strip_prefix('[') {
        let (host, rest) =
            bracketed.split_once(']').ok_or_else(|| DsnError("the DSN's host has no closing ]".to_owned()))?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(parse_port(port)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(DsnError(format!("unexpected {rest:?} after the DSN's host"))),
        };
    }
    match hostport.split_once(':') {
        Some((host, port)) => Ok((host, Some(parse_port(port)?))),
        None => Ok((hostport, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, DsnError> {
    text.parse()
        .ok()
        .filter(|&port| port > 0)
        .ok_or_else(|| DsnError(format!("the DSN's port must be 1 to 65535, not {text:?}")))
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Undoes percent-encoding.
fn unescape(text: &str, part: &str) -> Result<String, DsnError> {
    // The text itself is not shown: it may be the password.
    let bad = || DsnError(format!("the DSN's {part} has a bad % escape (write % itself as %25)"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, tail) = rest.split_first_chunk::<2>().ok_or_else(bad)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16).ok_or_else(bad);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Dsn, DsnError> {
        Dsn::parse(url, |_| None)
    }

    #[test]
    fn a_full_url() {
        let dsn =
            parse("postgresql://bob:s%40cret@db.example:6543/shop?application_name=a%20b&connect_timeout=3").unwrap();
        assert_eq!(dsn.address(), &Address::Tcp { host: "db.example".to_owned(), port: 6543 });
        assert_eq!((dsn.user(), dsn.database(), dsn.password()), ("bob", "shop", Some("s@cret")));
        assert_eq!(dsn.application_name(), "a b");
        assert_eq!(dsn.connect_timeout(), Duration::from_secs(3));
    }

    #[test]
    fn defaults_and_environment() {
        let environment = |name: &str| Some(format!("from-{name}"));
        let dsn = Dsn::parse("postgres://db", environment).unwrap();
        assert_eq!((dsn.user(), dsn.database()), ("from-PGUSER", "from-PGUSER"));
        assert_eq!(dsn.password(), Some("from-PGPASSWORD"));
        assert_eq!(dsn.address().to_string(), "db:5432");
        assert_eq!(parse("postgresql://u@[::1]:7/d").unwrap().address().to_string(), "::1:7");
    }

    #[test]
    fn a_directory_as_host_is_a_unix_socket() {
        let dsn = parse("postgresql://u@/d?host=/tmp/pg&port=5433").unwrap();
        assert_eq!(dsn.address(), &Address::Unix(PathBuf::from("/tmp/pg/.s.PGSQL.5433")));
        assert_eq!(parse("postgresql://u@%2Fvar%2Frun/d").unwrap().address().to_string(), "/var/run/.s.PGSQL.5432");
    }

    #[test]
    fn bad_urls_say_what_is_wrong() {
        for (url, expected) in [
            ("mysql://u@h/d", "postgresql://"),
            ("postgresql://h/d", "no user"),
            ("postgresql://u@h:0/d", "port"),
            ("postgresql://u@h:x/d", "port"),
            ("postgresql://u:%zz@h/d", "% escape"),
            ("postgresql://u@h/d?sslmode=require", "TLS"),
            ("postgresql://u@h/d?conect_timeout=3", "conect_timeout"),
            ("postgresql://u@h/d?connect_timeout=0", "connect_timeout"),
            ("postgresql://u@[::1/d", "]"),
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains(expected), "{url}: {message}");
        }
    }

    #[test]
    fn the_password_is_never_printed() {
        for url in ["postgresql://u:hunter2@h/d", "postgresql://u:hunter2@h", "postgresql://u:hunt@er2@h:1/d?host=/x"] {
            let dsn = parse(url).unwrap();
            for text in [dsn.to_string(), format!("{dsn:?}")] {
                assert!(!text.contains("hunt") && !text.contains("er2"), "{text}");
                assert!(text.contains("u:***@h"), "{text}");
            }
        }
        assert_eq!(redact("postgresql://u@h:5432/d"), "postgresql://u@h:5432/d");
        assert_eq!(redact("nonsense"), "nonsense");
        assert!(!redact("postgresql://u:hun/ter@h/d").contains("ter"));
    }
}
