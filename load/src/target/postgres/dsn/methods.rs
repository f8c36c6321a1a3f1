//! The ways of logging in that a user allows: libpq's `require_auth`.

use super::error::DsnError;
use super::settings::choose;
use std::collections::BTreeSet;

/// How a server satisfies itself of who its client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::target::postgres) enum Method {
    Password,
    Md5,
    Gss,
    Sspi,
    ScramSha256,
    Oauth,
    /// It asks for nothing: it trusts the client, or its certificate.
    None,
}

impl Method {
    pub(in crate::target::postgres) const ALL: [(&str, Self); 7] = [
        ("password", Self::Password),
        ("md5", Self::Md5),
        ("gss", Self::Gss),
        ("sspi", Self::Sspi),
        ("scram-sha-256", Self::ScramSha256),
        ("oauth", Self::Oauth),
        ("none", Self::None),
    ];
}

/// The methods that may be used, and how that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::target::postgres) struct AllowedMethods {
    methods: BTreeSet<Method>,
    written: String,
}

impl Default for AllowedMethods {
    /// All of them.
    fn default() -> Self {
        Self { methods: Method::ALL.map(|(_, method)| method).into(), written: String::new() }
    }
}

impl AllowedMethods {
    /// Parses `a,b`, which allows nothing else, or `!a,!b`, which allows everything else. As libpq has it, an empty
    /// text allows everything.
    ///
    /// # Errors
    /// [`DsnError`] for an unknown or a repeated method, and for a list of both kinds.
    pub(super) fn parse(written: String) -> Result<Self, DsnError> {
        if written.is_empty() {
            return Ok(Self::default());
        }
        let forbids = written.starts_with('!');
        let mut listed = BTreeSet::new();
        for part in written.split(',') {
            let name = part.strip_prefix('!').unwrap_or(part);
            if part.starts_with('!') != forbids {
                let both = "either lists what is allowed (a,b) or what is not (!a,!b), not both";
                return Err(DsnError(format!("require_auth {both}: {written:?}")));
            }
            let method = choose("require_auth", name, &Method::ALL)?;
            if !listed.insert(method) {
                return Err(DsnError(format!("require_auth has {name} more than once: {written:?}")));
            }
        }
        let mut methods = listed;
        if forbids {
            methods = Self::default().methods.difference(&methods).copied().collect();
        }
        Ok(Self { methods, written })
    }

    pub(in crate::target::postgres) fn allow(&self, method: Method) -> bool {
        self.methods.contains(&method)
    }

    /// As it was written, for people.
    pub(in crate::target::postgres) fn written(&self) -> &str {
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_allow_what_libpq_allows() {
        use Method::{Gss, Md5, None, Oauth, Password, ScramSha256, Sspi};
        let every = [Password, Md5, Gss, Sspi, ScramSha256, Oauth, None];
        for (written, allowed) in [
            ("", &every[..]),
            ("scram-sha-256", &[ScramSha256]),
            ("none", &[None]),
            ("scram-sha-256,none", &[ScramSha256, None]),
            ("md5,password", &[Password, Md5]),
            ("!none", &every[..6]),
            ("!password,!md5", &[Gss, Sspi, ScramSha256, Oauth, None]),
            ("!password,!none", &[Md5, Gss, Sspi, ScramSha256, Oauth]),
        ] {
            let methods = AllowedMethods::parse(written.to_owned()).unwrap();
            let kept: Vec<_> = every.into_iter().filter(|&method| methods.allow(method)).collect();
            assert_eq!(kept, allowed, "{written}");
        }
    }

    #[test]
    fn lists_that_libpq_refuses_are_refused() {
        for (written, expected) in [
            ("scram", "scram-sha-256"),
            ("md5,", "must be one of"),
            ("!", "must be one of"),
            ("!!md5", "must be one of"),
            ("md5, none", "must be one of"),
            ("MD5", "must be one of"),
            ("md5,md5", "more than once"),
            ("!md5,!md5", "more than once"),
            ("md5,!none", "not both"),
            ("!md5,none", "not both"),
        ] {
            let message = AllowedMethods::parse(written.to_owned()).unwrap_err().0;
            assert!(message.contains(expected), "{written}: {message}");
        }
    }
}
