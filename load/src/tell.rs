//! Messages for people, on stderr. A closed stderr is not an error.

use std::io::{self, IsTerminal, Write};

/// One line.
pub fn say(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// How an action that failed ended.
pub fn complain(failure: impl std::fmt::Display) {
    say(format_args!("nephoscope-load: {failure}"));
}

/// A step, for people who watch.
pub fn progress(text: &str) {
    if io::stderr().is_terminal() {
        say(text);
    }
}
