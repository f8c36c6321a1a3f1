//! RESP, the protocol of Redis and Valkey (version 2 of it), on TCP or a unix socket.
//!
//! A [`Connection`] takes several [`Commands`] before the first is answered, and sends what was started together in one
//! write. Answers lie where they were received. A warm exchange allocates nothing.

mod cluster;
mod commands;
mod connection;
mod reply;
mod url;

pub use cluster::{SLOTS, Slots, slot};
pub use commands::Commands;
pub use connection::{Connection, is_too_many_clients};
pub use reply::{Answer, Reply};
pub use url::{Url, UrlError};
