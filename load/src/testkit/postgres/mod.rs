//! A fake PostgreSQL server, for calibration and for tests of this program's clocks and counters.
//!
//! It stores nothing. It accepts every login and answers what the workloads `null`, `point_select` and `tpcc` (profile
//! `proc`) send with rows that look right, each batch after a fixed time, or not at all for a while: what a client
//! says of such a server can be compared with what the server is known to have done. All connections live in one
//! thread.

mod answers;
mod server;
mod session;

pub use answers::Answers;
pub use server::{FakeTarget, Listen, Plan};
pub use session::{Counts, FakeSession};
