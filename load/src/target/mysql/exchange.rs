//! Exchanges that do not wait, for an event loop: it watches the socket and calls when something can go on.

use super::batch::Batch;
use super::connection::Connection;
use super::reply::Reply;
use crate::target::link::Answers;
use crate::target::{Poll, Request, Session, SqlBatch, TargetError};
use std::os::fd::{AsFd, BorrowedFd};

impl Session for Connection {
    type Request = Batch;
    type Reply = Reply;

    fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        self.link.socket.set_nonblocking()
    }

    /// Behind what was started before, with this session's numbers of the statements.
    fn fill<R>(&mut self, batch: &mut Batch, fill: impl FnOnce(&Reply, &mut Batch) -> R) -> R {
        batch.swap(&mut self.statements, self.outbox.bytes_mut());
        let filled = fill(&self.link.reply, batch);
        batch.swap(&mut self.statements, self.outbox.bytes_mut());
        filled
    }

    fn begin(&mut self, batch: &mut Batch) -> Result<(), TargetError> {
        self.outbox.begin(batch.bytes());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        self.outbox.flush(&mut self.link)
    }

    fn advance(&mut self, batch: &Batch) -> Result<Poll, TargetError> {
        if self.wants_write(batch) {
            self.flush()?;
        }
        self.link.advance(batch.commands())
    }

    fn wants_write(&self, _: &Batch) -> bool {
        !self.outbox.is_empty() || self.link.socket.wants_write()
    }

    fn reply(&self) -> &Reply {
        &self.link.reply
    }

    /// A server that ends the session says why, as an error without a command.
    fn listen(&mut self) -> Result<(), TargetError> {
        self.link.expect();
        let filled = self.link.reply.inbox().try_fill(&mut self.link.socket);
        match self.link.reply.farewell()? {
            Some(error) => Err(TargetError::Lost(format!("the server ended the session: {error}"))),
            None => filled.map(|_| ()),
        }
    }

    fn commits(&self, batch: &Batch) -> bool {
        batch.commits(self.link.reply.in_transaction)
    }

    /// An error of a statement leaves its transaction open, unless it was a deadlock; a lock wait timeout undoes only
    /// the statement.
    fn leave(&self, batch: &mut Batch, _again: bool) -> bool {
        if self.link.reply.in_transaction {
            batch.clear();
            batch.rollback();
        }
        self.link.reply.in_transaction
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.socket.as_fd()
    }
}
