//! What a server says, as far as it is fit to be shown: its words go to terminals, into results and into reports.

/// No message says more that helps.
const MAX_QUOTED_BYTES: usize = 1024;
/// A SQLSTATE has 5 characters; the words of other servers are a little longer.
const MAX_STATE_BYTES: usize = 32;

/// A server's text: the first KiB of it, with control characters and marks that turn text around made visible.
pub(super) fn quoted(text: &[u8]) -> String {
    let whole = text.len() <= MAX_QUOTED_BYTES;
    let mut shown = String::with_capacity(text.len().min(MAX_QUOTED_BYTES));
    for character in String::from_utf8_lossy(&text[..text.len().min(MAX_QUOTED_BYTES)]).chars() {
        let hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if character.is_control() || hidden {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if !whole {
        shown.push_str(&format!("… ({} bytes)", text.len()));
    }
    shown
}

/// A server's word for an error, under which errors are counted; `invalid` for what is none.
pub(super) fn state(text: &[u8]) -> String {
    let is_of_a_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if text.is_empty() || text.len() > MAX_STATE_BYTES || !text.iter().all(is_of_a_word) {
        return "invalid".to_owned();
    }
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_and_not_obeyed() {
        assert_eq!(quoted("relation \"größe\" fehlt".as_bytes()), "relation \"größe\" fehlt");
        assert_eq!(quoted(b"\x1b[2Jgone\r\n"), "\\u{1b}[2Jgone\\r\\n");
        assert_eq!(quoted("a\u{202e}b".as_bytes()), "a\\u{202e}b");
        let long = quoted(&[b'x'; 128 * 1024]);
        assert_eq!((long.len(), long.ends_with("x… (131072 bytes)")), (MAX_QUOTED_BYTES + 18, true));
    }

    #[test]
    fn a_word_is_a_word() {
        assert_eq!((state(b"40001"), state(b"WRONGTYPE")), ("40001".to_owned(), "WRONGTYPE".to_owned()));
        for none in [&b""[..], b"a b", b"\x1b[0m", &[b'E'; 33]] {
            assert_eq!(state(none), "invalid");
        }
    }
}
