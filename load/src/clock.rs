//! The clock. During a load, only this module reads the time.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds on CLOCK_MONOTONIC since an origin.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
    /// The same, as the kernel counts: cheaper to subtract.
    origin_ns: u64,
    origin_unix_ms: u64,
}

/// The wall clock, milliseconds since the Unix epoch.
#[must_use]
pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// CLOCK_MONOTONIC in nanoseconds, of which 584 years fit.
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_BOOTTIME in nanoseconds, which goes on while the machine is suspended.
#[must_use]
pub fn boot_ns() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Clock {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now(), origin_ns: monotonic_ns(), origin_unix_ms: unix_ms() }
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn now_ns(self) -> u64 {
        monotonic_ns() - self.origin_ns
    }

    /// Seconds since the start.
    #[must_use]
    pub fn now_s(self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    /// The instant at `ns` since the start.
    #[must_use]
    pub fn instant(self, ns: u64) -> Instant {
        self.origin + Duration::from_nanos(ns)
    }

    /// The wall clock at `ns` since the start, as it was set at the start.
    #[must_use]
    pub fn unix_ms(self, ns: u64) -> u64 {
        self.origin_unix_ms + ns / 1_000_000
    }
}

/// The monotonic instant at which the wall clock will show this time; now when that is past.
#[must_use]
pub fn at_unix_ms(ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(ms.saturating_sub(unix_ms()))
}

/// CPU time of all threads of this process, user + system, in seconds.
#[must_use]
pub fn process_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
