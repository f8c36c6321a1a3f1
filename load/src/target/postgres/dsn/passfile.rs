//! libpq's password file: lines of `host:port:database:user:password`, of which the first that fits counts.

use super::Address;
use super::error::DsnError;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a login needs a password for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) address: &'a Address,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// The text of a password file. One that does not exist holds nothing, unless it was named.
///
/// # Errors
/// [`DsnError`] when it cannot be read, or when others can read it.
pub(super) fn read(file: &Path, is_named: bool) -> Result<String, DsnError> {
    let failed = |error: std::io::Error| DsnError(format!("the password file {}: {error}", file.display()));
    let metadata = match file.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound && !is_named => return Ok(String::new()),
        outcome => outcome.map_err(failed)?,
    };
    if metadata.is_file() && metadata.mode() & 0o077 != 0 {
        return Err(DsnError(format!("the password file {} can be read by others; chmod 600 it", file.display())));
    }
    fs::read_to_string(file).map_err(failed)
}

/// The password of the first line that fits.
pub(super) fn password(text: &str, login: Login) -> Option<String> {
    let (host, port) = match login.address {
        Address::Tcp { host, port } => (host.as_str(), port.to_string()),
        Address::Unix(path) => ("localhost", path.extension()?.to_str()?.to_owned()),
    };
    let wanted = [host, &port, login.database, login.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line).into_iter();
        let fits = wanted.iter().all(|part| fields.next().is_some_and(|field| field.fits(part)));
        if fits { fields.next().map(|field| field.text) } else { None }
    })
}

#[derive(Default)]
struct Field {
    text: String,
    has_escape: bool,
}

impl Field {
    fn fits(&self, part: &str) -> bool {
        (self.text == "*" && !self.has_escape) || self.text == part
    }
}

/// The parts of a line; `\:` and `\\` are a colon and a backslash.
fn fields(line: &str) -> Vec<Field> {
    let (mut fields, mut field, mut rest) = (Vec::new(), Field::default(), line.chars());
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => {
                field.text.extend(rest.next());
                field.has_escape = true;
            }
            ':' => fields.push(std::mem::take(&mut field)),
            letter => field.text.push(letter),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn of(text: &str, address: &Address) -> Option<String> {
        password(text, Login { address, database: "shop", user: "me" })
    }

    #[test]
    fn the_first_line_that_fits_counts_as_in_libpq() {
        let tcp = Address::Tcp { host: "db.example".to_owned(), port: 6543 };
        for (text, expected) in [
            ("db.example:6543:shop:me:secret", Some("secret")),
            ("*:*:*:me:secret\n", Some("secret")),
            ("# db.example:6543:shop:me:no\n*:*:*:*:any\r\n", Some("any")),
            ("db.example:5432:shop:me:no\ndb.example:*:*:*:yes", Some("yes")),
            (r"*:*:*:me:with\:colon\\", Some(r"with:colon\")),
            ("*:*:*:me:first\n*:*:*:me:second", Some("first")),
            (r"\*:*:*:me:no", None),
            ("*:*:*:you:no", None),
            ("*:*:*:me", None),
            ("", None),
        ] {
            assert_eq!(of(text, &tcp).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_socket_is_localhost_with_its_port() {
        let socket = Address::Unix("/run/pg/.s.PGSQL.5433".into());
        assert_eq!(of("localhost:5433:*:*:yes", &socket).as_deref(), Some("yes"));
        assert_eq!(of("/run/pg:5433:*:*:no", &socket), None);
    }

    #[test]
    fn a_file_that_others_can_read_or_that_was_named_and_is_missing_is_refused() {
        let folder = std::env::temp_dir().join(format!("nephoscope-passfile-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("pgpass");
        assert_eq!(read(&file, false).unwrap(), "");
        assert!(read(&file, true).unwrap_err().0.contains("No such file"));
        fs::write(&file, "*:*:*:*:x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read(&file, false).unwrap_err().0.contains("chmod 600"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&file, false).unwrap(), "*:*:*:*:x");
        fs::remove_dir_all(&folder).unwrap();
    }
}
