//! CPU time of a control group, version 1 (`cpuacct`) and 2.

use super::process::Counts;
use std::fs;
use std::path::{Path, PathBuf};

/// A group whose time is all the trial's.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
    ticks_per_s: u64,
}

impl Group {
    /// The group in that folder; `None` if the kernel does not count its CPU time.
    #[must_use]
    pub fn at(folder: PathBuf, ticks_per_s: u64) -> Option<Self> {
        let group = Self { folder, ticks_per_s };
        group.used().map(|_| group)
    }

    /// The group of this process, if every process in it and below it is `own`. `all_visible`: no process is in
    /// another PID namespace. Version 1 leaves such processes out of its list, so it cannot be trusted then.
    #[must_use]
    pub fn of_this_process(own: &dyn Fn(i32) -> bool, all_visible: bool, ticks_per_s: u64) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut found = folders(&groups, all_visible).into_iter().filter_map(|folder| Self::at(folder, ticks_per_s));
        found.find(|group| holds_only(&group.folder, own))
    }

    /// CPU time so far, of processes that ended too.
    #[must_use]
    pub fn used(&self) -> Option<Counts> {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        read("cpu.stat")
            .and_then(|text| version_2(&text, self.ticks_per_s))
            .or_else(|| version_1(&read("cpuacct.stat")?))
    }
}

fn version_2(text: &str, ticks_per_s: u64) -> Option<Counts> {
    let ticks = |name: &str| Some(number(text, name)? * ticks_per_s / 1_000_000);
    Some(Counts { user: ticks("user_usec ")?, system: ticks("system_usec ")?, ..Counts::default() })
}

fn version_1(text: &str) -> Option<Counts> {
    Some(Counts { user: number(text, "user ")?, system: number(text, "system ")?, ..Counts::default() })
}

fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// Where the CPU time of this process's group may be, by `/proc/self/cgroup`.
fn folders(groups: &str, version_1: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let below = path.trim_start_matches('/');
        if controllers.is_empty() {
            found.push(Path::new("/sys/fs/cgroup").join(below));
        } else if version_1 && controllers.split(',').any(|controller| controller == "cpuacct") {
            found.push(Path::new("/sys/fs/cgroup").join(controllers).join(below));
            found.push(Path::new("/sys/fs/cgroup/cpuacct").join(below));
        }
    }
    found
}

/// Version 2 lists a process of another PID namespace as 0.
fn holds_only(folder: &Path, own: &dyn Fn(i32) -> bool) -> bool {
    let Ok(listed) = fs::read_to_string(folder.join("cgroup.procs")) else { return false };
    let Ok(entries) = fs::read_dir(folder) else { return false };
    listed.lines().all(|line| line.parse().is_ok_and(own))
        && entries.flatten().filter(|entry| entry.path().is_dir()).all(|entry| holds_only(&entry.path(), own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions() {
        let text = "usage_usec 30000\nuser_usec 20000\nsystem_usec 10000\nnr_periods 0\n";
        let counts = |user, system| Some(Counts { user, system, ..Counts::default() });
        assert_eq!(version_2(text, 100), counts(2, 1));
        assert_eq!(version_2("nr_periods 0\n", 100), None);
        assert_eq!(version_1("user 7\nsystem 5\n"), counts(7, 5));
        assert_eq!(version_1("user 7\n"), None);
    }

    #[test]
    fn folders_of_both_versions() {
        let found =
            |groups: &str| folders(groups, true).iter().map(|one| one.display().to_string()).collect::<Vec<_>>();
        assert_eq!(found("0::/a/b\n"), ["/sys/fs/cgroup/a/b"]);
        assert_eq!(found("0::/\n5:memory:/x\n"), ["/sys/fs/cgroup/"]);
        assert_eq!(
            found("4:cpu,cpuacct:/docker/y\n"),
            ["/sys/fs/cgroup/cpu,cpuacct/docker/y", "/sys/fs/cgroup/cpuacct/docker/y"]
        );
        assert!(folders("4:cpu,cpuacct:/docker/y\n", false).is_empty());
    }

    #[test]
    fn a_group_is_ours_if_nobody_else_is_in_it_or_below_it() {
        let folder = std::env::temp_dir().join(format!("nephoscope-group-{}", std::process::id()));
        fs::create_dir_all(folder.join("below")).unwrap();
        let own = |pid: i32| pid == 3 || pid == 4;
        let with = |here: &str, below: &str| {
            fs::write(folder.join("cgroup.procs"), here).unwrap();
            fs::write(folder.join("below/cgroup.procs"), below).unwrap();
            holds_only(&folder, &own)
        };
        assert!(with("3\n", "4\n") && with("3\n4\n", ""));
        assert!(!with("3\n5\n", "") && !with("3\n", "5\n") && !with("0\n", ""));
        fs::remove_dir_all(folder).unwrap();
    }
}
