//! The parameters after the question mark of a URL. Unknown ones are refused, because ignoring one (a TLS
//! mode, a certificate) would change the meaning.

use super::error::DsnError;
use super::escape::unescape;
use super::methods::AllowedMethods;
use super::passfile;
use super::settings::{ChannelBinding, Negotiation, RootCertificates, SessionAttributes, SslMode, TlsSettings, choose};
use std::path::{Path, PathBuf};
use std::time::Duration;

const KNOWN: &str = "host, port, user, password, passfile, dbname, application_name, options, connect_timeout, sslmode, \
                     sslnegotiation, sslrootcert, sslcert, sslkey, channel_binding, require_auth, target_session_attrs";

/// What libpq knows and this program does not do, and what to do about it.
const NOT_DONE: [(&str, &str); 11] = [
    ("hostaddr", "give the address as the host"),
    ("service", "write its host, port, database and TLS parameters in the DSN, and unset PGSERVICE"),
    ("sslpassword", "use a key without a passphrase"),
    ("sslcrl", "revocation lists are not supported"),
    ("sslcrldir", "revocation lists are not supported"),
    ("sslcertmode", "give sslcert and sslkey, or none"),
    ("ssl_min_protocol_version", "TLS is always 1.2 or 1.3, the newer if it can be"),
    ("ssl_max_protocol_version", "TLS is always 1.2 or 1.3, the newer if it can be"),
    ("requirepeer", "protect the folder of the socket instead"),
    ("gssencmode", "GSSAPI is not supported; use sslmode for encryption"),
    ("load_balance_hosts", "hosts are always tried in the given order"),
];

/// Values of parameters that are not supported, which require nothing beyond what is always done.
const ALWAYS_SO: [(&str, &str); 6] = [
    ("gssencmode", "disable"),
    ("gssencmode", "prefer"),
    ("sslcertmode", "allow"),
    ("ssl_min_protocol_version", "TLSv1"),
    ("ssl_min_protocol_version", "TLSv1.1"),
    ("ssl_min_protocol_version", "TLSv1.2"),
];

/// libpq's environment variables that give a parameter that the URL does not. Some are listed to be refused: a user who
/// relies on one for security must not have it ignored.
const ENVIRONMENT: [(&str, &str); 16] = [
    ("PGSERVICE", "service"),
    ("PGPASSFILE", "passfile"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGREQUIREAUTH", "require_auth"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGREQUIREPEER", "requirepeer"),
    ("PGSSLCERTMODE", "sslcertmode"),
    ("PGSSLCRL", "sslcrl"),
    ("PGSSLCRLDIR", "sslcrldir"),
    ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
    ("PGGSSENCMODE", "gssencmode"),
];

/// Parameters as they were written.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    pub(super) host: Option<String>,
    pub(super) port: Option<String>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: Option<String>,
    pub(super) application_name: Option<String>,
    pub(super) options: Option<String>,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) session: SessionAttributes,
    pub(super) methods: AllowedMethods,
    passfile: Option<PathBuf>,
    sslmode: Option<SslMode>,
    sslnegotiation: Negotiation,
    sslrootcert: Option<String>,
    sslcert: Option<PathBuf>,
    sslkey: Option<PathBuf>,
    channel_binding: ChannelBinding,
}

