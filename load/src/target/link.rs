//! A socket and the answers that arrive on it: what all protocols have in common.

use super::inbox::{Filled, Inbox};
use super::socket::Socket;
use super::{Poll, TargetError};

/// The answers of one exchange, read where they lie in an inbox.
pub(super) trait Answers {
    /// What a request knows about the answers that are due to it.
    type Due<'a>: Copy;

    fn inbox(&mut self) -> &mut Inbox;

    /// Forgets the last answers.
    fn forget(&mut self);

    /// Whether nothing that lies in the inbox was handed out since.
    fn is_empty(&self) -> bool;

    /// Goes through what has come; the outcome when all that is due is there.
    ///
    /// # Errors
    /// [`TargetError`] when the session is of no more use.
    fn parse(&mut self, due: Self::Due<'_>) -> Result<Option<Result<(), TargetError>>, TargetError>;

    /// Why the connection was lost, where what was read before tells.
    fn explain(&mut self, lost: TargetError) -> TargetError {
        lost
    }
}

/// Both ends of a session that we hold.
#[derive(Debug)]
pub(super) struct Link<A> {
    pub(super) socket: Socket,
    pub(super) reply: A,
    /// Part of the oldest exchange's answer may have been read.
    answering: bool,
    /// The last read took all that was there: no need to look again before something is sent or comes.
    drained: bool,
}

/// Requests that were begun and are not all taken by the kernel.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    /// How much of it the kernel has taken.
    sent: usize,
}

impl Outbox {
    pub(super) fn begin(&mut self, request: &[u8]) {
        self.bytes.extend_from_slice(request);
    }

    /// What is in it, to add a request in place.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Sends what the kernel takes at once.
    pub(super) fn flush<A: Answers>(&mut self, link: &mut Link<A>) -> Result<(), TargetError> {
        self.sent += link.send(&self.bytes[self.sent..])?;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        }
        Ok(())
    }
}

impl<A: Answers> Link<A> {
    pub(super) fn new(socket: Socket, reply: A) -> Self {
        Self { socket, reply, answering: false, drained: false }
    }

    /// Sends bytes and waits for what is due to them.
    pub(super) fn exchange(&mut self, bytes: &[u8], due: A::Due<'_>) -> Result<&A, TargetError> {
        self.socket.send(bytes)?;
        self.expect();
        loop {
            if let Some(outcome) = self.reply.parse(due)? {
                return outcome.map(|()| &self.reply);
            }
            self.make_room();
            let filled = self.reply.inbox().fill(&mut self.socket);
            filled.map_err(|lost| self.reply.explain(lost))?;
        }
    }

    /// Sends what the kernel takes of these bytes at once; how many that were.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, TargetError> {
        self.drained = false;
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket.try_send(&bytes[sent..])? {
                Some(count) => sent += count,
                None => break,
            }
        }
        if self.socket.wants_write() {
            self.socket.try_flush()?;
        }
        Ok(sent)
    }

    /// Goes on with what is due to the oldest exchange, as far as that goes without waiting.
    pub(super) fn advance(&mut self, due: A::Due<'_>) -> Result<Poll, TargetError> {
        if !std::mem::replace(&mut self.answering, true) {
            self.expect();
        }
        let mut together = true;
        loop {
            if let Some(outcome) = self.reply.parse(due)? {
                self.answering = false;
                return outcome.map(|()| Poll::Ready { together });
            }
            if std::mem::take(&mut self.drained) {
                return Ok(Poll::Pending);
            }
            self.make_room();
            together = false;
            let filled = self.reply.inbox().try_fill(&mut self.socket);
            match filled.map_err(|lost| self.reply.explain(lost))? {
                Filled::Nothing => return Ok(Poll::Pending),
                Filled::All => self.drained = true,
                Filled::PerhapsMore => {}
            }
        }
    }

    /// Reads what came while nothing was asked, from a server that then says nothing, unless it ends the session.
    pub(super) fn listen(&mut self) -> Result<(), TargetError> {
        self.expect();
        match self.reply.inbox().try_fill(&mut self.socket)? {
            Filled::Nothing => Ok(()),
            Filled::All | Filled::PerhapsMore => Err(TargetError::Protocol("an answer without a request".to_owned())),
        }
    }

    /// Forgets the last answers. What lies behind them is moved only when there is nothing of it, or little; else when
    /// more is read.
    pub(super) fn expect(&mut self) {
        self.reply.forget();
        if self.reply.inbox().unread().is_empty() {
            self.reply.inbox().restart();
        }
    }

    /// Makes room before more is read, while nothing that was handed out is needed.
    fn make_room(&mut self) {
        if self.reply.is_empty() {
            self.reply.inbox().restart();
        }
    }
}
