//! PostgreSQL wire protocol, extended query, binary format, on `postgres-protocol`.
//!
//! A [`Connection`] runs one [`Batch`] at a time: the batch is encoded into a reused buffer, written by one system
//! call, and answered by a [`Reply`] whose rows are read where they lie in the receive buffer. A warm exchange
//! allocates nothing. It is blocking for administration and loading; an event loop uses the part of it that never
//! waits.

mod admin;
mod batch;
mod command;
mod connection;
mod copy;
mod dsn;
mod exchange;
mod inbox;
mod isolation;
mod login;
mod numeric;
mod open;
mod prepared;
mod reply;
mod scram;
mod startup;
pub(super) mod tls;
mod unnamed;
pub(crate) mod value;

pub use batch::{Batch, Retry};
pub use connection::{Canceller, Connection};
pub use copy::CopyWriter;
pub use dsn::{Address, ChannelBinding, Dsn, DsnError, SessionAttributes, SslMode, redact};
pub(super) use dsn::{
    Negotiation, RootCertificates, TlsSettings, choose, first_that_will_do, split_port, unescape, without_secrets,
};
pub use isolation::Isolation;
pub use open::leads_to_the_next_host;
pub use prepared::{Prepared, keeps_names};
pub use reply::{Reply, Row};
pub use unnamed::Unnamed;
