//! What is sent: one or several commands, each answered once.

use crate::target::Request;

/// Header and end of a part.
const MAX_AROUND: usize = 23 + 2;

/// Commands in order. Reused, so that warm ones allocate nothing.
#[derive(Debug, Default)]
pub struct Commands {
    bytes: Vec<u8>,
    count: usize,
}

impl Commands {
    /// Begins a command of this many parts, its name included: they must follow by [`Commands::part`].
    pub fn command(&mut self, parts: usize) -> &mut Self {
        self.count += 1;
        self.header(b'*', parts);
        self
    }

    /// Appends a part.
    pub fn part(&mut self, part: &[u8]) -> &mut Self {
        self.bytes.reserve(MAX_AROUND + part.len());
        self.header(b'$', part.len());
        self.bytes.extend_from_slice(part);
        self.bytes.extend_from_slice(b"\r\n");
        self
    }

    /// Appends a whole command.
    pub fn all(&mut self, parts: &[&[u8]]) -> &mut Self {
        self.command(parts.len());
        parts.iter().for_each(|part| {
            self.part(part);
        });
        self
    }

    /// How many answers will come.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where further commands are appended.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Kind, digits, end of line. Short ones are of a length that the compiler knows: there are several in each
    /// command.
    fn header(&mut self, kind: u8, number: usize) {
        let digit = |place: usize| b'0' + (number / place % 10) as u8;
        match number {
            0..10 => self.bytes.extend_from_slice(&[kind, digit(1), b'\r', b'\n']),
            10..100 => self.bytes.extend_from_slice(&[kind, digit(10), digit(1), b'\r', b'\n']),
            100..1_000 => self.bytes.extend_from_slice(&[kind, digit(100), digit(10), digit(1), b'\r', b'\n']),
            1_000..10_000 => {
                let line = [kind, digit(1_000), digit(100), digit(10), digit(1), b'\r', b'\n'];
                self.bytes.extend_from_slice(&line);
            }
            _ => self.long_header(kind, number),
        }
    }

    fn long_header(&mut self, kind: u8, number: usize) {
        // Up to 20 digits: put together from behind, and appended at once.
        let mut line = [0; 23];
        let mut at = line.len() - 2;
        line[at..].copy_from_slice(b"\r\n");
        let mut rest = number;
        loop {
            at -= 1;
            line[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        at -= 1;
        line[at] = kind;
        self.bytes.extend_from_slice(&line[at..]);
    }
}

impl Request for Commands {
    fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_strings() {
        let mut commands = Commands::default();
        commands.all(&[b"SET", b"k", b"a\r\nb"]).all(&[b"PING"]);
        assert_eq!(commands.bytes(), b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n*1\r\n$4\r\nPING\r\n");
        assert_eq!(commands.count(), 2);
        commands.clear();
        assert_eq!((commands.bytes(), commands.count()), (&b""[..], 0));
        for length in [0, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 123_456] {
            commands.clear();
            commands.all(&[&vec![b'x'; length]]);
            assert!(commands.bytes().starts_with(format!("*1\r\n${length}\r\n").as_bytes()), "{length}");
            assert!(commands.bytes().ends_with(b"\r\n"));
        }
    }
}
