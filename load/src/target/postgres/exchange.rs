//! Exchanges that do not wait, for an event loop: it watches the socket and calls when something can go on.

use super::batch::Batch;
use super::connection::Connection;
use super::inbox::Filled;
use super::reply::{Reply, TransactionStatus};
use crate::target::TargetError;
use std::os::fd::{AsFd, BorrowedFd};

/// Whether an exchange is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll {
    /// Something is still to be sent or to come.
    Pending,
    /// The answer is there: [`Connection::reply`].
    Ready,
}

impl Connection {
    /// From now on this session exchanges without waiting.
    ///
    /// # Errors
    /// [`TargetError::Lost`].
    pub fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        self.socket.set_nonblocking()
    }

    /// Sends a batch, as much of it as the kernel takes. The batch must be neither changed nor cleared before
    /// [`Connection::advance`] has said that the exchange is over.
    ///
    /// # Errors
    /// [`TargetError::Lost`].
    pub fn begin(&mut self, batch: &mut Batch) -> Result<(), TargetError> {
        batch.close();
        self.reply.expect();
        self.sent = 0;
        self.send_rest(batch)
    }

    /// Goes on with the exchange of this batch, as far as that goes without waiting.
    ///
    /// # Errors
    /// As [`Connection::exchange`].
    pub fn advance(&mut self, batch: &Batch) -> Result<Poll, TargetError> {
        if self.wants_write(batch) {
            self.send_rest(batch)?;
        }
        loop {
            let filled = self.reply.inbox.try_fill(&mut self.socket).map_err(|lost| self.reply.explain(lost))?;
            if filled == Filled::Nothing {
                return Ok(Poll::Pending);
            }
            if let Some((status, answer)) = self.reply.parse(batch.commands())? {
                self.status = status;
                return answer.map(|()| Poll::Ready);
            }
            if filled == Filled::All {
                return Ok(Poll::Pending);
            }
        }
    }

    /// Whether part of the batch under way must still be sent: then wait until the socket is writable, too.
    #[must_use]
    pub fn wants_write(&self, batch: &Batch) -> bool {
        self.sent < batch.bytes().len() || self.socket.wants_write()
    }

    /// The answer to the exchange that was last over.
    #[must_use]
    pub fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Whether a transaction is open, or failed and not yet left.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.status != TransactionStatus::Idle
    }

    /// Reads what came while nothing was asked: messages that mean nothing, or the server's farewell.
    ///
    /// # Errors
    /// [`TargetError::Lost`], with the server's reason.
    pub fn listen(&mut self) -> Result<(), TargetError> {
        self.reply.expect();
        let filled = self.reply.inbox.try_fill(&mut self.socket);
        if self.reply.parse(&[])?.is_some() {
            return Err(TargetError::Protocol("an answer to nothing".to_owned()));
        }
        // The reason comes before the end of the stream.
        match filled {
            Ok(_) if !self.reply.met_an_error() => Ok(()),
            Ok(_) => Err(self.reply.explain(TargetError::Lost("the server said farewell".to_owned()))),
            Err(lost) => Err(self.reply.explain(lost)),
        }
    }

    fn send_rest(&mut self, batch: &Batch) -> Result<(), TargetError> {
        while let Some(rest) = batch.bytes().get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.socket.try_send(rest)? {
                Some(count) => self.sent += count,
                None => break,
            }
        }
        if self.socket.wants_write() { self.socket.try_flush() } else { Ok(()) }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
