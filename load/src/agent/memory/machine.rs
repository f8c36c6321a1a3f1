//! What of a machine decides how its memory is measured: its CPUs, nodes and caches as the kernel shows them.

use crate::agent::telemetry::limits::hierarchy_of;
use crate::agent::telemetry::parse::kib_line;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Assumed where the kernel shows no caches, as in some virtual machines.
const USUAL_LAST_LEVEL_BYTES: u64 = 32 << 20;
const USUAL_LINE_BYTES: usize = 64;

/// Data or unified caches of one level and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u8,
    /// Of one of them.
    pub bytes: u64,
    /// How many there are for the CPUs in use.
    pub instances: usize,
}

/// A machine, as far as this program may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// CPUs of the affinity mask, by number.
    pub cpus: Vec<usize>,
    /// The CPUs among these of each NUMA node that has some.
    pub nodes: BTreeMap<usize, Vec<usize>>,
    /// By level; empty if the kernel shows none.
    pub caches: Vec<Cache>,
    /// Of a cache line.
    pub line_bytes: usize,
    /// What the kernel would give away without swapping.
    pub available_bytes: u64,
    /// Programs may ask for large pages.
    pub large_pages: bool,
}

impl Machine {
    /// Reads `sys/` and `proc/` below `root`; what cannot be read is taken to be usual.
    pub fn read(root: &Path, cpus: Vec<usize>) -> Machine {
        let text = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
        let cache_file = |cpu: usize, index: usize, name: &str| {
            text(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}"))
        };
        let mut seen: BTreeMap<(u8, u64), Vec<String>> = BTreeMap::new();
        let mut line_bytes = USUAL_LINE_BYTES;
        for &cpu in &cpus {
            for index in 0.. {
                let Ok(level) = cache_file(cpu, index, "level").trim().parse::<u8>() else { break };
                let Some(bytes) = kib(cache_file(cpu, index, "size").trim()) else { continue };
                if cache_file(cpu, index, "type").trim() == "Instruction" {
                    continue;
                }
                line_bytes = cache_file(cpu, index, "coherency_line_size").trim().parse().unwrap_or(line_bytes);
                let shared = cache_file(cpu, index, "shared_cpu_list");
                let instances = seen.entry((level, bytes)).or_default();
                if !instances.contains(&shared) {
                    instances.push(shared);
                }
            }
        }
        let mut nodes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for node in list(text("sys/devices/system/node/online").trim()) {
            let of_node = list(text(&format!("sys/devices/system/node/node{node}/cpulist")).trim());
            let usable: Vec<usize> = of_node.into_iter().filter(|cpu| cpus.contains(cpu)).collect();
            if !usable.is_empty() {
                nodes.insert(node, usable);
            }
        }
        Machine {
            nodes,
            caches: seen
                .into_iter()
                .map(|((level, bytes), instances)| Cache { level, bytes, instances: instances.len() })
                .collect(),
            line_bytes: line_bytes.max(size_of::<u64>()),
            available_bytes: kib_line(&text("proc/meminfo"), "MemAvailable:")
                .unwrap_or(0)
                .min(group_bytes(root, &text("proc/self/cgroup"))),
            large_pages: ["[always]", "[madvise]"]
                .iter()
                .any(|word| text("sys/kernel/mm/transparent_hugepage/enabled").contains(word)),
            cpus,
        }
    }

    /// Of one cache of the last level, and of all of them.
    pub fn last_level_bytes(&self) -> (u64, u64) {
        let level = self.caches.iter().map(|cache| cache.level).max();
        let last = self.caches.iter().filter(|cache| Some(cache.level) == level);
        let (largest, all) = last.fold((0, 0), |(largest, all), cache| {
            (cache.bytes.max(largest), all + cache.bytes * cache.instances as u64)
        });
        if largest == 0 { (USUAL_LAST_LEVEL_BYTES, USUAL_LAST_LEVEL_BYTES) } else { (largest, all) }
    }
}

/// "512K" in bytes.
fn kib(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.len().checked_sub(1)?);
    let factor = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|bytes| *bytes > 0)
}

