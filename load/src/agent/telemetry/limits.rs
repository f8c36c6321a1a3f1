//! What control groups withhold from the trial, whoever sets it and whenever: quotas of CPU time, limits of disks, and
//! the freezer. Of the group of this process and of those that programs of the trial are in, with the groups above.

use super::kept::Kept;
use super::parse::{QuotaPeriods, quota_periods};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

const CGROUPS: &str = "/sys/fs/cgroup";
const THROTTLES: [&str; 4] = ["read_bps", "write_bps", "read_iops", "write_iops"];

/// Keeps what it saw from one reading to the next.
#[derive(Debug)]
pub struct Limits {
    root: PathBuf,
    /// Texts of `/proc/PID/cgroup`: few, as programs share groups.
    texts: HashSet<String>,
    quotas: Vec<(Kept, QuotaPeriods)>,
    periods: Option<QuotaPeriods>,
    freezers: Vec<Kept>,
    throttles: Vec<Kept>,
}

impl Limits {
    /// Of the group of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::at(Path::new(CGROUPS), &fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
    }

    fn at(root: &Path, text: &str) -> Self {
        let mut limits = Self {
            root: root.to_owned(),
            texts: HashSet::new(),
            quotas: Vec::new(),
            periods: None,
            freezers: Vec::new(),
            throttles: Vec::new(),
        };
        limits.meet(text);
        limits.periods = limits.quotas.iter().map(|(_, periods)| *periods).reduce(QuotaPeriods::plus);
        limits
    }

    /// Those of another process too, by its `/proc/PID/cgroup`.
    pub fn meet(&mut self, text: &str) {
        if self.texts.contains(text) {
            return;
        }
        self.texts.insert(text.to_owned());
        for (hierarchy, controllers, group) in text.lines().filter_map(|line| hierarchy_of(&self.root, line)) {
            let own = |group: &Path| hierarchy.join(group.strip_prefix("/").unwrap_or(group));
            let has = |controller: &str| controllers.is_empty() || controllers.split(',').any(|one| one == controller);
            if has("freezer") {
                let name = if controllers.is_empty() { "cgroup.events" } else { "freezer.state" };
                add(&mut self.freezers, own(group).join(name));
            }
            for folder in group.ancestors().map(own) {
                if has("cpu") {
                    let mut file = Kept::at(folder.join("cpu.stat"));
                    let is_new = self.quotas.iter().all(|(other, _)| other.path() != file.path());
                    if let Some(periods) = periods_of(&mut file).filter(|_| is_new) {
                        self.quotas.push((file, periods));
                    }
                }
                let throttles = THROTTLES.map(|what| folder.join(format!("blkio.throttle.{what}_device")));
                let names = if controllers.is_empty() { &[folder.join("io.max")] } else { &throttles[..] };
                if has("blkio") {
                    names.iter().for_each(|file| add(&mut self.throttles, file.clone()));
                }
            }
        }
    }

    /// Periods of all quotas since the first reading, and before it for the group of this process.
    pub fn periods(&mut self) -> Option<QuotaPeriods> {
        for (file, last) in &mut self.quotas {
            if let Some(now) = periods_of(file) {
                let more = now.since(std::mem::replace(last, now));
                self.periods = Some(self.periods.map_or(more, |periods| periods.plus(more)));
            }
        }
        self.periods
    }

    /// Whether a group of the trial is frozen at this moment.
    pub fn frozen(&mut self) -> bool {
        let is_frozen = |text: String| text.lines().any(|line| ["FROZEN", "FREEZING", "frozen 1"].contains(&line));
        self.freezers.iter_mut().any(|file| file.text().is_some_and(is_frozen))
    }

    /// Limits of disks at this moment: file, device and value.
    pub fn of_disks(&mut self) -> Vec<String> {
        let mut limits = Vec::new();
        for file in &mut self.throttles {
            let text = file.text().unwrap_or_default();
            let name = file.path().file_name().unwrap_or_default().to_string_lossy();
            limits.extend(text.lines().map(|line| format!("{name} {line}")));
        }
        limits
    }
}

/// Where its hierarchy is mounted, its controllers (none: version 2) and the group of a line of `/proc/PID/cgroup`.
pub fn hierarchy_of<'a>(root: &Path, line: &'a str) -> Option<(PathBuf, &'a str, &'a Path)> {
    let mut words = line.splitn(3, ':').skip(1);
    let (controllers, group) = (words.next()?, Path::new(words.next()?));
    let places = match controllers {
        "" => vec![root.join("unified"), root.to_owned()],
        _ => std::iter::once(controllers).chain(controllers.split(',')).map(|name| root.join(name)).collect(),
    };
    Some((places.into_iter().find(|place| place.is_dir())?, controllers, group))
}

/// Once, and only if the group has it: the root of a hierarchy has no freezer.
fn add(files: &mut Vec<Kept>, file: PathBuf) {
    if file.exists() && files.iter().all(|other| other.path() != file) {
        files.push(Kept::at(file));
    }
}

fn periods_of(file: &mut Kept) -> Option<QuotaPeriods> {
    quota_periods(&file.text()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Files(PathBuf);

    impl Files {
        fn put(&self, file: &str, text: &str) {
            let file = self.0.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn periods(periods: u64, throttled_periods: u64) -> Option<QuotaPeriods> {
        Some(QuotaPeriods { periods, throttled_periods })
    }

    #[test]
    fn limits_are_seen_in_the_group_of_a_program_and_above_it_in_either_version() {
        let files = Files(std::env::temp_dir().join(format!("nephoscope-limits-{}", std::process::id())));
        files.put("cpu,cpuacct/cpu.stat", "nr_periods 7\nnr_throttled 7\n");
        files.put("cpu,cpuacct/a/cpu.stat", "nr_periods 0\nnr_throttled 0\n");
        files.put("blkio/a/blkio.throttle.read_iops_device", "");
        files.put("freezer/a/db/freezer.state", "THAWED\n");
        files.put("unified/a/db/cgroup.events", "populated 1\nfrozen 0\n");
        files.put("unified/a/io.max", "");
        let mut limits = Limits::at(&files.0, "4:cpu,cpuacct:/\n");
        assert_eq!(limits.periods(), periods(7, 7));
        limits.meet("5:blkio:/a/db\n4:cpu,cpuacct:/a/db\n3:freezer:/a/db\n0::/a/db\n");
        assert_eq!((limits.periods(), limits.frozen(), limits.of_disks()), (periods(7, 7), false, vec![]));
        files.put("cpu,cpuacct/a/cpu.stat", "nr_periods 10\nnr_throttled 9\n");
        files.put("blkio/a/blkio.throttle.read_iops_device", "254:0 100\n");
        files.put("unified/a/io.max", "254:0 rbps=max wbps=max riops=100 wiops=max\n");
        assert_eq!(limits.periods(), periods(17, 16));
        let of_disks =
            ["blkio.throttle.read_iops_device 254:0 100", "io.max 254:0 rbps=max wbps=max riops=100 wiops=max"];
        assert_eq!(limits.of_disks(), of_disks);
        for (file, text, thawed) in [
            ("freezer/a/db/freezer.state", "FROZEN\n", "THAWED\n"),
            ("unified/a/db/cgroup.events", "populated 1\nfrozen 1\n", "populated 1\nfrozen 0\n"),
        ] {
            files.put(file, text);
            assert!(limits.frozen(), "{file}");
            files.put(file, thawed);
            assert!(!limits.frozen(), "{file}");
        }
    }
}
