//! The quota of CPU time of the control group that this process is in.

use super::parse::{QuotaPeriods, cpu_stat_files, quota_periods};
use std::fs;

/// Where the kernel reports it.
#[derive(Debug)]
pub struct Quota {
    /// `None` where groups have none.
    file: Option<String>,
}

impl Quota {
    /// That of the group in which this process is now.
    #[must_use]
    pub fn of_this_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self { file: cpu_stat_files(&groups).into_iter().find(|file| periods_of(file).is_some()) }
    }

    /// Its periods so far.
    #[must_use]
    pub fn periods(&self) -> Option<QuotaPeriods> {
        self.file.as_deref().and_then(periods_of)
    }
}

fn periods_of(file: &str) -> Option<QuotaPeriods> {
    quota_periods(&fs::read_to_string(file).ok()?)
}
