//! What the measured server has used, by its processes: those with the name of its program, and everything below them.
//!
//! What a process that ended used comes with its parent's counters of children that it has waited for, as far as it was
//! not counted already. Only switches of context are counted by thread and die with it.

use super::parse::schedstat;
use super::process::{self, Counts, Process};
use serde::Serialize;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Since the first reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Served {
    /// That are there at this moment.
    processes: usize,
    user_us: u64,
    system_us: u64,
    minor_faults: u64,
    major_faults: u64,
    /// How often a thread of it got a CPU; `None`: the kernel does not tell.
    context_switches: Option<u64>,
    /// CPU time of processes that ended before anybody read how often they got a CPU.
    unseen_us: u64,
}

/// Keeps the counters from one reading to the next.
#[derive(Debug)]
pub struct Server {
    proc: PathBuf,
    programs: Vec<String>,
    ticks_per_s: u64,
    members: HashMap<i32, Process>,
    /// How often each thread got a CPU.
    runs: HashMap<i32, u64>,
    used: Counts,
    /// Of processes that ended before they were read.
    unseen_ticks: u64,
    switches: Option<u64>,
    was_read: bool,
}

impl Server {
    /// Of these programs; the kernel knows the first 15 bytes of their names.
    #[must_use]
    pub fn of(programs: &[String], proc: PathBuf, ticks_per_s: u64) -> Self {
        Self {
            proc,
            programs: programs.iter().map(|name| name.chars().take(process::KERNEL_NAME_BYTES).collect()).collect(),
            ticks_per_s,
            members: HashMap::new(),
            runs: HashMap::new(),
            used: Counts::default(),
            unseen_ticks: 0,
            switches: Some(0),
            was_read: false,
        }
    }

    /// Its counters now; `None`: it is not on this machine. `trial`: the trial's processes; `fresh`: just read, else
    /// they are read here.
    pub fn read(&mut self, trial: &HashMap<i32, Process>, fresh: bool) -> Option<Served> {
        let mut now: HashMap<i32, Process> = HashMap::new();
        for pid in self.pids(trial) {
            let process = if fresh { trial.get(&pid).cloned() } else { Process::read(&self.proc, pid) };
            now.extend(process.map(|process| (pid, process)));
        }
        let (mut used, mut gained, mut ended) = (Counts::default(), Counts::default(), Counts::default());
        for (pid, process) in &now {
            let before = self.members.get(pid).filter(|before| before.started == process.started);
            let (own, reaped) = match before {
                Some(before) => (before.own, before.reaped),
                None if self.was_read => Default::default(),
                None => (process.own, process.reaped),
            };
            used = used.plus(process.own.since(own));
            gained = gained.plus(process.reaped.since(reaped));
        }
        for (pid, process) in &self.members {
            if now.get(pid).is_none_or(|after| after.started != process.started) {
                ended = ended.plus(process.all());
            }
        }
        let unseen = gained.since(ended);
        self.used = self.used.plus(used).plus(unseen);
        self.unseen_ticks += unseen.ticks();
        self.members = now;
        self.switches = self.switches_now();
        self.was_read = true;
        let is_here = !self.members.is_empty() || self.used != Counts::default();
        is_here.then(|| self.served())
    }

    fn served(&self) -> Served {
        let us = |ticks: u64| ticks * 1_000_000 / self.ticks_per_s;
        let Counts { user, system, minor_faults, major_faults } = self.used;
        Served {
            processes: self.members.len(),
            user_us: us(user),
            system_us: us(system),
            minor_faults,
            major_faults,
            context_switches: self.switches,
            unseen_us: us(self.unseen_ticks),
        }
    }

    /// By name, or by a parent that is one of them; a child may come before its parent.
    fn pids(&self, trial: &HashMap<i32, Process>) -> Vec<i32> {
        trial.iter().filter(|(_, process)| self.is_part(process, trial)).map(|(pid, _)| *pid).collect()
    }

