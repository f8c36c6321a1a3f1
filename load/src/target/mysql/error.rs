//! What a server refuses.

use super::packet::{Reader, damaged};
use crate::target::TargetError;
use crate::target::quoted::{quoted, state};

/// Errors after which the server hangs up: shutdown, and a session that was killed or idle for too long.
const FAREWELLS: [u16; 4] = [1053, 1079, 1927, 4031];
/// SQLSTATE of an error that has none of its own.
const GENERAL: &str = "HY000";

/// The error in the body of a packet.
///
/// An error of the general SQLSTATE is known by its number: 1205, a lock wait timeout, says more than HY000.
pub(super) fn server_error(body: &[u8]) -> TargetError {
    let mut reader = Reader(body.get(1..).unwrap_or(&[]));
    let Some(number) = reader.u16() else { return damaged("an error") };
    let mut sqlstate = GENERAL.to_owned();
    if reader.0.first() == Some(&b'#') {
        let marked = reader.take(6).unwrap_or(b"#");
        sqlstate = state(&marked[1..]);
    }
    let message = quoted(reader.0);
    if FAREWELLS.contains(&number) {
        return TargetError::Lost(format!("the server ended the session ({number}: {message})"));
    }
    // MySQL says 1040 before it knows what its client can read.
    if number == 1040 {
        "08004".clone_into(&mut sqlstate);
    }
    if sqlstate == GENERAL {
        sqlstate = number.to_string();
    }
    TargetError::Database { sqlstate, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_state_or_a_number_by_which_they_are_counted() {
        for (body, expected) in [
            (&b"\xFF\xBD\x04#40001Deadlock found"[..], "server error 40001: Deadlock found"),
            (b"\xFF\xB5\x04#HY000Lock wait timeout exceeded", "server error 1205: Lock wait timeout exceeded"),
            (b"\xFF\x10\x04Too many connections", "server error 08004: Too many connections"),
            (
                b"\xFF\x87\x07#70100Connection was killed",
                "no connection: the server ended the session (1927: Connection was killed)",
            ),
            (b"\xFF\x28\x04#42\x1b00\x1b[2J", "server error invalid: \\u{1b}[2J"),
            (b"\xFF\x28\x04#420", "server error invalid: #420"),
            (b"\xFF\x28", "protocol error: an error is damaged: client and server are out of sync"),
        ] {
            assert_eq!(server_error(body).to_string(), expected);
        }
    }
}
