//! Exchanges that do not wait, for an event loop: it watches the socket and calls when something can go on.

use super::batch::Batch;
use super::connection::Connection;
use super::reply::{Reply, TransactionStatus};
use crate::target::inbox::Filled;
use crate::target::{Poll, Session, TargetError};
use std::os::fd::{AsFd, BorrowedFd};

impl Session for Connection {
    type Request = Batch;
    type Reply = Reply;

    fn set_nonblocking(&mut self) -> Result<(), TargetError> {
        self.socket.set_nonblocking()
    }

    fn begin(&mut self, batch: &mut Batch) -> Result<(), TargetError> {
        batch.close();
        self.reply.expect();
        self.sent = 0;
        self.send_rest(batch)
    }

    fn advance(&mut self, batch: &Batch) -> Result<Poll, TargetError> {
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

    fn wants_write(&self, batch: &Batch) -> bool {
        self.sent < batch.bytes().len() || self.socket.wants_write()
    }

    fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Messages that mean nothing, or the server's farewell.
    fn listen(&mut self) -> Result<(), TargetError> {
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

    fn commits(&self, batch: &Batch) -> bool {
        batch.commits(self.status != TransactionStatus::Idle)
    }

    fn leave(&self, batch: &mut Batch, again: bool) -> bool {
        if self.status == TransactionStatus::Idle {
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
