//! TLS by rustls: a stream like any other, for blocking and for non-blocking sockets.

mod certificate;
#[cfg(test)]
#[allow(dead_code, reason = "tests with a real server use the rest")]
#[path = "../../../../tests/support/certificates.rs"]
mod certificates;
mod verify;

use super::dsn::{Negotiation, RootCertificates, SslMode, TlsSettings};
use crate::target::TargetError;
use certificate::Certificate;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use verify::{Roots, Verifier};

/// What is spoken over TLS that was not asked for first, in the words of RFC 7301; servers that have several protocols
/// behind one port tell them apart by it.
const DIRECT_PROTOCOL: &[u8] = b"postgresql";

/// Starts TLS sessions as a DSN wants them. Its files are read once, when the first session needs them.
#[derive(Clone)]
pub(in crate::target) struct TlsClient {
    settings: TlsSettings,
    config: Arc<OnceLock<Result<Arc<ClientConfig>, String>>>,
}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}

impl TlsClient {
    pub(in crate::target) fn new(settings: TlsSettings) -> Self {
        Self { settings, config: Arc::default() }
    }

    pub(in crate::target) fn settings(&self) -> &TlsSettings {
        &self.settings
    }

    /// Encrypts a connection to `host`, whose server has agreed to it.
    ///
    /// # Errors
    /// [`TargetError::Refused`] when one of the two does not trust the other or a file cannot be used,
    /// [`TargetError::Lost`] when the server has not finished the handshake in time (`until`).
    pub(in crate::target) fn start(
        &self,
        host: &str,
        stream: TcpStream,
        until: Option<Instant>,
    ) -> Result<TlsStream, TargetError> {
        let config = self.config.get_or_init(|| config(&self.settings).map(Arc::new));
        let config = config.as_ref().map_err(|why| TargetError::Refused(why.clone()))?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TargetError::Refused(format!("{host:?} is not a host name that TLS can verify")))?;
        let session = ClientConnection::new(Arc::clone(config), name)
            .map_err(|error| TargetError::Refused(format!("TLS with {host}: {error}")))?;
        let mut stream = TlsStream { stream, session, until };
        let is_direct = self.settings.negotiation == Negotiation::Direct;
        let hint = if is_direct { "; sslnegotiation=direct needs PostgreSQL 17 or later" } else { "" };
        stream.shake_hands().map_err(|error| handshake_error(host, &error, hint))?;
        if is_direct && stream.session.alpn_protocol() != Some(DIRECT_PROTOCOL) {
            return Err(TargetError::Refused(format!("TLS with {host}: the server does not speak PostgreSQL{hint}")));
        }
        Ok(stream)
    }
}

fn handshake_error(host: &str, error: &io::Error, hint: &str) -> TargetError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            TargetError::Lost(format!("TLS with {host}: the server did not answer within the timeout"))
        }
        _ => TargetError::Refused(format!("TLS with {host}: {error}{hint}")),
    }
}

fn config(settings: &TlsSettings) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = roots(settings)?;
    let verifier = Verifier::new(roots, settings.mode == SslMode::VerifyFull, &provider);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let default_client = settings.default_client.as_ref().filter(|(certificate, _)| certificate.exists());
    let mut config = match settings.client.as_ref().or(default_client) {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => builder
            .with_client_auth_cert(read_certificates(certificate)?, read_key(key)?)
            .map_err(|error| format!("{} with {}: {error}", certificate.display(), key.display()))?,
    };
    if settings.negotiation == Negotiation::Direct {
        config.alpn_protocols = vec![DIRECT_PROTOCOL.to_vec()];
    }
    Ok(config)
}