impl Parameters {
    pub(super) fn parse(query: &str, environment: &impl Fn(&str) -> Option<String>) -> Result<Self, DsnError> {
        let mut parameters = Self::default();
        for (variable, name) in ENVIRONMENT {
            if let Some(value) = environment(variable).filter(|value| !value.is_empty()) {
                parameters.set(name, value).map_err(|DsnError(why)| DsnError(format!("{variable}: {why}")))?;
            }
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameters.set(name, unescape(value, name)?)?;
        }
        Ok(parameters)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), DsnError> {
        match name {
            "host" => self.host = Some(value),
            "port" => self.port = Some(value),
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "passfile" => self.passfile = Some(PathBuf::from(value)),
            "dbname" => self.database = Some(value),
            "application_name" => self.application_name = Some(value),
            "options" => self.options = Some(value),
            "connect_timeout" => self.connect_timeout = Some(seconds(&value)?),
            "target_session_attrs" => self.session = choose(name, &value, &SessionAttributes::ALL)?,
            "sslmode" => self.sslmode = Some(choose(name, &value, &SslMode::ALL)?),
            "sslnegotiation" => self.sslnegotiation = choose(name, &value, &Negotiation::ALL)?,
            "require_auth" => self.methods = AllowedMethods::parse(value)?,
            "sslrootcert" => self.sslrootcert = Some(value),
            "sslcert" => self.sslcert = Some(PathBuf::from(value)),
            "sslkey" => self.sslkey = Some(PathBuf::from(value)),
            "channel_binding" => self.channel_binding = choose(name, &value, &ChannelBinding::ALL)?,
            _ if ALWAYS_SO.contains(&(name, &value)) => {}
            _ => return Err(refusal(name)),
        }
        Ok(())
    }

    /// The text of the file with passwords: the one that was named, else libpq's in the user's home.
    pub(super) fn password_file(&self, home: Option<&Path>) -> Result<String, DsnError> {
        match (&self.passfile, home) {
            (Some(file), _) => passfile::read(file, true),
            (None, Some(home)) => passfile::read(&home.join(".pgpass"), false),
            (None, None) => Ok(String::new()),
        }
    }

    /// What was said about encryption. `home` has libpq's default files in its folder `.postgresql`.
    pub(super) fn tls(&self, home: Option<PathBuf>) -> Result<TlsSettings, DsnError> {
        let folder = home.map(|home| home.join(".postgresql"));
        let roots = match self.sslrootcert.as_deref() {
            Some("system") => RootCertificates::System,
            Some(file) => RootCertificates::File(PathBuf::from(file)),
            None => RootCertificates::Default(folder.as_ref().map(|folder| folder.join("root.crt"))),
        };
        // Any certificate authority of the system signs for anybody: without the host's name that proves nothing.
        let system = roots == RootCertificates::System;
        let mode = self.sslmode.unwrap_or(if system { SslMode::VerifyFull } else { SslMode::Prefer });
        if system && mode != SslMode::VerifyFull {
            return Err(DsnError("sslrootcert=system needs sslmode=verify-full".to_owned()));
        }
        // The other modes would go on without TLS, which a server that expects it at once does not understand.
        let is_weak = matches!(mode, SslMode::Disable | SslMode::Allow | SslMode::Prefer);
        if self.sslnegotiation == Negotiation::Direct && is_weak {
            return Err(DsnError("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full".to_owned()));
        }
        if self.sslcert.is_some() != self.sslkey.is_some() {
            return Err(DsnError("sslcert and sslkey go together: give both or none".to_owned()));
        }
        let client = self.sslcert.clone().zip(self.sslkey.clone());
        let default_client = folder.map(|folder| (folder.join("postgresql.crt"), folder.join("postgresql.key")));
        let (negotiation, channel_binding) = (self.sslnegotiation, self.channel_binding);
        Ok(TlsSettings { mode, negotiation, roots, client, default_client, channel_binding })
    }
}

fn seconds(value: &str) -> Result<Duration, DsnError> {
    let seconds = value.parse().ok().filter(|&seconds: &u64| seconds > 0);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| DsnError(format!("connect_timeout must be whole seconds above 0, not {value:?}")))
}

fn refusal(name: &str) -> DsnError {
    match NOT_DONE.iter().find(|(known, _)| *known == name) {
        Some((_, hint)) => DsnError(format!("the DSN's parameter {name:?} is not supported: {hint}")),
        None => DsnError(format!("unknown parameter {name:?} in the DSN; known are {KNOWN}")),
    }
}
