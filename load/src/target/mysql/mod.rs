//! MySQL's protocol, as MySQL and MariaDB speak it: prepared statements in binary for operations, texts for set-up.
//!
//! A [`Connection`] runs one [`Batch`] after the other, or has several under way, which the server answers in their
//! order. Rows are read where they lie in the receive buffer. A warm exchange allocates nothing. An error does not stop
//! what was sent behind it: a transaction of several writes never goes in one piece.

mod admin;
mod batch;
mod connection;
mod dsn;
mod error;
mod exchange;
mod load;
mod login;
mod marks;
mod open;
mod packet;
mod reply;
mod row;
mod value;

pub use admin::Canceller;
pub use batch::Batch;
pub use connection::{Connection, SESSION_SETTINGS, SHOW_ISOLATION, set_isolation_sql};
pub use dsn::Dsn;
pub use load::{FILE, LoadData};
pub use marks::with_question_marks;
pub use open::leads_to_the_next_host;
pub use reply::Reply;
pub use row::Row;
