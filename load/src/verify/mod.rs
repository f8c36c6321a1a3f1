//! Whether the data is right: conditions, counters of the server, fingerprints of tables.

pub mod check;
pub mod fingerprint;
pub mod statistics;
pub mod status;
pub mod writes;
