//! What a URL may ask of a session, by libpq's names.

use super::error::DsnError;
use std::path::PathBuf;

/// How a session is encrypted, and what of the server is verified: libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// Never encrypted.
    Disable,
    /// Encrypted only when the server refuses a plain session.
    Allow,
    /// Encrypted when the server can; plain otherwise.
    Prefer,
    /// Encrypted or not at all. Nobody is verified, unless there are root certificates.
    Require,
    /// And the server's certificate must come from one of the root certificates.
    VerifyCa,
    /// And the certificate must be for the host we connect to.
    VerifyFull,
}

impl SslMode {
    pub(super) const ALL: [(&str, Self); 6] = [
        ("disable", Self::Disable),
        ("allow", Self::Allow),
        ("prefer", Self::Prefer),
        ("require", Self::Require),
        ("verify-ca", Self::VerifyCa),
        ("verify-full", Self::VerifyFull),
    ];
}

/// How TLS begins: libpq's `sslnegotiation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::target) enum Negotiation {
    /// The server is asked for it first.
    #[default]
    Postgres,
    /// At once, as in HTTPS: PostgreSQL 17 or later.
    Direct,
}

impl Negotiation {
    pub(super) const ALL: [(&str, Self); 2] = [("postgres", Self::Postgres), ("direct", Self::Direct)];
}

/// Whether a SCRAM login must prove that nobody sits between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// When the server can.
    #[default]
    Prefer,
    /// Or no login.
    Require,
}

impl ChannelBinding {
    pub(super) const ALL: [(&str, Self); 3] =
        [("disable", Self::Disable), ("prefer", Self::Prefer), ("require", Self::Require)];
}

/// Which of several servers will do: libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionAttributes {
    /// The first that answers.
    #[default]
    Any,
    /// One that takes writes by default.
    ReadWrite,
    /// One that does not.
    ReadOnly,
    /// One that is not in recovery.
    Primary,
    /// One that is.
    Standby,
}

impl SessionAttributes {
    pub(super) const ALL: [(&str, Self); 5] = [
        ("any", Self::Any),
        ("read-write", Self::ReadWrite),
        ("read-only", Self::ReadOnly),
        ("primary", Self::Primary),
        ("standby", Self::Standby),
    ];
}

/// Where the certificates come from that a server's certificate must descend from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::target) enum RootCertificates {
    /// A PEM file that was named.
    File(PathBuf),
    /// The operating system's own.
    System,
    /// `~/.postgresql/root.crt`, if it exists; `None` without a home.
    Default(Option<PathBuf>),
}

/// All that was said about encryption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::target) struct TlsSettings {
    pub(in crate::target) mode: SslMode,
    pub(in crate::target) negotiation: Negotiation,
    pub(in crate::target) roots: RootCertificates,
    /// The client's own certificate and key, if they were named.
    pub(in crate::target) client: Option<(PathBuf, PathBuf)>,
    /// Their default paths.
    pub(in crate::target) default_client: Option<(PathBuf, PathBuf)>,
    pub(in crate::target) channel_binding: ChannelBinding,
}

/// What a word stands for, of those that a parameter may have.
pub(in crate::target) fn choose<T: Copy>(name: &str, value: &str, all: &[(&str, T)]) -> Result<T, DsnError> {
    let found = all.iter().find(|(word, _)| *word == value).map(|(_, choice)| *choice);
    let words = || all.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| DsnError(format!("{name} must be one of {}, not {value:?}", words())))
}
