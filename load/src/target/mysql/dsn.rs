//! Servers and logins, as a URL names them.

use crate::target::postgres::tls::TlsClient;
use crate::target::postgres::{
    Address, ChannelBinding, DsnError, Negotiation, RootCertificates, SslMode, TlsSettings, choose, redact, split_port,
    unescape, without_secrets,
};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];
const DEFAULT_PORT: u16 = 3306;
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PARAMETERS: &str = "socket, connect-timeout, ssl-mode, ssl-ca, ssl-cert, ssl-key, \
                          server-public-key-path, get-server-public-key";

const YES_OR_NO: [(&str, bool); 2] = [("true", true), ("false", false)];

/// `--ssl-mode` of MySQL's own clients.
const SSL_MODES: [(&str, SslMode); 5] = [
    ("DISABLED", SslMode::Disable),
    ("PREFERRED", SslMode::Prefer),
    ("REQUIRED", SslMode::Require),
    ("VERIFY_CA", SslMode::VerifyCa),
    ("VERIFY_IDENTITY", SslMode::VerifyFull),
];

/// A parsed URL. Printing it (`Display`, `Debug`) never shows the password.
#[derive(Clone)]
pub struct Dsn {
    addresses: Vec<Address>,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) database: String,
    connect_timeout: Duration,
    pub(super) tls: TlsClient,
    /// PEM file of the server's public key, which may encrypt the password where there is no TLS.
    pub(super) server_key: Option<PathBuf>,
    /// Without a file the key that the server gives is believed.
    pub(super) asks_server_key: bool,
    redacted: String,
}

impl Dsn {
    /// Whether a URL names a server of MySQL's protocol.
    #[must_use]
    pub fn is_one(url: &str) -> bool {
        SCHEMES.iter().any(|scheme| url.starts_with(scheme))
    }