/// "0-3,8" as numbers.
fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// What the control groups of this process, and those above them, let it use; no limit is the largest number.
fn group_bytes(root: &Path, groups: &str) -> u64 {
    let root = root.join("sys/fs/cgroup");
    let of_line = |line: &str| {
        let (hierarchy, controllers, group) = hierarchy_of(&root, line)?;
        let file = match controllers {
            "" => "memory.max",
            _ if controllers.split(',').any(|one| one == "memory") => "memory.limit_in_bytes",
            _ => return None,
        };
        let limit = |group: &Path| {
            let folder = hierarchy.join(group.strip_prefix("/").unwrap_or(group));
            fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok()
        };
        group.ancestors().filter_map(limit).min()
    };
    groups.lines().filter_map(of_line).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Two nodes of two CPUs; each pair shares its last cache.
    fn tree(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("memory-machine-{name}-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let file = root.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, text).expect("written");
        };
        for cpu in 0..4 {
            let pair = if cpu < 2 { "0-1" } else { "2-3" };
            let rows = [("1", "Data", "48K", cpu.to_string()), ("1", "Instruction", "32K", cpu.to_string())];
            let rows = rows.into_iter().chain([("3", "Unified", "33M", pair.to_owned())]);
            for (index, (level, kind, size, shared)) in rows.enumerate() {
                let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
                put(&format!("{folder}/level"), level);
                put(&format!("{folder}/type"), kind);
                put(&format!("{folder}/size"), size);
                put(&format!("{folder}/coherency_line_size"), "128");
                put(&format!("{folder}/shared_cpu_list"), &shared);
            }
        }
        put("sys/devices/system/node/online", "0-1\n");
        put("sys/devices/system/node/node0/cpulist", "0-1\n");
        put("sys/devices/system/node/node1/cpulist", "2-3\n");
        put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        put("proc/meminfo", "MemTotal: 8 kB\nMemAvailable:    2048 kB\n");
        put("proc/self/cgroup", "5:cpu,memory:/a/b\n0::/c\n");
        root
    }

    #[test]
    fn caches_are_counted_once_for_all_cpus_that_share_them() {
        let root = tree("whole");
        let machine = Machine::read(&root, vec![0, 1, 3]);
        fs::remove_dir_all(&root).expect("removed");
        let cache = |level, bytes, instances| Cache { level, bytes, instances };
        assert_eq!(machine.caches, [cache(1, 48 << 10, 3), cache(3, 33 << 20, 2)]);
        assert_eq!(machine.last_level_bytes(), (33 << 20, 66 << 20));
        assert_eq!(machine.nodes, BTreeMap::from([(0, vec![0, 1]), (1, vec![3])]));
        assert_eq!((machine.line_bytes, machine.available_bytes, machine.large_pages), (128, 2 << 20, true));
    }

    #[test]
    fn a_control_group_limits_what_is_available() {
        let root = tree("grouped");
        let limits = ["sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "sys/fs/cgroup/c/memory.max"];
        for (file, bytes) in limits.into_iter().zip([1 << 20, 1 << 19]) {
            let file = root.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, format!("{bytes}\n")).expect("written");
            assert_eq!(Machine::read(&root, vec![0]).available_bytes, bytes);
        }
        fs::write(root.join(limits[1]), "max\n").expect("written");
        assert_eq!(Machine::read(&root, vec![0]).available_bytes, 1 << 20);
        fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn a_machine_that_shows_nothing_is_taken_to_be_usual() {
        let machine = Machine::read(Path::new("/nonexistent"), vec![0]);
        assert_eq!(machine.last_level_bytes(), (USUAL_LAST_LEVEL_BYTES, USUAL_LAST_LEVEL_BYTES));
        assert_eq!((machine.line_bytes, machine.available_bytes, machine.large_pages), (64, 0, false));
    }

    #[test]
    fn sizes_that_are_none_are_no_sizes() {
        assert_eq!(
            ["512K", "1M", "0K", "12", "K", "", "99999999999999999999K"].map(kib),
            [Some(512 << 10), Some(1 << 20), None, None, None, None, None]
        );
    }
}
