//! Runs clients against a target and records what they did.
//!
//! Each thread has an epoll, its own connections and its own clients, and shares nothing with the others while it
//! drives. A client that is due ([`roster`]) takes a free seat of a connection ([`seat`]), or waits for one: that is
//! queue time. A connection has one seat, or several where its target takes several requests at a time
//! ([`Dialer::depth`]); a seat carries one operation, whose worker ([`crate::workload::Worker`]) turns replies into
//! requests. In the closed pace without waits, a thread does one epoll_wait for all sockets that are ready, and a read
//! and a write for each: nothing else calls the kernel. Lost connections come back through helpers ([`redial`]), so
//! that nobody waits for a login.

mod channels;
mod coordinator;
mod deferred;
mod dial;
mod evidence;
mod load;
pub mod pace;
mod reactor;
mod redial;
mod roster;
mod seat;
mod shared;
mod timeline;
mod watch;

pub use coordinator::{Known, OnInterval};
pub use dial::{AerospikeDialer, Dial, DialError, Dialer, MysqlDialer, PostgresDialer, RespDialer};
pub use load::{Driven, Load, Offered, run};
pub use timeline::{Span, Timeline};
