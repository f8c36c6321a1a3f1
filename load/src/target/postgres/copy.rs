//! COPY … FROM STDIN (FORMAT BINARY): the fastest way in.

use super::connection::Connection;
use super::value::encode_field;
use crate::target::{Copied, Fill, RowWriter, TargetError, Value};
use crate::words::counted;
use bytes::{BufMut, BytesMut};
use postgres_protocol::message::frontend;
use std::io;

/// Signature, flags, length of the header's extension.
const FILE_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// In place of a field count: no more rows.
const FILE_TRAILER: i16 = -1;
/// Large enough that the system call does not count, small enough to stay in the second-level cache.
const CHUNK_BYTES: usize = 256 * 1024;
const MESSAGE_HEADER_BYTES: usize = 5;

/// Writes rows into one table by a COPY that takes binary rows. Dropped without [`Fill::finish`] it leaves the connection unusable.
pub struct CopyWriter<'a> {
    connection: &'a mut Connection,
    /// One CopyData message: its header is patched when it is sent.
    chunk: BytesMut,
    copied: Copied,
}

impl<'a> Fill<'a, Connection> for CopyWriter<'a> {
    fn start(connection: &'a mut Connection, sql: &str) -> Result<Self, TargetError> {
        connection.start_copy(sql)?;
        let mut writer =
            Self { connection, chunk: BytesMut::with_capacity(CHUNK_BYTES * 5 / 4), copied: Copied::default() };
        writer.begin_chunk();
        writer.chunk.put_slice(FILE_HEADER);
        Ok(writer)
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
        self.connection.start_copy(sql)?;
        self.copied = Copied::default();
        self.chunk.put_slice(FILE_HEADER);
        Ok(())
    }

    fn finish(mut self) -> Result<Copied, TargetError> {
        self.end()
    }

    fn abandon(self, why: &str) -> Result<(), TargetError> {
        let mut fail = BytesMut::new();
        frontend::copy_fail(why, &mut fail).map_err(|error| TargetError::Protocol(error.to_string()))?;
        match self.connection.finish_copy(&fail) {
            Ok(_) | Err(TargetError::Database { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl CopyWriter<'_> {
    fn end(&mut self) -> Result<Copied, TargetError> {
        self.chunk.put_i16(FILE_TRAILER);
        self.flush()?;
        let mut done = BytesMut::new();
        frontend::copy_done(&mut done);
        let rows = self.connection.finish_copy(&done)?;
        if rows != self.copied.rows {
            return Err(TargetError::Protocol(format!(
                "the server accepted {rows} of {}",
                counted(self.copied.rows, "row")
            )));
        }
        Ok(self.copied)
    }

    fn begin_chunk(&mut self) {
        self.chunk.clear();
        self.chunk.put_bytes(0, MESSAGE_HEADER_BYTES);
        self.chunk[0] = b'd';
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        self.copied.bytes += (self.chunk.len() - MESSAGE_HEADER_BYTES) as u64;
        let length = u32::try_from(self.chunk.len() - 1).expect("a chunk is far below 4 GiB");
        self.chunk[1..MESSAGE_HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
        self.connection.send_raw(&self.chunk)?;
        self.begin_chunk();
        Ok(())
    }
}

impl RowWriter for CopyWriter<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        self.chunk.put_i16(i16::try_from(values.len()).expect("a table has at most 1,600 columns"));
        for value in values {
            encode_field(value, &mut self.chunk);
        }
        self.copied.rows += 1;
        if self.chunk.len() >= CHUNK_BYTES {
            self.flush().map_err(io::Error::other)?;
        }
        Ok(())
    }
}
