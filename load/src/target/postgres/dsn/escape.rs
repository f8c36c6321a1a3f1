//! Percent-encoding, and URLs without their passwords.

use super::error::DsnError;

/// Undoes percent-encoding of one part of a URL.
pub(in crate::target) fn unescape(text: &str, part: &str) -> Result<String, DsnError> {
    // The text itself is not shown: it may be the password.
    let bad = || DsnError(format!("the DSN's {part} has a bad % escape (write % itself as %25)"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, tail) = rest.split_first_chunk::<2>().ok_or_else(bad)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16).ok_or_else(bad);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

/// What is wrong with a URL, without any of its text if a password may have been taken for something else: `/` and `?`
/// end the part with the password, so an `@` after them may be the end of one that holds them.
pub(in crate::target) fn without_secrets(url: &str, wrong: String) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.find(['/', '?']) {
        Some(end) if rest[end..].contains('@') => "an @ follows the first / or ? of the address: write / and ? in a \
                                                   password as %2F and %3F, or an @ that ends no password as %40"
            .to_owned(),
        _ => wrong,
    }
}

/// The URL with `***` for its passwords. Works on any text, so that a bad URL can be shown too.
#[must_use]
pub fn redact(url: &str) -> String {
    redact_parameter(&redact_userinfo(url))
}

fn redact_userinfo(url: &str) -> String {
    let authority_start = url.find("://").map_or(0, |at| at + 3);
    let authority_end = url[authority_start..].find(['/', '?']).map_or(url.len(), |at| authority_start + at);
    // An unescaped / or ? in the password would cut the authority short: look for the last @ of the whole text.
    let end = url.rfind('@').filter(|&at| at >= authority_start).unwrap_or(authority_end);
    match url[authority_start..end].find(':') {
        Some(colon) if url[end..].starts_with('@') => {
            format!("{}:***{}", &url[..authority_start + colon], &url[end..])
        }
        _ => url.to_owned(),
    }
}

/// `password=` may stand among the parameters too, and so may `sslpassword=`.
fn redact_parameter(url: &str) -> String {
    let Some((before, query)) = url.split_once('?') else { return url.to_owned() };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if name.ends_with("password") => format!("{name}=***"),
        _ => pair.to_owned(),
    };
    let query: Vec<_> = query.split('&').map(hide).collect();
    format!("{before}?{}", query.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_wherever_they_stand() {
        for (url, shown) in [
            ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
            ("nonsense", "nonsense"),
            ("postgresql://u:a@h:1,g:2/d", "postgresql://u:***@h:1,g:2/d"),
            ("postgresql://u@h/d?a=b&password=x%20y&c=d", "postgresql://u@h/d?a=b&password=***&c=d"),
            ("postgresql://h:1,g:2/d?user=u", "postgresql://h:1,g:2/d?user=u"),
        ] {
            assert_eq!(redact(url), shown);
        }
        assert!(!redact("postgresql://u:hun/ter@h/d").contains("ter"));
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape("a%40b%2Fc", "host").unwrap(), "a@b/c");
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert!(unescape(bad, "host").is_err(), "{bad}");
        }
    }
}