    fn is_part<'a>(&self, mut process: &'a Process, trial: &'a HashMap<i32, Process>) -> bool {
        // At most as many steps as there are: numbers that were given out again may form a circle.
        for _ in 0..trial.len() {
            if self.programs.contains(&process.name) {
                return true;
            }
            let Some(parent) = trial.get(&process.parent) else { return false };
            process = parent;
        }
        false
    }

    fn switches_now(&mut self) -> Option<u64> {
        let mut runs = HashMap::new();
        for (&pid, process) in &self.members {
            let folder = self.proc.join(pid.to_string());
            if process.threads == 1 {
                runs.extend(runs_of(&folder).map(|count| (pid, count)));
                continue;
            }
            for thread in process::all(&folder.join("task")) {
                runs.extend(runs_of(&folder.join(format!("task/{thread}"))).map(|count| (thread, count)));
            }
        }
        let more = |(thread, count): (&i32, &u64)| match self.runs.get(thread) {
            Some(before) => count.saturating_sub(*before),
            None if self.was_read => *count,
            None => 0,
        };
        let switches = self.switches.filter(|_| self.members.is_empty() || !runs.is_empty());
        let switches = switches.map(|before| before + runs.iter().map(more).sum::<u64>());
        self.runs = runs;
        switches
    }
}

fn runs_of(folder: &Path) -> Option<u64> {
    schedstat(&fs::read_to_string(folder.join("schedstat")).ok()?).map(|(_, _, runs)| runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKS_PER_S: u64 = 100;

    /// A process of one thread: (pid, parent, name, ticks, reaped ticks, minor faults).
    type Row = (i32, i32, &'static str, u64, u64, u64);

    struct Files(PathBuf);

    impl Files {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("nephoscope-server-{name}-{}", std::process::id())))
        }

        /// The processes that there are now.
        fn put(&self, rows: &[Row]) -> HashMap<i32, Process> {
            let _ = fs::remove_dir_all(&self.0);
            let mut trial = HashMap::new();
            for &(pid, parent, name, ticks, reaped, faults) in rows {
                let folder = self.0.join(pid.to_string());
                fs::create_dir_all(&folder).unwrap();
                let line = format!(
                    "{pid} ({name}) S {parent} 1 1 0 -1 0 {faults} 0 1 0 {ticks} 0 {reaped} 0 20 0 1 0 {pid}\n"
                );
                fs::write(folder.join("stat"), &line).unwrap();
                fs::write(folder.join("schedstat"), format!("0 0 {}\n", 10 * ticks)).unwrap();
                trial.insert(pid, Process::parse(&line).unwrap());
            }
            trial
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const CONTROLLER: Row = (10, 1, "python3", 500, 0, 9);
    const GENERATOR: Row = (30, 10, "nephoscope-load", 700, 0, 9);

    fn sums(served: &Served) -> (u64, u64, Option<u64>) {
        (served.user_us, served.minor_faults, served.context_switches)
    }

    #[test]
    fn a_servers_processes_count_from_the_first_reading_and_those_that_end_keep_what_they_used() {
        for fresh in [true, false] {
            let files = Files::new(if fresh { "fresh" } else { "read" });
            let mut server = Server::of(&["postgres".to_owned()], files.0.clone(), TICKS_PER_S);
            let mut read = |rows: &[Row]| server.read(&files.put(rows), fresh);
            assert_eq!(read(&[CONTROLLER, GENERATOR]), None);
            let first = read(&[CONTROLLER, GENERATOR, (20, 10, "postgres", 0, 0, 0), (21, 20, "a helper", 0, 0, 0)]);
            assert_eq!(sums(&first.unwrap()), (0, 0, Some(0)));
            let second = [CONTROLLER, GENERATOR, (20, 10, "postgres", 5, 0, 3), (21, 20, "a helper", 100, 0, 4)];
            assert_eq!(sums(&read(&second).unwrap()), (1_050_000, 7, Some(1050)));
            // The helper used 5 more ticks until it ended.
            let third = read(&[CONTROLLER, (20, 10, "postgres", 5, 105, 3)]);
            let third = third.unwrap();
            assert_eq!((sums(&third), third.unseen_us), ((1_100_000, 7, Some(1050)), 50_000));
            assert_eq!(read(&[CONTROLLER]).unwrap().processes, 0);
        }
    }

    #[test]
    fn what_was_used_before_the_first_reading_does_not_count_and_names_are_as_long_as_the_kernels() {
        let files = Files::new("before");
        let mut server = Server::of(&["a-server-with-a-long-name".to_owned()], files.0.clone(), TICKS_PER_S);
        let row = |ticks| (20, 10, "a-server-with-a", ticks, 40, 8);
        assert_eq!(sums(&server.read(&files.put(&[row(700)]), true).unwrap()), (0, 0, Some(0)));
        assert_eq!(sums(&server.read(&files.put(&[row(730)]), true).unwrap()), (300_000, 0, Some(300)));
    }
}
