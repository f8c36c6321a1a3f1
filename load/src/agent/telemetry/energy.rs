//! Energy of the machine's CPUs, where its kernel shows RAPL counters (`/sys/class/powercap`).

use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Of one package: its counter, which starts anew at `range_uj`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Energy {
    package: String,
    energy_uj: u64,
    range_uj: u64,
}

/// The folders of the packages.
#[derive(Debug)]
pub struct Packages(Vec<PathBuf>);

impl Packages {
    /// None where the machine shows none, or shows them to nobody but root.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self::at(Path::new("/sys/class/powercap"))
    }

    fn at(powercap: &Path) -> Self {
        let zones = fs::read_dir(powercap).into_iter().flatten().flatten().map(|zone| zone.path());
        let mut packages: Vec<PathBuf> = zones.filter(|zone| energy_of(zone).is_some()).collect();
        packages.sort();
        Self(packages)
    }

    /// Their counters now.
    #[must_use]
    pub fn read(&self) -> Vec<Energy> {
        self.0.iter().filter_map(|zone| energy_of(zone)).collect()
    }
}

/// A zone below a package is a part of it, and `psys` contains it; `intel-rapl-mmio` counts the same by another way.
fn energy_of(zone: &Path) -> Option<Energy> {
    let read = |name: &str| fs::read_to_string(zone.join(name)).ok().map(|text| text.trim().to_owned());
    let package = read("name").filter(|name| name.starts_with("package-"))?;
    let is_mmio = zone.file_name()?.to_str()?.starts_with("intel-rapl-mmio");
    let number = |name: &str| read(name)?.parse().ok();
    (!is_mmio).then_some(Energy { package, energy_uj: number("energy_uj")?, range_uj: number("max_energy_range_uj")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_count_once() {
        let folder = std::env::temp_dir().join(format!("nephoscope-energy-{}", std::process::id()));
        for (zone, name) in [
            ("intel-rapl:0", "package-0"),
            ("intel-rapl:0:0", "core"),
            ("intel-rapl:1", "psys"),
            ("intel-rapl-mmio:0", "package-0"),
        ] {
            fs::create_dir_all(folder.join(zone)).unwrap();
            for (file, text) in [("name", name), ("energy_uj", "7"), ("max_energy_range_uj", "100")] {
                fs::write(folder.join(zone).join(file), format!("{text}\n")).unwrap();
            }
        }
        let energy = Energy { package: "package-0".to_owned(), energy_uj: 7, range_uj: 100 };
        assert_eq!(Packages::at(&folder).read(), [energy]);
        assert!(Packages::at(&folder.join("none")).read().is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}
