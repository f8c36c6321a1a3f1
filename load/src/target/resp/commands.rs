//! What is sent: one or several commands, each answered once.

use crate::target::Request;

/// Commands in order. Reused, so that warm ones allocate nothing.
#[derive(Debug, Default)]
pub struct Commands {
    bytes: Vec<u8>,
    count: usize,
}

impl Commands {
    /// Begins a command of so many parts, its name included: they must follow by [`Commands::part`].
    pub fn command(&mut self, parts: usize) -> &mut Self {
        self.count += 1;
        self.header(b'*', parts);
        self
    }

    /// Appends a part.
    pub fn part(&mut self, part: &[u8]) -> &mut Self {
        self.header(b'$', part.len());
        self.bytes.reserve(part.len() + 2);
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

    fn header(&mut self, kind: u8, number: usize) {
        // Kind, up to 20 digits, end of line: put together from behind, and appended at once.
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
        commands.all(&[&[b'x'; 1_000]]);
        assert!(commands.bytes().starts_with(b"*1\r\n$1000\r\nxx"));
    }
}
