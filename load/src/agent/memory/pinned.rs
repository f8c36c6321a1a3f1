//! Threads on one CPU.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// CPUs that this program may use.
pub fn cpus() -> io::Result<Vec<usize>> {
    let mask = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).collect())
}

/// Keeps the calling thread on this CPU.
pub fn pin(cpu: usize) -> io::Result<()> {
    let mut mask = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        mask.set(cpu);
    }
    Ok(sched_setaffinity(None, &mask)?)
}
