//! Certificates for tests, made by `openssl`: a crate that makes them would bring in others, with their advisories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Without it, openssl adds extensions that the system's configuration asks for.
const CONFIGURATION: &str = "[req]\ndistinguished_name = dn\n[dn]\n";

/// What a certificate is for.
pub enum Of<'a> {
    /// Its own root, which signs others or itself is a server's.
    Root,
    /// A server or client, signed by the root of this name.
    SignedBy(&'a str),
}

/// Writes `<name>.crt` and `<name>.key` into a folder, for these hosts; its common name is `name`. Valid from now on.
pub fn certificate(folder: &Path, name: &str, of: &Of, hosts: &[&str]) {
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    fs::write(file("cnf"), CONFIGURATION).expect("openssl's configuration");
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl.args(["-days", "3650", "-subj", &format!("/CN={name}"), "-config"]).arg(file("cnf"));
    openssl.arg("-keyout").arg(file("key")).arg("-out").arg(file("crt"));
    match of {
        Of::Root => openssl.args(["-addext", "basicConstraints=critical,CA:TRUE"]),
        Of::SignedBy(root) => {
            openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
            openssl.arg("-CA").arg(folder.join(format!("{root}.crt")));
            openssl.arg("-CAkey").arg(folder.join(format!("{root}.key")))
        }
    };
    if !hosts.is_empty() {
        let names: Vec<_> = hosts.iter().map(|host| format!("{}:{host}", kind(host))).collect();
        openssl.args(["-addext", &format!("subjectAltName={}", names.join(","))]);
    }
    let made = openssl.output().expect("openssl, which `make tools` installs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::remove_file(file("cnf")).expect("its configuration");
    for end in ["crt", "key"] {
        fs::set_permissions(file(end), fs::Permissions::from_mode(0o600)).expect("its mode");
    }
}

fn kind(host: &str) -> &'static str {
    if host.parse::<std::net::IpAddr>().is_ok() { "IP" } else { "DNS" }
}
