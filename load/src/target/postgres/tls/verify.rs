//! Verifies the server's certificate as libpq's modes demand: not at all, against the root certificates, or for the
//! host.

use super::certificate::Certificate;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::time::Duration;

/// Certificates that we trust.
#[derive(Debug)]
pub(super) struct Roots {
    store: RootCertStore,
    certificates: Vec<CertificateDer<'static>>,
}

impl Roots {
    /// All that can be used of `certificates`.
    ///
    /// # Errors
    /// One sentence when that is none of them; `origin` names them.
    pub(super) fn new(certificates: Vec<CertificateDer<'static>>, origin: &str) -> Result<Self, String> {
        let mut store = RootCertStore::empty();
        let (added, _) = store.add_parsable_certificates(certificates.iter().cloned());
        if added == 0 {
            return Err(format!("{origin}: no usable root certificate"));
        }
        Ok(Self { store, certificates })
    }

    /// Whether the certificate is one of the roots itself: PostgreSQL's manual begins with such a server.
    fn contain(&self, certificate: &CertificateDer<'_>) -> bool {
        self.certificates.iter().any(|root| root == certificate)
    }
}

/// Decides whether the server's certificate will do. Its signature of the handshake is verified in any case.
#[derive(Debug)]
pub(super) struct Verifier {
    roots: Option<Roots>,
    by_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(roots: Option<Roots>, by_name: bool, provider: &CryptoProvider) -> Self {
        Self { roots, by_name, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let certificate = Certificate::parse(end_entity).map_err(Error::General)?;
        if !roots.contain(end_entity) {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &roots.store, intermediates, now, algorithms)?;
        } else if !certificate.is_valid_at(Duration::from_secs(now.as_secs())) {
            return Err(CertificateError::Expired.into());
        }
        let host = server_name.to_str();
        let names = certificate.names();
        if self.by_name && !names.include(&host) {
            return Err(Error::General(format!("the server's certificate is for {}, not for {host}", names.list())));
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
