//! Bytes from a server, read where they lie.

use super::TargetError;
use super::socket::Socket;
use std::ops::Range;

const INITIAL_BYTES: usize = 8 * 1024;
/// Answers that come together are read together, up to this much: each read is a call of the kernel.
const MAX_READ_BYTES: usize = 64 * 1024;
/// No exchange of a benchmark is answered with more: a server that goes on has lost its way, or means ill.
const MAX_BYTES: usize = 128 * 1024 * 1024;

/// What a read that does not wait came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// Nothing was there.
    Nothing,
    /// Everything that was there.
    All,
    /// Something, and more may be there: the socket need not become readable again for it.
    PerhapsMore,
}

/// A growing buffer. Between two calls of [`Inbox::restart`] nothing moves, so that ranges stay valid.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    filled: usize,
    parsed: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { bytes: vec![0; INITIAL_BYTES], filled: 0, parsed: 0 }
    }
}

impl Inbox {
    #[cfg(test)]
    pub(super) fn holding(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), filled: bytes.len(), parsed: 0 }
    }

    /// Drops what was already read; ranges handed out before are void.
    pub(super) fn restart(&mut self) {
        self.bytes.copy_within(self.parsed..self.filled, 0);
        self.filled -= self.parsed;
        self.parsed = 0;
    }

    /// The bytes of a range.
    pub(super) fn get(&self, range: &Range<usize>) -> &[u8] {
        &self.bytes[range.clone()]
    }

    /// What has come and was not taken.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.parsed..self.filled]
    }

    /// Takes this many bytes of what is unread; where they lie.
    pub(super) fn take(&mut self, count: usize) -> Range<usize> {
        let taken = self.parsed..self.parsed + count;
        self.parsed = taken.end;
        taken
    }

    /// Takes bytes as if they had been read.
    #[cfg(feature = "testkit")]
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.filled);
        self.bytes.extend_from_slice(bytes);
        self.filled = self.bytes.len();
    }

    /// Reads at least one byte.
    ///
    /// # Errors
    /// [`TargetError::Protocol`] when more came than any exchange is answered with, or as the socket.
    pub(super) fn fill(&mut self, socket: &mut Socket) -> Result<(), TargetError> {
        let read = socket.receive(self.space()?)?;
        self.filled += read;
        Ok(())
    }

    /// Reads what is there, if anything.
    ///
    /// # Errors
    /// As [`Inbox::fill`].
    pub(super) fn try_fill(&mut self, socket: &mut Socket) -> Result<Filled, TargetError> {
        let space = self.space()?;
        let size = space.len();
        let Some(read) = socket.try_receive(space)? else { return Ok(Filled::Nothing) };
        self.filled += read;
        if read < size {
            return Ok(Filled::All);
        }
        if self.bytes.len() < MAX_READ_BYTES {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        Ok(Filled::PerhapsMore)
    }

    fn space(&mut self) -> Result<&mut [u8], TargetError> {
        if self.filled == self.bytes.len() {
            if self.filled >= MAX_BYTES {
                return Err(TargetError::Protocol(format!("an answer of more than {} MiB", MAX_BYTES >> 20)));
            }
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        Ok(&mut self.bytes[self.filled..])
    }
}
