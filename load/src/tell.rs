//! What the program says to people, on stderr. Nobody has to listen: a closed stderr is no reason to fail.

use crate::engine::Known;
use crate::output::{Interval, Phase};
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

/// An interval, for people who watch.
pub fn interval(interval: &Interval, known: Known<'_>) {
    let phase = if interval.phase == Phase::Ramp { "ramp" } else { "measure" };
    let seconds = interval.end_s - interval.start_s;
    let errors: u64 = interval.errors.iter().map(|error| error.count).sum();
    progress(&format!(
        "{:6.0} s {phase}: {:.0} operations/s, slowest p99 of service {:.3} ms, {errors} errors and retries",
        interval.end_s,
        known.books.count as f64 / seconds.max(1e-9),
        known.books.service_p99_ns as f64 / 1e6,
    ));
}
