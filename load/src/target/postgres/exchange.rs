//! Exchanges that do not wait, for an event loop: it watches the socket and calls when something can go on.

use super::batch::Batch;
use super::connection::Connection;
use super::reply::{Reply, TransactionStatus};
use crate::target::link::{Answers, Link};
use crate::target::{Poll, Session, TargetError};
use std::os::fd::{AsFd, BorrowedFd};

impl Session for Connection {
    type Request = Batch;
    type Reply = Reply;

    fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        self.link.socket.set_nonblocking()
    }

    fn begin(&mut self, batch: &mut Batch) -> Result<(), TargetError> {
        batch.close();
        self.sent = 0;
        self.send_rest(batch)
    }

    fn advance(&mut self, batch: &Batch) -> Result<Poll, TargetError> {
        if self.wants_write(batch) {
            self.send_rest(batch)?;
        }
        self.link.advance(batch.commands())
    }

    fn wants_write(&self, batch: &Batch) -> bool {
        self.sent < batch.bytes().len() || self.link.socket.wants_write()
    }

    fn reply(&self) -> &Reply {
        &self.link.reply
    }

    /// Messages that mean nothing, or the end of the session.
    fn listen(&mut self) -> Result<(), TargetError> {
        self.link.expect();
        let Link { socket, reply, .. } = &mut self.link;
        let filled = reply.inbox.try_fill(socket);
        if reply.parse(&[])?.is_some() {
            return Err(TargetError::Protocol("an answer without a request".to_owned()));
        }
        // The reason comes before the end of the stream.
        match filled {
            Ok(_) if !reply.met_an_error() => Ok(()),
            Ok(_) => Err(reply.explain(TargetError::Lost("the server ended the session".to_owned()))),
            Err(lost) => Err(reply.explain(lost)),
        }
    }

    fn commits(&self, batch: &Batch) -> bool {
        batch.commits(self.link.reply.status != TransactionStatus::Idle)
    }

    fn leave(&self, batch: &mut Batch, again: bool) -> bool {
        if self.link.reply.status == TransactionStatus::Idle {
            return false;
        }
        if again {
            batch.restart();
        } else {
            batch.abandon();
        }
        true
    }
}

impl Connection {
    fn send_rest(&mut self, batch: &Batch) -> Result<(), TargetError> {
        self.sent += self.link.send(&batch.bytes()[self.sent..])?;
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.socket.as_fd()
    }
}