    /// Parses `mysql://user[:password]@host:port,host:port/database?ssl-mode=…`, or `mariadb://`. `environment` supplies
    /// `MYSQL_PWD`, unless the URL has a password.
    ///
    /// # Errors
    /// [`DsnError`] for another scheme, a missing user or database, a bad port, a bad escape or an unknown parameter.
    pub fn parse(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, DsnError> {
        Self::read(url, environment).map_err(|DsnError(wrong)| DsnError(without_secrets(url, wrong)))
    }

    fn read(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, DsnError> {
        let rest = SCHEMES
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme))
            .ok_or_else(|| DsnError("the DSN must begin with mysql:// or mariadb://".to_owned()))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (userinfo, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        let (user, password) = (unescape(user, "user")?, unescape(password, "password")?);
        let database = unescape(database, "database")?;
        for (part, text) in [("user", &user), ("database", &database)] {
            if text.is_empty() {
                return Err(DsnError(format!("the DSN has no {part} (mysql://USER@host/DATABASE)")));
            }
            if text.contains('\0') {
                return Err(DsnError(format!("the DSN's {part} has a zero byte")));
            }
        }
        let password = if password.is_empty() { environment("MYSQL_PWD").unwrap_or_default() } else { password };
        let parameters = Parameters::parse(query)?;
        let addresses = match &parameters.socket {
            Some(path) => vec![Address::Unix(path.clone())],
            None => hosts.split(',').map(address).collect::<Result<_, _>>()?,
        };
        let connect_timeout = parameters.connect_timeout.unwrap_or(DEFAULT_CONNECT_TIMEOUT);
        let (server_key, asks_server_key) = (parameters.server_key.clone(), parameters.asks_server_key);
        let tls = TlsClient::new(parameters.tls()?);
        let redacted = redact(url);
        Ok(Self { addresses, user, password, database, connect_timeout, tls, server_key, asks_server_key, redacted })
    }

    /// What to connect to, in the order in which it is tried.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The same for each of its hosts alone, for clients that belong to a host.
    #[must_use]
    pub fn each_host(&self) -> Vec<Self> {
        if self.addresses.len() == 1 {
            return vec![self.clone()];
        }
        let only = |address: &Address| Self {
            addresses: vec![address.clone()],
            redacted: address.to_string(),
            ..self.clone()
        };
        self.addresses.iter().map(only).collect()
    }

    /// How long connecting and logging in may take, each host for itself.
    #[must_use]
    pub fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// The same, with no more than this for connecting and logging in.
    #[must_use]
    pub fn within(&self, most: Duration) -> Self {
        Self { connect_timeout: self.connect_timeout.min(most), ..self.clone() }
    }
}

fn address(hostport: &str) -> Result<Address, DsnError> {
    let (host, port) = split_port(hostport)?;
    let host = if host.is_empty() { "localhost".to_owned() } else { unescape(host, "host")? };
    Ok(Address::Tcp { host, port: port.unwrap_or(DEFAULT_PORT) })
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

/// What stands behind the question mark. Unknown parameters are refused, because ignoring one (a TLS mode) would change
/// the meaning.
#[derive(Default)]
struct Parameters {
    socket: Option<PathBuf>,
    connect_timeout: Option<Duration>,
    mode: Option<SslMode>,
    authority: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    server_key: Option<PathBuf>,
    asks_server_key: bool,
}

impl Parameters {
    fn parse(query: &str) -> Result<Self, DsnError> {
        let mut parameters = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            // MySQL's options are written with either.
            let name = name.replace('_', "-");
            parameters.set(&name, unescape(value, &name)?)?;
        }
        Ok(parameters)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), DsnError> {
        match name {
            "socket" => self.socket = Some(PathBuf::from(value)),
            "connect-timeout" => {
                let seconds = value.parse().ok().filter(|&seconds: &u64| seconds > 0);
                let wrong = || DsnError(format!("connect-timeout must be whole seconds above 0, not {value:?}"));
                self.connect_timeout = Some(Duration::from_secs(seconds.ok_or_else(wrong)?));
            }
            "ssl-mode" => self.mode = Some(choose(name, &value.to_ascii_uppercase(), &SSL_MODES)?),
            "ssl-ca" => self.authority = Some(PathBuf::from(value)),
            "ssl-cert" => self.certificate = Some(PathBuf::from(value)),
            "ssl-key" => self.key = Some(PathBuf::from(value)),
            "server-public-key-path" => self.server_key = Some(PathBuf::from(value)),
            "get-server-public-key" => self.asks_server_key = choose(name, &value, &YES_OR_NO)?,
            _ => return Err(DsnError(format!("unknown parameter {name:?} in the DSN; known are {PARAMETERS}"))),
        }
        Ok(())
    }

    /// As MySQL's clients have it: whoever names a certificate authority wants it verified.
    fn tls(self) -> Result<TlsSettings, DsnError> {
        let mode = self.mode.unwrap_or(if self.authority.is_some() { SslMode::VerifyCa } else { SslMode::Prefer });
        if matches!(mode, SslMode::VerifyCa | SslMode::VerifyFull) && self.authority.is_none() {
            return Err(DsnError("ssl-mode=VERIFY_CA and VERIFY_IDENTITY need ssl-ca".to_owned()));
        }
        if self.certificate.is_some() != self.key.is_some() {
            return Err(DsnError("ssl-cert and ssl-key go together: give both or none".to_owned()));
        }
        Ok(TlsSettings {
            mode,
            negotiation: Negotiation::Postgres,
            roots: self.authority.map_or(RootCertificates::Default(None), RootCertificates::File),
            client: self.certificate.zip(self.key),
            default_client: None,
            channel_binding: ChannelBinding::Disable,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Dsn, DsnError> {
        Dsn::parse(url, |name| (name == "MYSQL_PWD").then(|| "from-environment".to_owned()))
    }

    #[test]
    fn urls_name_hosts_or_a_socket() {
        for (url, addresses, password) in [
            ("mysql://u@h/d", "h:3306", "from-environment"),
            ("mariadb://u:p%40@h:1,[::1]:2,i/d", "h:1 [::1]:2 i:3306", "p@"),
            ("mysql://u@/d?socket=/run/s", "/run/s", "from-environment"),
        ] {
            let dsn = parse(url).unwrap();
            let shown: Vec<_> = dsn.addresses().iter().map(ToString::to_string).collect();
            assert_eq!((shown.join(" ").as_str(), dsn.password.as_str()), (addresses, password), "{url}");
            assert_eq!((dsn.user.as_str(), dsn.database.as_str()), ("u", "d"));
        }
    }

    #[test]
    fn tls_is_asked_for_by_mysqls_names() {
        for (query, mode) in [
            ("", SslMode::Prefer),
            ("ssl-mode=required", SslMode::Require),
            ("ssl_mode=DISABLED", SslMode::Disable),
            ("ssl-ca=/x", SslMode::VerifyCa),
            ("ssl-ca=/x&ssl-mode=VERIFY_IDENTITY&ssl-cert=/c&ssl-key=/k", SslMode::VerifyFull),
        ] {
            assert_eq!(parse(&format!("mysql://u@h/d?{query}")).unwrap().tls.settings().mode, mode, "{query}");
        }
    }

    #[test]
    fn bad_urls_say_what_is_wrong_without_the_password() {
        for (url, expected) in [
            ("postgresql://u:hunt@h/d", "mysql://"),
            ("mysql://h/d", "no user"),
            ("mysql://u:hunt@h", "no database"),
            ("mysql://u:hunt@h:0/d", "port"),
            ("mysql://u:hunt%zz@h/d", "% escape"),
            ("mysql://u%00@h/d", "zero byte"),
            ("mysql://u:hunt@h/d?sslmode=require", "ssl-mode"),
            ("mysql://u:hunt@h/d?ssl-mode=VERIFY_CA", "need ssl-ca"),
            ("mysql://u:hunt@h/d?ssl-mode=on", "VERIFY_IDENTITY"),
            ("mysql://u:hunt@h/d?ssl-cert=/x", "go together"),
            ("mysql://u:hunt@h/d?connect-timeout=0", "above 0"),
            ("mysql://u:hu/nt@h/d", "%2F"),
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains(expected) && !message.contains("hunt"), "{url}: {message}");
        }
        let dsn = parse("mysql://u:hunt@er2@h/d").unwrap();
        assert!(!format!("{dsn} {dsn:?}").contains("er2") && dsn.to_string() == "mysql://u:***@h/d");
    }
}
