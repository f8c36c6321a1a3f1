//! Bounds that a spec's fields share with its schema.

/// A method that opens two for each warehouse needs 280,000 for the 140,000 warehouses of the largest published run.
pub(super) const MAX_CONNECTIONS: u32 = 1_000_000;
/// Each needs an entry in a heap here.
pub(super) const MAX_WORKERS: u64 = 10_000_000;
pub(super) const MAX_THREADS: u32 = 1_024;
/// More than one machine can send.
pub(super) const MAX_RATE_PER_S: f64 = 1e8;
/// With their pauses, more retries would take minutes for one operation.
pub(super) const MAX_RETRIES: u32 = 1_000;
/// One in a thousand changes a rate by less than a study can tell; the check `errors` has the same limit.
pub(super) const MAX_FAILED_PERCENT: f64 = 0.1;
/// Seeds fit into the server's int8.
pub(super) const MAX_SEED: u64 = i64::MAX as u64;
/// A year: longer is a mistake in the unit.
pub(super) const MAX_DURATION_S: f64 = 366.0 * 86_400.0;