/// What the server's certificate must descend from; `None` when nobody is verified. Root certificates that are there
/// are used in every mode, as libpq does it.
fn roots(settings: &TlsSettings) -> Result<Option<Roots>, String> {
    let verify = matches!(settings.mode, SslMode::VerifyCa | SslMode::VerifyFull);
    match &settings.roots {
        RootCertificates::File(file) => Roots::new(read_certificates(file)?, &file.display().to_string()).map(Some),
        RootCertificates::System => {
            let found = rustls_native_certs::load_native_certs();
            Roots::new(found.certs, "the system's certificates").map(Some)
        }
        RootCertificates::Default(Some(file)) if file.exists() => {
            Roots::new(read_certificates(file)?, &file.display().to_string()).map(Some)
        }
        RootCertificates::Default(file) if verify => {
            let missing = file.as_ref().map_or_else(|| "~/.postgresql/root.crt".into(), |file| file.to_string_lossy());
            Err(format!("no root certificates: {missing} does not exist; set sslrootcert"))
        }
        RootCertificates::Default(_) => Ok(None),
    }
}

fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(format!("{} holds no certificate", file.display())),
        Err(error) => Err(unreadable(file, &error)),
    }
}

/// A private key is used only when no one else can read it, as libpq wants it.
fn read_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let metadata = file.metadata().map_err(|error| format!("{}: {error}", file.display()))?;
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & forbidden != 0 {
        return Err(format!("{} can be read by others; chmod 600 it", file.display()));
    }
    PrivateKeyDer::from_pem_file(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => format!("{}: {error}", file.display()),
        other => format!("{}: {other}", file.display()),
    }
}

/// An encrypted connection. Reading and writing behave like the socket below: on a non-blocking one they say
/// [`io::ErrorKind::WouldBlock`], and what was taken but not sent goes out with the next [`Write::flush`].
#[derive(Debug)]
pub(in crate::target) struct TlsStream {
    stream: TcpStream,
    session: ClientConnection,
    /// When waiting for more is over.
    until: Option<Instant>,
}

impl TlsStream {
    fn shake_hands(&mut self) -> io::Result<()> {
        // What a server says about a certificate it does not like arrives after the handshake of TLS 1.3: it is
        // then the answer to the first message.
        self.flush()?;
        while self.session.is_handshaking() {
            if self.receive_record_part()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.flush()?;
        }
        Ok(())
    }

    /// Waiting reads fail after this time, however recently a part of a record came; `None`: never.
    pub(in crate::target) fn read_until(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// Reads what is there of the next record, and answers what must be answered; 0 at the end of the stream.
    fn receive_record_part(&mut self) -> io::Result<usize> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let read = self.session.read_tls(&mut self.stream)?;
        let processed = self.session.process_new_packets();
        // An alert or a new key may have to go out, even when what came in was wrong.
        let written = self.flush();
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        tolerate_would_block(written)?;
        Ok(read)
    }

    /// The socket below, for its timeouts and for epoll.
    pub(in crate::target) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether encrypted bytes wait for [`Write::flush`].
    pub(in crate::target) fn wants_write(&self) -> bool {
        self.session.wants_write()
    }

    /// Protocol and cipher in OpenSSL's words, which are PostgreSQL's: `TLSv1.3 TLS_AES_256_GCM_SHA384`.
    pub(in crate::target) fn encryption(&self) -> String {
        let protocol = match self.session.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLS",
        };
        let suite = self.session.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        format!("{protocol} {}", suite.unwrap_or_default().replace("TLS13_", "TLS_"))
    }

    /// What binds a login to this channel (`tls-server-end-point`): a hash of the server's certificate; `None` when
    /// its signature names no hash function.
    pub(in crate::target) fn server_end_point(&self) -> Option<Vec<u8>> {
        let certificate = self.session.peer_certificates()?.first()?;
        Certificate::parse(certificate).ok()?.end_point_hash(certificate)
    }
}

impl Read for TlsStream {
    /// Fewer bytes than `into` has room for means that the session holds no more of them: the socket must be waited
    /// for.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Servers end a session without the farewell of TLS when they die: that is their end all the same.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            if self.receive_record_part()? == 0 {
                return Ok(0);
            }
        }
    }
}

impl Write for TlsStream {
    /// What the socket does not take at once waits encrypted for [`Write::flush`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let taken = self.session.writer().write(bytes)?;
        tolerate_would_block(self.flush())?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut self.stream)?;
        }
        Ok(())
    }
}

fn tolerate_would_block(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
