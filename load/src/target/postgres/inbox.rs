//! Bytes from the server, cut into messages in place.

use crate::target::TargetError;
use crate::target::inbox::Inbox;
use crate::target::quoted::{quoted, state};
use crate::target::socket::Socket;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{self, ErrorFields, Message};
use std::ops::Range;

pub(super) const HEADER_BYTES: usize = 5;
/// No answer of a benchmark is larger: a greater length means that the stream is out of step.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// One message: its tag, and where its body lies in the inbox.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) tag: u8,
    pub(super) body: Range<usize>,
}

impl Inbox {
    /// The next whole message, reading from the socket when needed.
    pub(in crate::target::postgres) fn next(&mut self, socket: &mut Socket) -> Result<Frame, TargetError> {
        self.next_within(socket, MAX_MESSAGE_BYTES)
    }

    /// The same, if it has fewer bytes than `most`.
    pub(in crate::target::postgres) fn next_within(
        &mut self,
        socket: &mut Socket,
        most: usize,
    ) -> Result<Frame, TargetError> {
        loop {
            if let Some(frame) = self.cut_within(most)? {
                return Ok(frame);
            }
            self.fill(socket)?;
        }
    }

    /// Cuts the next message off what has been read, if it is whole.
    pub(in crate::target::postgres) fn cut(&mut self) -> Result<Option<Frame>, TargetError> {
        self.cut_within(MAX_MESSAGE_BYTES)
    }

    fn cut_within(&mut self, most: usize) -> Result<Option<Frame>, TargetError> {
        let unread = self.unread();
        let Some(&[tag, ref length @ ..]) = unread.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        // The length counts itself, but not the tag.
        let length = i32::from_be_bytes(*length);
        let total = match usize::try_from(length) {
            Ok(length) if (HEADER_BYTES - 1..most).contains(&length) => length + 1,
            _ => {
                let message = format!("a message of {length} bytes: client and server are out of sync");
                return Err(TargetError::Protocol(message));
            }
        };
        if unread.len() < total {
            return Ok(None);
        }
        let whole = self.take(total);
        Ok(Some(Frame { tag, body: whole.start + HEADER_BYTES..whole.end }))
    }

    /// Parses a frame into an owned message: for rare messages only, it copies.
    pub(in crate::target::postgres) fn message(&self, frame: &Frame) -> Result<Message, TargetError> {
        let whole = frame.body.start - HEADER_BYTES..frame.body.end;
        let mut copy = bytes::BytesMut::from(self.get(&whole));
        Message::parse(&mut copy)
            .map_err(|error| TargetError::Protocol(error.to_string()))?
            .ok_or_else(|| TargetError::Protocol("an incomplete message".to_owned()))
    }

    /// The server's error in an `ErrorResponse` frame, and whether the server hangs up after it.
    pub(in crate::target::postgres) fn error(&self, frame: &Frame) -> Result<ServerError, TargetError> {
        match self.message(frame)? {
            Message::ErrorResponse(body) => ServerError::read(body.fields()),
            _ => Err(TargetError::Protocol("expected an error message".to_owned())),
        }
    }
}

/// Fields of an `ErrorResponse`.
#[derive(Debug)]
pub(super) struct ServerError {
    sqlstate: String,
    message: String,
    fatal: bool,
}

impl ServerError {
    fn read(mut fields: ErrorFields<'_>) -> Result<Self, TargetError> {
        let (mut sqlstate, mut message, mut more, mut fatal) = (None, None, [None, None], false);
        let damaged = |error: std::io::Error| TargetError::Protocol(error.to_string());
        while let Some(field) = fields.next().map_err(damaged)? {
            let text = || quoted(field.value_bytes());
            // Each comes once, whatever a server repeats.
            match field.type_() {
                b'C' => _ = sqlstate.get_or_insert_with(|| state(field.value_bytes())),
                b'M' => _ = message.get_or_insert_with(text),
                b'D' => _ = more[0].get_or_insert_with(text),
                b'H' => _ = more[1].get_or_insert_with(text),
                b'V' => fatal = matches!(field.value_bytes(), b"FATAL" | b"PANIC"),
                _ => {}
            }
        }
        let parts: Vec<String> = [message.or(Some(String::new()))].into_iter().chain(more).flatten().collect();
        Ok(Self { sqlstate: sqlstate.unwrap_or_default(), message: parts.join("; "), fatal })
    }

    /// After a fatal error the server hangs up: to the caller the connection is lost, not the statement refused.
    /// While connecting ([`ServerError::refusal`]) the difference between the two is what the server says.
    pub(super) fn into_target_error(self) -> TargetError {
        if self.fatal {
            return TargetError::Lost(format!("the server ended the session ({}: {})", self.sqlstate, self.message));
        }
        self.refusal()
    }

    pub(super) fn refusal(self) -> TargetError {
        TargetError::Database { sqlstate: self.sqlstate, message: self.message }
    }
}

/// Messages that may come at any time and mean nothing to a load generator.
pub(super) fn is_asynchronous(tag: u8) -> bool {
    matches!(tag, backend::NOTICE_RESPONSE_TAG | backend::PARAMETER_STATUS_TAG | backend::NOTIFICATION_RESPONSE_TAG)
}
