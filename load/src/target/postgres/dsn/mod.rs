//! Servers and logins, as libpq's URLs name them.

mod error;
mod escape;
mod hosts;
mod methods;
mod parameters;
mod passfile;
mod settings;

use super::tls::TlsClient;
pub(in crate::target) use escape::{unescape, without_secrets};
use parameters::Parameters;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use error::DsnError;
pub use escape::redact;
pub(in crate::target) use hosts::{first_that_will_do, split_port};
pub(super) use methods::{AllowedMethods, Method};
pub use settings::{ChannelBinding, SessionAttributes, SslMode};
pub(in crate::target) use settings::{Negotiation, RootCertificates, TlsSettings, choose};

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
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A parsed connection URL. Printing it (`Display`, `Debug`) never shows the password.
#[derive(Clone)]
pub struct Dsn {
    addresses: Vec<Address>,
    user: String,
    password: Option<String>,
    /// Passwords by host, where none was given.
    password_file: String,
    database: String,
    application_name: String,
    options: Option<String>,
    connect_timeout: Duration,
    session: SessionAttributes,
    methods: AllowedMethods,
    tls: TlsClient,
    redacted: String,
}

impl Dsn {
    /// Parses `postgresql://user[:password]@host:port,host:port/database?host=/socket/directory&sslmode=…`.
    /// `environment` supplies libpq's variables (`PGUSER`, `PGPASSWORD`, `PGSSLMODE` …) that the URL does not set,
    /// and `HOME`, whose folder `.postgresql` may hold certificates.
    ///
    /// # Errors
    /// [`DsnError`] for another scheme, a missing user, a bad port, a bad escape or an unknown parameter.
    pub fn parse(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, DsnError> {
        Self::read(url, environment).map_err(|DsnError(wrong)| DsnError(without_secrets(url, wrong)))
    }

    fn read(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, DsnError> {
        let rest = url
            .strip_prefix("postgresql://")
            .or_else(|| url.strip_prefix("postgres://"))
            .ok_or_else(|| DsnError("the DSN must begin with postgresql://".to_owned()))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may hold an @ that its author forgot to escape: the last one ends it.
        let (userinfo, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match userinfo.split_once(':') {
            Some((user, password)) => (user, Some(unescape(password, "password")?)),
            None => (userinfo, None),
        };
        let said = Parameters::parse(query, &environment)?;
        let user = some(said.user.clone())
            .or(some(Some(unescape(user, "user")?)))
            .or_else(|| environment("PGUSER"))
            .ok_or_else(|| DsnError("the DSN has no user (postgresql://USER@host/database)".to_owned()))?;
        let database = some(said.database.clone()).or(some(Some(unescape(database, "database")?)));
        let database = database.unwrap_or_else(|| user.clone());
        let home = environment("HOME").map(PathBuf::from);
        let password = some(said.password.clone()).or(some(password)).or_else(|| some(environment("PGPASSWORD")));
        let addresses = hosts::addresses(hosts, said.host.as_deref(), said.port.as_deref())?;
        let password_file = if password.is_some() { String::new() } else { said.password_file(home.as_deref())? };
        Ok(Self {
            tls: TlsClient::new(said.tls(home)?),
            addresses,
            database,
            user,
            password,
            password_file,
            application_name: said.application_name.unwrap_or_else(|| DEFAULT_APPLICATION_NAME.to_owned()),
            options: said.options,
            connect_timeout: said.connect_timeout.unwrap_or(DEFAULT_CONNECT_TIMEOUT),
            session: said.session,
            methods: said.methods,
            redacted: redact(url),
        })
    }

    /// What to connect to, in the order in which it is tried.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The same for each of its hosts alone, for clients that belong to a host.
    #[must_use]
    pub fn each_host(&self) -> Vec<Self> {
        let only = |address: &Address| Self { addresses: vec![address.clone()], ..self.clone() };
        self.addresses.iter().map(only).collect()
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

    /// The same, with settings of the session besides those that `options` has.
    #[must_use]
    pub fn with_settings(&self, settings: &BTreeMap<String, String>) -> Self {
        let escaped = |value: &str| value.replace('\\', r"\\").replace(' ', r"\ ");
        let added = settings.iter().map(|(name, value)| format!("-c {name}={}", escaped(value)));
        let options: Vec<_> = self.options.clone().into_iter().chain(added).collect();
        Self { options: (!options.is_empty()).then(|| options.join(" ")), ..self.clone() }
    }

    /// Which of the hosts will do.
    #[must_use]
    pub fn session_attributes(&self) -> SessionAttributes {
        self.session
    }

    /// The password for one of the hosts.
    pub(super) fn password(&self, address: &Address) -> Option<String> {
        let login = passfile::Login { address, database: &self.database, user: &self.user };
        self.password.clone().or_else(|| passfile::password(&self.password_file, login))
    }

    /// Command-line options for the server's session (`-c name=value`).
    pub(super) fn options(&self) -> Option<&str> {
        self.options.as_deref()
    }

    /// How the server may have it proven who logs in.
    pub(super) fn methods(&self) -> &AllowedMethods {
        &self.methods
    }

    pub(super) fn tls(&self) -> &TlsClient {
        &self.tls
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

fn some(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
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
        assert_eq!(dsn.addresses(), [Address::Tcp { host: "db.example".to_owned(), port: 6543 }]);
        assert_eq!((dsn.user(), dsn.database(), dsn.password.as_deref()), ("bob", "shop", Some("s@cret")));
        assert_eq!(dsn.application_name(), "a b");
        assert_eq!(dsn.connect_timeout(), Duration::from_secs(3));
    }

    #[test]
    fn a_role_may_hold_an_at_sign() {
        assert_eq!(parse("postgresql://h:1/d?user=me@tenant").unwrap().user(), "me@tenant");
    }

    #[test]
    fn defaults_and_environment() {
        let environment = |name: &str| matches!(name, "PGUSER" | "PGPASSWORD").then(|| format!("from-{name}"));
        let dsn = Dsn::parse("postgres://db", environment).unwrap();
        assert_eq!((dsn.user(), dsn.database()), ("from-PGUSER", "from-PGUSER"));
        assert_eq!(dsn.password.as_deref(), Some("from-PGPASSWORD"));
        assert_eq!(dsn.addresses()[0].to_string(), "db:5432");
    }

    #[test]
    fn parameters_override_what_stands_before_them() {
        let dsn = parse("postgresql://u:p@h/d?user=v&password=q&dbname=e&options=-c%20jit%3Doff").unwrap();
        assert_eq!((dsn.user(), dsn.database(), dsn.password.as_deref()), ("v", "e", Some("q")));
        assert_eq!(dsn.options(), Some("-c jit=off"));
        assert_eq!(
            parse("postgresql:///d?user=v&host=/run/pg").unwrap().addresses()[0].to_string(),
            "/run/pg/.s.PGSQL.5432"
        );
    }

    #[test]
    fn settings_are_added_to_the_options_with_their_blanks_escaped() {
        let settings = |pairs: &[(&str, &str)]| pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
        let dsn = parse("postgresql://u@h/d?options=-c%20jit%3Doff").unwrap();
        assert_eq!(dsn.with_settings(&settings(&[])).options(), Some("-c jit=off"));
        let both = dsn.with_settings(&settings(&[("work_mem", "7MB"), ("search_path", r"a, b\c")]));
        assert_eq!(both.options(), Some(r"-c jit=off -c search_path=a,\ b\\c -c work_mem=7MB"));
        assert_eq!(parse("postgresql://u@h/d").unwrap().with_settings(&settings(&[])).options(), None);
    }

    #[test]
    fn several_hosts_can_be_taken_apart() {
        let dsn = parse("postgresql://u@a:1,b:2/d?target_session_attrs=read-write").unwrap();
        let parts = dsn.each_host();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[1].addresses(), [Address::Tcp { host: "b".to_owned(), port: 2 }]);
        assert_eq!(parts[1].session_attributes(), SessionAttributes::ReadWrite);
    }

    #[test]
    fn sslmode_and_its_files() {
        let mode = |query: &str| parse(&format!("postgresql://u@h/d?{query}")).map(|dsn| dsn.tls().settings().mode);
        assert_eq!(mode("").unwrap(), SslMode::Prefer);
        assert_eq!(mode("sslmode=verify-ca&sslrootcert=/x").unwrap(), SslMode::VerifyCa);
        assert_eq!(mode("sslrootcert=system").unwrap(), SslMode::VerifyFull);
        let said = |name: &str| (name == "PGSSLMODE").then(|| "require".to_owned());
        let mode = |url: &str| Dsn::parse(url, said).unwrap().tls().settings().mode;
        assert_eq!(mode("postgresql://u@h/d"), SslMode::Require);
        assert_eq!(mode("postgresql://u@h/d?sslmode=disable"), SslMode::Disable);
        let home = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        let dsn = Dsn::parse("postgresql://u@h/d", home).unwrap();
        let expected = RootCertificates::Default(Some(PathBuf::from("/home/u/.postgresql/root.crt")));
        assert_eq!(dsn.tls().settings().roots, expected);
    }

    #[test]
    fn a_variable_that_asks_for_safety_is_followed_or_refused() {
        let parse = |name: &'static str, value: &str| {
            let said = |variable: &str| (variable == name).then(|| value.to_owned());
            Dsn::parse("postgresql://u@h/d", said).map_err(|error| error.0)
        };
        let methods = parse("PGREQUIREAUTH", "scram-sha-256").unwrap();
        assert!(methods.methods().allow(Method::ScramSha256) && !methods.methods().allow(Method::None));
        let bound = parse("PGCHANNELBINDING", "require").unwrap();
        assert_eq!(bound.tls().settings().channel_binding, ChannelBinding::Require);
        assert!(parse("PGSSLNEGOTIATION", "direct").unwrap_err().contains("sslmode=require"));
        for (name, value) in [
            ("PGSERVICE", "bench"),
            ("PGREQUIREPEER", "postgres"),
            ("PGSSLCRL", "/x"),
            ("PGSSLCRLDIR", "/x"),
            ("PGSSLCERTMODE", "require"),
            ("PGSSLMINPROTOCOLVERSION", "TLSv1.3"),
            ("PGGSSENCMODE", "require"),
        ] {
            assert!(parse(name, value).unwrap_err().starts_with(name), "{name}");
            assert!(parse(name, "").is_ok(), "{name}");
        }
        assert!(parse("PGSSLMINPROTOCOLVERSION", "TLSv1.2").is_ok());
        assert!(parse("PGGSSENCMODE", "disable").is_ok());
    }

    #[test]
    fn bad_urls_say_what_is_wrong() {
        for (url, expected) in [
            ("mysql://u@h/d", "postgresql://"),
            ("postgresql://h/d", "no user"),
            ("postgresql://u@h:0/d", "port"),
            ("postgresql://u@h:x/d", "port"),
            ("postgresql://u:%zz@h/d", "% escape"),
            ("postgresql://u@h/d?sslmode=on", "verify-full"),
            ("postgresql://u@h/d?sslrootcert=system&sslmode=require", "verify-full"),
            ("postgresql://u@h/d?sslcert=/x", "sslkey"),
            ("postgresql://u@h/d?channel_binding=yes", "require"),
            ("postgresql://u@h/d?require_auth=scram", "scram-sha-256"),
            ("postgresql://u@h/d?require_auth=md5,!none", "not both"),
            ("postgresql://u@h/d?sslnegotiation=direct", "sslmode=require"),
            ("postgresql://u@h/d?sslnegotiation=direct&sslmode=prefer", "sslmode=require"),
            ("postgresql://u@h/d?target_session_attrs=prefer-standby", "read-write"),
            ("postgresql://u@h/d?load_balance_hosts=random", "in the given order"),
            ("postgresql://u@h/d?passfile=/x", "password file /x"),
            ("postgresql://u@h/d?service=x", "in the DSN"),
            ("postgresql://u@h/d?conect_timeout=3", "conect_timeout"),
            ("postgresql://u@h/d?connect_timeout=0", "connect_timeout"),
            ("postgresql://u@[::1/d", "]"),
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains(expected), "{url}: {message}");
        }
    }

    #[test]
    fn no_part_of_a_password_is_shown_where_the_url_is_wrong() {
        for url in [
            "postgresql://u:hunt?er2@127.0.0.1:1/d",
            "postgresql://u:hunt/er2@h/d",
            "postgresql://u:1/hunt@h:1/d",
            "postgresql://u:hunt/er2@h/d?sslmode=er2",
            "postgresql://u:hunt?er2=x@h",
            "postgresql://u:hunt?sslmode=er2@h",
            "postgresql://u:hunt",
            "postgresql://u:hunt:er2",
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(!message.contains("hunt") && !message.contains("er2"), "{url}: {message}");
            assert_eq!(message.contains("%2F"), url.contains('@'), "{url}: {message}");
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
    }
}
