//! A PostgreSQL with TLS, from Debian's packages (the embedded one has none), and certificates for it.

use super::certificates::{Of, certificate};
use super::{Server, find_system_binaries};
use std::fs;
use std::path::PathBuf;

const RULES: &str = "\
local     all all            trust
hostssl   all only_encrypted all scram-sha-256
hostnossl all only_plain     all scram-sha-256
hostssl   all certified      all cert
host      all trusted        all trust
host      all old            all md5
hostnossl all only_encrypted all reject
hostssl   all only_plain     all reject
hostnossl all certified      all reject
host      all all            all scram-sha-256
";

const ROLES: &str = "\
CREATE ROLE only_encrypted LOGIN PASSWORD 's3cret-of-the-test';
CREATE ROLE only_plain LOGIN PASSWORD 's3cret-of-the-test';
CREATE ROLE certified LOGIN;
CREATE ROLE trusted LOGIN;
CREATE ROLE reader LOGIN PASSWORD 's3cret-of-the-test';
ALTER ROLE reader SET default_transaction_read_only = on;
SET password_encryption = 'md5';
CREATE ROLE old LOGIN PASSWORD 's3cret-of-the-test'";

/// A server whose certificate is for localhost and 127.0.0.1, and which listens on 127.0.0.2 too. Its folder also
/// holds `root.crt`, `certified.crt` and `.key`, and `other.crt`, the root of somebody else.
pub struct TlsServer {
    pub server: Server,
    pub folder: PathBuf,
}

impl TlsServer {
    /// Starts it, or says why the test is skipped; where `CI` is set, nothing is skipped.
    pub fn start() -> Option<Self> {
        let Some(binaries) = find_system_binaries() else {
            let why = "no PostgreSQL with TLS here: install Debian's package postgresql";
            assert!(std::env::var_os("CI").is_none(), "{why}");
            eprintln!("SKIPPED: {why}");
            return None;
        };
        let settings = ["ssl=on", "ssl_cert_file='server.crt'", "ssl_key_file='server.key'", "ssl_ca_file='root.crt'"];
        let mut folder = PathBuf::new();
        let server = Server::start(&binaries, &settings, |data| {
            folder = data.to_owned();
            certificate(data, "root", &Of::Root, &[]);
            certificate(data, "server", &Of::SignedBy("root"), &["localhost", "127.0.0.1"]);
            certificate(data, "certified", &Of::SignedBy("root"), &[]);
            certificate(data, "other", &Of::Root, &[]);
            certificate(data, "forged", &Of::SignedBy("other"), &[]);
            fs::write(data.join("pg_hba.conf"), RULES).expect("pg_hba.conf");
        });
        server.connect().query(ROLES).expect("the roles");
        Some(Self { server, folder })
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    pub fn url(&self, user: &str, host: &str, query: &str) -> String {
        format!("postgresql://{user}@{host}:{}/postgres?{query}", self.server.port)
    }
}
