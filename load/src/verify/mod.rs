//! Whether the data still makes sense: conditions, counters of the server, fingerprints of tables.

pub mod check;
pub mod fingerprint;
pub mod statistics;
