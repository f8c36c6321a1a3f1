//! What of a certificate concerns libpq's rules: whom it names, when it is valid, how it is hashed.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use x509_cert::der::Decode;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// Whom a certificate is for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) dns: Vec<String>,
    pub(super) ips: Vec<IpAddr>,
    pub(super) common: Option<String>,
}

impl Names {
    /// Whether `host` is one of them, by libpq's rules: the alternative names first; the common name only when no
    /// alternative name is of the same kind as `host`.
    pub(super) fn include(&self, host: &str) -> bool {
        let dns = || self.dns.iter().any(|name| matches(name, host));
        let common = || self.common.as_deref().is_some_and(|name| matches(name, host));
        match host.parse::<IpAddr>() {
            Ok(ip) => self.ips.contains(&ip) || dns() || (self.ips.is_empty() && self.dns.is_empty() && common()),
            Err(_) => dns() || (self.dns.is_empty() && common()),
        }
    }

    /// For people.
    pub(super) fn list(&self) -> String {
        let ips = self.ips.iter().map(ToString::to_string);
        let all: Vec<_> = self.dns.iter().cloned().chain(ips).chain(self.common.clone()).collect();
        if all.is_empty() { "nobody".to_owned() } else { all.join(", ") }
    }
}

/// A name of a certificate, perhaps with a `*` for its first label, against a host.
fn matches(name: &str, host: &str) -> bool {
    if name.eq_ignore_ascii_case(host) {
        return true;
    }
    let Some(suffix) = name.strip_prefix('*') else { return false };
    let is_ip = host.parse::<IpAddr>().is_ok();
    let Some(dot) = host.find('.').filter(|&dot| dot > 0) else { return false };
    !is_ip && suffix.starts_with('.') && suffix.len() > 1 && host[dot..].eq_ignore_ascii_case(suffix)
}

/// A parsed certificate.
pub(super) struct Certificate(x509_cert::Certificate);

impl Certificate {
    pub(super) fn parse(der: &[u8]) -> Result<Self, String> {
        x509_cert::Certificate::from_der(der).map(Self).map_err(|error| format!("an invalid certificate: {error}"))
    }

    pub(super) fn names(&self) -> Names {
        let mut names = Names { common: self.common_name(), ..Names::default() };
        let Ok(Some((_, alternatives))) = self.0.tbs_certificate.get::<SubjectAltName>() else { return names };
        for name in alternatives.0 {
            match name {
                GeneralName::DnsName(name) => names.dns.push(name.as_str().to_owned()),
                GeneralName::IpAddress(bytes) => names.ips.extend(ip(bytes.as_bytes())),
                _ => {}
            }
        }
        names
    }

    fn common_name(&self) -> Option<String> {
        let sets = self.0.tbs_certificate.subject.0.iter().rev();
        let attribute = sets.flat_map(|set| set.0.iter()).find(|attribute| attribute.oid == COMMON_NAME)?;
        Some(String::from_utf8_lossy(attribute.value.value()).into_owned())
    }

    /// Whether it is valid this long after the epoch.
    pub(super) fn is_valid_at(&self, now: Duration) -> bool {
        let validity = &self.0.tbs_certificate.validity;
        validity.not_before.to_unix_duration() <= now && now <= validity.not_after.to_unix_duration()
    }

    /// RFC 5929, section 4.1: the hash of the whole certificate by the hash function of its signature, SHA-256 in
    /// place of MD5 and SHA-1; `None` when the signature names no such function (Ed25519, RSA-PSS).
    pub(super) fn end_point_hash(&self, der: &[u8]) -> Option<Vec<u8>> {
        let hash = match self.0.signature_algorithm.oid.to_string().as_str() {
            // RSA and ECDSA with MD5, SHA-1 or SHA-256.
            "1.2.840.113549.1.1.4"
            | "1.2.840.113549.1.1.5"
            | "1.2.840.113549.1.1.11"
            | "1.2.840.10045.4.1"
            | "1.2.840.10045.4.3.2" => Sha256::digest(der).to_vec(),
            "1.2.840.113549.1.1.14" | "1.2.840.10045.4.3.1" => Sha224::digest(der).to_vec(),
            "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Sha384::digest(der).to_vec(),
            "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Sha512::digest(der).to_vec(),
            _ => return None,
        };
        Some(hash)
    }
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::certificates;
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use std::time::SystemTime;

    fn names(dns: &[&str], ips: &[&str], common: Option<&str>) -> Names {
        Names {
            dns: dns.iter().map(ToString::to_string).collect(),
            ips: ips.iter().map(|ip| ip.parse().unwrap()).collect(),
            common: common.map(str::to_owned),
        }
    }

    #[test]
    fn hosts_against_names_as_libpq_compares_them() {
        for (dns, ips, common, host, expected) in [
            (&["db.example"][..], &[][..], None, "DB.example", true),
            (&["db.example"], &[], None, "other.example", false),
            (&["*.example"], &[], None, "db.example", true),
            (&["*.example"], &[], None, "a.db.example", false),
            (&["*.example"], &[], None, "example", false),
            (&["*"], &[], None, "db", false),
            (&["*b.example"], &[], None, "db.example", false),
            (&[], &[], Some("db"), "db", true),
            (&["a"], &[], Some("db"), "db", false),
            (&[], &["10.0.0.1"], Some("db"), "db", true),
            (&[], &["10.0.0.1"], None, "10.0.0.1", true),
            (&[], &["::1"], None, "::1", true),
            (&["10.0.0.1"], &[], None, "10.0.0.1", true),
            (&[], &[], Some("10.0.0.1"), "10.0.0.1", true),
            (&[], &["10.0.0.2"], Some("10.0.0.1"), "10.0.0.1", false),
            (&["*.0.0.1"], &[], None, "10.0.0.1", false),
        ] {
            assert_eq!(names(dns, ips, common).include(host), expected, "{dns:?} {ips:?} {common:?} {host}");
        }
    }

    #[test]
    fn a_certificate_tells_its_names_and_validity() {
        let folder = std::env::temp_dir().join(format!("nlt-certificate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        certificates::certificate(&folder, "db", &certificates::Of::Root, &["db.example", "127.0.0.1"]);
        let der = CertificateDer::from_pem_file(folder.join("db.crt")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let certificate = Certificate::parse(&der).unwrap();
        let names = certificate.names();
        assert_eq!((names.dns, names.ips), (vec!["db.example".to_owned()], vec![IpAddr::from([127, 0, 0, 1])]));
        assert!(certificate.is_valid_at(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()));
        assert!(!certificate.is_valid_at(Duration::from_secs(100)));
        assert_eq!(certificate.end_point_hash(&der), Some(Sha256::digest(&der).to_vec()));
        assert!(Certificate::parse(b"nonsense").is_err());
    }
}
