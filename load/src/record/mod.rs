//! What happened, exactly: every operation leaves one [`Sample`], and no count is ever lost.
//!
//! A thread appends samples to its own [`Lane`] (40 bytes each, behind a mutex that no one else holds but for one
//! pointer swap a second). The coordinator empties the lanes every second into a [`Ledger`], which keeps HDR
//! histograms per (operation, outcome, kind) for the interval and counts for the whole action. This is cheaper for
//! the thread than touching three histograms per operation. An [`OutageWatch`] remembers 24 bytes of each client.

mod histogram;
mod lane;
mod ledger;
mod outages;

pub use histogram::{HIGHEST_NS, Histogram, Quantile};
pub use lane::{Attempt, ErrorEvent, Gauges, Lane, Lanes, Owed, Sample};
pub use ledger::{Books, Ledger};
pub use outages::{OutageWatch, merge_outages};
