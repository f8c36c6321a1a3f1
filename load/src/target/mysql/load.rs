//! LOAD DATA LOCAL INFILE: the fastest way in. The server asks for a file, and gets rows.

use super::batch::QUERY;
use super::connection::Connection;
use super::packet::{Done, HEADER_BYTES, LOCAL_INFILE, OK, close_packet, damaged};
use super::value::write_field;
use crate::target::{Copied, Fill, RowWriter, TargetError, Value};
use crate::words::counted;
use std::io;

/// The name of the file that is none. Nothing is sent to a server that asks for another.
pub const FILE: &str = "nephoscope-rows";
/// Large enough that the system call does not count, small enough to stay in the second-level cache.
const CHUNK_BYTES: usize = 256 * 1024;
/// The server refuses files of its clients.
const NOT_ALLOWED: [&str; 2] = ["42000", "3948"];

/// Writes rows into one table. Dropped without [`Fill::finish`] it leaves the connection unusable.
pub struct LoadData<'a> {
    connection: &'a mut Connection,
    /// One packet: its header is written when it is sent.
    chunk: Vec<u8>,
    sequence: u8,
    copied: Copied,
}

impl<'a> Fill<'a, Connection> for LoadData<'a> {
    fn start(connection: &'a mut Connection, sql: &str) -> Result<Self, TargetError> {
        let chunk = Vec::with_capacity(CHUNK_BYTES * 5 / 4);
        let mut load = Self { connection, chunk, sequence: 0, copied: Copied::default() };
        load.begin(sql)?;
        Ok(load)
    }

    /// All but the last [`CHUNK_BYTES`] at most.
    fn sent_bytes(&self) -> u64 {
        self.copied.bytes
    }

    fn turn_over(
        &mut self,
        sql: &str,
        between: impl FnOnce(&mut Connection, Copied) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let copied = self.end()?;
        between(self.connection, copied)?;
        self.copied = Copied::default();
        self.begin(sql)
    }

    fn finish(mut self) -> Result<Copied, TargetError> {
        self.end()
    }

    /// A file cannot be taken back, but the transaction can.
    fn abandon(mut self, _why: &str) -> Result<(), TargetError> {
        self.chunk.truncate(HEADER_BYTES);
        if let Err(error @ TargetError::Lost(_)) = self.end() {
            return Err(error);
        }
        self.connection.query("ROLLBACK").map(|_| ())
    }
}

impl LoadData<'_> {
    fn begin(&mut self, sql: &str) -> Result<(), TargetError> {
        self.connection.send(QUERY, sql.as_bytes())?;
        let packet = self.connection.receive(1).map_err(|error| match error {
            TargetError::Database { sqlstate, message } if NOT_ALLOWED.contains(&sqlstate.as_str()) => {
                let message = format!("{message} (rows are loaded by LOAD DATA LOCAL: SET GLOBAL local_infile = ON)");
                TargetError::Database { sqlstate, message }
            }
            error => error,
        })?;
        match self.connection.body(&packet) {
            [LOCAL_INFILE, name @ ..] if name == FILE.as_bytes() => {}
            [LOCAL_INFILE, ..] => {
                return Err(TargetError::Protocol("the server wants another file of this machine".to_owned()));
            }
            _ => return Err(damaged("the answer to LOAD DATA")),
        }
        self.sequence = 1;
        self.begin_chunk();
        Ok(())
    }

    fn begin_chunk(&mut self) {
        self.chunk.clear();
        self.chunk.resize(HEADER_BYTES, 0);
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        if self.chunk.len() == HEADER_BYTES {
            return Ok(());
        }
        self.copied.bytes += (self.chunk.len() - HEADER_BYTES) as u64;
        self.send_chunk()
    }

    fn send_chunk(&mut self) -> Result<(), TargetError> {
        self.sequence = self.sequence.wrapping_add(1);
        close_packet(&mut self.chunk, 0, self.sequence);
        self.connection.link.socket.send(&self.chunk)?;
        self.begin_chunk();
        Ok(())
    }

    /// An empty packet ends the file. Rows that do not fit are left out with a warning, as the server cannot stop a
    /// client that sends: each is an error here.
    fn end(&mut self) -> Result<Copied, TargetError> {
        self.flush()?;
        self.send_chunk()?;
        let packet = self.connection.receive(self.sequence.wrapping_add(1))?;
        let body = self.connection.body(&packet);
        if body.first() != Some(&OK) {
            return Err(damaged("the end of LOAD DATA"));
        }
        let done = Done::read(body)?;
        self.connection.link.reply.in_transaction = done.in_transaction;
        if done.warnings > 0 || done.affected != self.copied.rows {
            let warnings = self.connection.query("SHOW WARNINGS LIMIT 1")?;
            let first = warnings.into_iter().flatten().next_back().flatten().unwrap_or_default();
            let (taken, sent) = (done.affected, counted(self.copied.rows, "row"));
            let message = format!("the server accepted {taken} of {sent}, with {} warnings: {first}", done.warnings);
            return Err(TargetError::Database { sqlstate: "01000".to_owned(), message });
        }
        Ok(self.copied)
    }
}

impl RowWriter for LoadData<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.chunk.push(b'\t');
            }
            write_field(value, &mut self.chunk);
        }
        self.chunk.push(b'\n');
        self.copied.rows += 1;
        if self.chunk.len() >= CHUNK_BYTES {
            self.flush().map_err(io::Error::other)?;
        }
        Ok(())
    }
}
