//! Whose the machine's CPU time is: the trial's, the kernel's or somebody else's.
//!
//! The trial's time is counted in the cheapest way that is right; all other time is the difference to /proc/stat, which
//! also shows processes that end within a second, or that live in another PID namespace. The processes behind that
//! difference are read only while it is over a limit. The kernel's are apart, because a trial causes them.

use super::group::Group;
use super::kept::OfProcesses;
use super::process::{self, Counts, Process};
use crate::clock::process_cpu_s;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Share of a core that reading the trial's processes may cost, and once more the others'. A reading that cost more is
/// followed by lines without one, so that the sampler stays below the limit of the check `sampler-cost` (0.5 %) with
/// thousands of processes too.
const AFFORDED: f64 = 0.0015;
/// Numbers of processes that are tried before all processes are listed again.
const MOST_TRIED: i32 = 200;
/// So many are tried at once in any case, and else one for this many processes, which cost as much in a list.
const FEW_TRIED: i32 = 8;
/// The loudest processes of an interval that are written.
const LOUDEST: usize = 10;
/// An ended process whose parent did not get its time; less than this is rounding.
const LOST_TICKS: u64 = 2;

/// Which processes are the trial's.
#[derive(Debug, Clone)]
pub enum Trial {
    /// This program's parent and everything below it: the controller on this machine.
    Parent,
    /// The sessions in the folder of jobs: see `nephoscope/machines/ssh/jobs.py`.
    Jobs(PathBuf),
    /// A control group.
    Group(PathBuf),
}

/// CPU time since this program's start.
#[derive(Debug, Clone, Serialize)]
pub struct Used {
    user_us: u64,
    system_us: u64,
    /// False: a process ended of which the last moments are not known, so the interval before this line says nothing.
    complete: bool,
    /// False: threads of the kernel cannot be told from processes that are not visible from here.
    kernel_visible: bool,
    /// Its processes that are stopped at this moment.
    stopped: usize,
    /// Others used more than the limit since the last reading.
    over_limit: bool,
    /// `None`: not read.
    others: Option<Others>,
}

/// CPU time of everybody else since they were last read.
#[derive(Debug, Clone, Serialize)]
pub struct Others {
    for_s: f64,
    kernel_us: u64,
    visible_us: u64,
    loudest: Vec<Loud>,
}

/// One process and its ended children.
#[derive(Debug, Clone, Serialize)]
pub struct Loud {
    pid: i32,
    name: String,
    cpu_us: u64,
}

/// Keeps the accounts from one reading to the next.
#[derive(Debug)]
pub struct Accounts {
    proc: PathBuf,
    stats: OfProcesses,
    groups: OfProcesses,
    trial: Trial,
    root: i32,
    /// Of a terminal, whose other jobs are not the trial's.
    session_of_root: i32,
    ticks_per_s: u64,
    limit_cpus: f64,
    group: Option<(Group, Counts)>,
    ours: HashMap<i32, Process>,
    sessions: HashSet<i32>,
    others: HashMap<i32, Process>,
    used: Counts,
    forks: Option<u64>,
    last_pid: Option<i32>,
    /// Numbers that were tried since all processes were listed.
    tried: i32,
    before: Option<Before>,
    own_due_s: f64,
    others_read_s: f64,
    others_due_s: f64,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    at_s: f64,
    busy: u64,
    used: u64,
}

/// What `/proc/stat` says at the moment of a reading.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Ticks in programs and in the kernel, without interrupts.
    pub busy: u64,
    /// Processes and threads started since boot.
    pub forks: Option<u64>,
    /// The number of the newest of them, where this program is; read after the others.
    pub last_pid: Option<i32>,
}

impl Accounts {
    /// Reads every process once.
    #[must_use]
    pub fn open(trial: Trial, limit_cpus: f64, proc: &Path, root: i32, at_s: f64, ticks_per_s: u64) -> Self {
        let mut accounts = Self {
            proc: proc.to_owned(),
            stats: OfProcesses::named(proc, "stat"),
            groups: OfProcesses::named(proc, "cgroup"),
            root,
            session_of_root: 0,
            ticks_per_s,
            limit_cpus,
            group: None,
            ours: HashMap::new(),
            sessions: HashSet::new(),
            others: HashMap::new(),
            used: Counts::default(),
            forks: None,
            last_pid: None,
            tried: 0,
            before: None,
            own_due_s: at_s,
            others_read_s: at_s,
            others_due_s: at_s,
            trial,
        };
        accounts.find_new(true, None);
        let group = match &accounts.trial {
            Trial::Group(folder) => Group::at(folder.clone(), ticks_per_s),
            Trial::Parent | Trial::Jobs(_) => {
                Group::of_this_process(&|pid| accounts.ours.contains_key(&pid), accounts.sees_kernel(), ticks_per_s)
            }
        };
        accounts.group = group.and_then(|group| group.used().map(|used| (group, used)));
        accounts
    }

    /// The accounts at this moment; `None` if they cannot be kept, or if reading them now would cost too much.
    pub fn read(&mut self, at_s: f64, machine: Machine) -> Option<Used> {
        if at_s < self.own_due_s || (self.group.is_none() && matches!(self.trial, Trial::Group(_))) {
            return None;
        }
        let began_s = process_cpu_s();
        if self.forks.is_none() || self.forks != machine.forks {
            self.forks = machine.forks;
            self.find_new(false, machine.last_pid);
        }
        let complete = self.read_ours();
        let middle_s = process_cpu_s();
        self.own_due_s = at_s + (middle_s - began_s) / AFFORDED - 0.5;
        let over_limit = self.over_limit(at_s, machine.busy);
        let others = if over_limit && at_s >= self.others_due_s {
            let others = self.read_others(at_s);
            self.others_due_s = at_s + (process_cpu_s() - middle_s) / AFFORDED - 0.5;
            Some(others)
        } else {
            None
        };
        self.before = Some(Before { at_s, busy: machine.busy, used: self.used.ticks() });
        Some(Used {
            user_us: self.us(self.used.user),
            system_us: self.us(self.used.system),
            complete,
            over_limit,
            kernel_visible: self.sees_kernel(),
            stopped: self.ours.values().filter(|process| process.stopped).count(),
            others,
        })
    }

    /// The trial's processes, and whether they were read just now.
    pub fn processes(&self) -> (&HashMap<i32, Process>, bool) {
        (&self.ours, self.group.is_none())
    }

    /// Meets the text of `/proc/PID/cgroup` of each of the trial's programs.
    pub fn groups(&mut self, mut meet: impl FnMut(&str)) {
        let began_s = process_cpu_s();
        let programs = self.programs();
        for pid in &programs {
            let _ended = self.groups.read(*pid, |text| {
                meet(text);
                Some(())
            });
        }
        self.groups.retain(|pid| programs.contains(&pid));
        self.own_due_s += (process_cpu_s() - began_s) / AFFORDED;
    }

    /// Processes that the controller has started, or nobody of the trial, and those that started others: a server's
    /// children are where it is.
    fn programs(&self) -> Vec<i32> {
        let parents: HashSet<i32> = self.ours.values().map(|process| process.parent).collect();
        let first = |parent: &i32| *parent == self.root || !self.ours.contains_key(parent);
        let programs = self.ours.iter().filter(|(pid, process)| first(&process.parent) || parents.contains(pid));
        programs.map(|(pid, _)| *pid).collect()
    }

    /// Its threads are visible only from the first PID namespace.
    fn sees_kernel(&self) -> bool {
        self.others.values().any(|process| process.kernel)
    }

    fn us(&self, ticks: u64) -> u64 {
        ticks * 1_000_000 / self.ticks_per_s
    }

    fn over_limit(&self, at_s: f64, busy: u64) -> bool {
        self.before.is_some_and(|before| {
            let ours = (self.used.ticks() - before.used) as f64;
            let theirs = busy.saturating_sub(before.busy) as f64 - ours;
            theirs > self.limit_cpus * (at_s - before.at_s) * self.ticks_per_s as f64
        })
    }

    /// Every process that was not there at the last call is the trial's or another one's. `first`: they were there
    /// before the first reading, so their time until now does not count.
    fn find_new(&mut self, first: bool, last_pid: Option<i32>) {
        let there = self.maybe_new(last_pid);
        let mut new: HashMap<i32, Process> = HashMap::new();
        if self.join_jobs() {
            // A job may have been seen before the file that names its session, and before it had that session.
            let (kernel, seen) = self.others.drain().partition(|(_, process)| process.kernel);
            (self.others, new) = (kernel, seen);
            for (pid, process) in &mut new {
                let now = self.stats.read(*pid, Process::parse).filter(|now| now.started == process.started);
                process.session = now.map_or(process.session, |now| now.session);
            }
        }
        for pid in there {
            if self.ours.contains_key(&pid) || self.others.contains_key(&pid) || new.contains_key(&pid) {
                continue;
            }
            if let Some(mut process) = self.stats.read(pid, Process::parse).filter(|process| !process.is_thread) {
                if !first {
                    (process.own, process.reaped) = (Counts::default(), Counts::default());
                }
                new.insert(pid, process);
            }
        }
        self.take_ours(&mut new);
        self.others.extend(new);
    }

    /// Numbers of the processes that may be new: those that were given out since the last call, if they are few, or of
    /// all that are there.
    fn maybe_new(&mut self, last_pid: Option<i32>) -> Vec<i32> {
        let before = std::mem::replace(&mut self.last_pid, last_pid);
        if let Some((before, last)) = before.zip(last_pid).filter(|(before, last)| before <= last) {
            let known = i32::try_from(self.ours.len() + self.others.len()).unwrap_or(i32::MAX);
            self.tried = self.tried.saturating_add(last - before);
            if self.tried <= MOST_TRIED && last - before <= FEW_TRIED.max(known / FEW_TRIED) {
                return (before + 1..=last).collect();
            }
        }
        self.tried = 0;
        let there = process::all(&self.proc);
        let is_there: HashSet<i32> = there.iter().copied().collect();
        self.stats.retain(|pid| is_there.contains(&pid));
        if self.group.is_some() {
            self.ours.retain(|pid, _| is_there.contains(pid));
        }
        there
    }

    /// Moves those of the trial out of `new`, until no more are found: parents may come after their children.
    fn take_ours(&mut self, new: &mut HashMap<i32, Process>) {
        loop {
            let found = new.iter().filter(|(pid, process)| self.is_ours(**pid, process)).map(|(pid, _)| *pid);
            let found: Vec<i32> = found.collect();
            if found.is_empty() {
                return;
            }
            for pid in found {
                let Some(process) = new.remove(&pid) else { continue };
                if pid == self.root {
                    self.session_of_root = process.session;
                } else if process.session > 0 && process.session != self.session_of_root {
                    self.sessions.insert(process.session);
                }
                self.ours.insert(pid, process);
            }
        }
    }

    fn is_ours(&self, pid: i32, process: &Process) -> bool {
        let by_itself = match self.trial {
            Trial::Parent => pid == self.root,
            Trial::Jobs(_) => false,
            Trial::Group(_) => !process.kernel, // it has a PID namespace of its own
        };
        by_itself || self.ours.contains_key(&process.parent) || self.sessions.contains(&process.session)
    }

    /// Sessions of jobs that run; true if there are new ones.
    fn join_jobs(&mut self) -> bool {
        let Trial::Jobs(folder) = &self.trial else { return false };
        let Ok(jobs) = fs::read_dir(folder) else { return false };
        let running = jobs.flatten().map(|job| job.path()).filter(|job| !job.join("rc").exists());
        let sessions = running.filter_map(|job| fs::read_to_string(job.join("sid")).ok()?.trim().parse::<i32>().ok());
        let known = self.sessions.len();
        self.sessions.extend(sessions);
        self.sessions.len() > known
    }

    /// Adds what the trial used since the last call; false if something is missing.
    ///
    /// The time of a process that ended goes to its parent, if that waits for it: then the parent's gain contains what
    /// was counted already, and what the process used after that.
    fn read_ours(&mut self) -> bool {
        if let Some((group, start)) = &self.group {
            let stats = &mut self.stats;
            self.ours.retain(|pid, process| {
                let now = stats.read(*pid, Process::parse).filter(|now| now.started == process.started);
                process.stopped = now.as_ref().is_some_and(|now| now.stopped);
                now.is_some()
            });
            // A group also counts what its parent left behind.
            return group.used().map(|now| self.used = now.since(*start)).is_some();
        }
        let mut used = Counts::default();
        let (mut gained, mut ended) = (Counts::default(), Counts::default());
        let stats = &mut self.stats;
        let mut read = |pid: i32, started: u64| stats.read(pid, Process::parse).filter(|now| now.started == started);
        self.ours.retain(|pid, process| match read(*pid, process.started) {
            Some(now) => {
                used = used.plus(now.own.since(process.own));
                gained = gained.plus(now.reaped.since(process.reaped));
                *process = now;
                true
            }
            None => {
                ended = ended.plus(process.all());
                false
            }
        });
        self.used = self.used.plus(used).plus(gained.since(ended));
        ended.ticks() <= gained.ticks() + LOST_TICKS
    }

    fn read_others(&mut self, at_s: f64) -> Others {
        let (proc, stats) = (&self.proc, &mut self.stats);
        let mut ended: HashMap<i32, (i32, u64)> = HashMap::new();
        let mut gained: Vec<(i32, Process, u64, u64)> = Vec::new();
        let (mut kernel, mut visible) = (0, 0);
        self.others.retain(|pid, process| {
            let now = stats.read(*pid, Process::parse).filter(|now| now.started == process.started);
            let Some(now) = now else {
                ended.insert(*pid, (process.parent, process.all().ticks()));
                return false;
            };
            let spent = now.own.ticks().saturating_sub(process.own.ticks());
            let reaped = now.reaped.ticks().saturating_sub(process.reaped.ticks());
            if now.kernel {
                kernel += spent;
            } else if spent + reaped > 0 {
                gained.push((*pid, now.clone(), spent, reaped));
            }
            *process = now;
            true
        });
        let inherited = inherited(&ended);
        let mut loudest: Vec<(u64, i32, Process)> = Vec::new();
        for (pid, process, spent, reaped) in gained {
            let ticks = spent + reaped.saturating_sub(inherited.get(&pid).copied().unwrap_or_default());
            visible += ticks;
            loudest.push((ticks, pid, process));
        }
        loudest.sort_by_key(|(ticks, pid, _)| (std::cmp::Reverse(*ticks), *pid));
        loudest.truncate(LOUDEST);
        let loudest = loudest
            .into_iter()
            .map(|(ticks, pid, process)| Loud { pid, name: process.title(proc, pid), cpu_us: self.us(ticks) })
            .collect();
        let for_s = at_s - self.others_read_s;
        self.others_read_s = at_s;
        Others { for_s, kernel_us: self.us(kernel), visible_us: self.us(visible), loudest }
    }
}

/// Time of processes that ended, by the nearest ancestor that did not: it has waited for them.
fn inherited(ended: &HashMap<i32, (i32, u64)>) -> HashMap<i32, u64> {
    let mut found: HashMap<i32, u64> = HashMap::new();
    for (parent, ticks) in ended.values() {
        let mut heir = *parent;
        // At most as many steps as there are: numbers that were given out again may form a circle.
        for _ in 0..ended.len() {
            let Some((next, _)) = ended.get(&heir) else { break };
            heir = *next;
        }
        *found.entry(heir).or_default() += ticks;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A /proc of files.
    struct Files(PathBuf);

    impl Files {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("nephoscope-accounts-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn put(&self, pid: i32, parent: i32, session: i32, ticks: u64, reaped: u64) {
            let folder = self.0.join(pid.to_string());
            fs::create_dir_all(&folder).unwrap();
            let flags = if parent == 2 { KERNEL_FLAGS } else { 0 };
            let line = format!(
                "{pid} (p{pid}) S {parent} {pid} {session} 0 -1 {flags} 0 0 0 0 {ticks} 0 {reaped} 0 20 0 1 0 {pid}"
            );
            fs::write(folder.join("stat"), line).unwrap();
        }

        /// Here an open file of one that ended can still be read, but says nothing.
        fn end(&self, pid: i32) {
            fs::write(self.0.join(format!("{pid}/stat")), "").unwrap();
            fs::remove_dir_all(self.0.join(pid.to_string())).unwrap();
        }

        fn open(&self, trial: Trial) -> Accounts {
            Accounts::open(trial, 0.05, &self.0, 10, 0.0, 100)
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const KERNEL_FLAGS: u64 = 0x0020_0000;

    fn at(accounts: &mut Accounts, second: u32, busy: u64) -> Used {
        with_numbers_until(None, accounts, second, busy)
    }

    fn with_numbers_until(last_pid: Option<i32>, accounts: &mut Accounts, second: u32, busy: u64) -> Used {
        // However slow the machine of the test is, a reading is affordable.
        (accounts.own_due_s, accounts.others_due_s) = (0.0, 0.0);
        accounts.read(f64::from(second), Machine { busy, forks: Some(u64::from(second)), last_pid }).unwrap()
    }

    #[test]
    fn the_tree_below_the_parent_counts_with_children_that_ended() {
        let files = Files::new("tree");
        files.put(10, 1, 5, 1000, 0);
        files.put(11, 10, 11, 50, 0);
        files.put(20, 1, 5, 7, 0); // in the terminal's session, but not below the controller
        let mut accounts = files.open(Trial::Parent);
        assert_eq!(at(&mut accounts, 0, 0).user_us, 0);
        files.put(11, 10, 11, 80, 0);
        files.put(12, 11, 12, 20, 0);
        let used = at(&mut accounts, 1, 50);
        assert_eq!((used.user_us, used.complete, used.others.is_none()), (500_000, true, true));
        files.end(12);
        files.put(11, 10, 11, 80, 60); // 12 used 30 until it ended, children that nobody saw 30
        let used = at(&mut accounts, 2, 90);
        assert_eq!((used.user_us, used.complete), (900_000, true));
    }

    #[test]
    fn new_processes_are_found_by_the_numbers_given_out_and_in_a_list_where_these_began_anew_or_are_many() {
        let files = Files::new("numbers");
        files.put(10, 1, 5, 0, 0);
        let mut accounts = files.open(Trial::Parent);
        let mut used_until = |last_pid, second| with_numbers_until(Some(last_pid), &mut accounts, second, 0).user_us;
        assert_eq!(used_until(20, 0), 0);
        files.put(22, 10, 22, 30, 0);
        files.put(23, 10, 23, 40, 0);
        let thread = files.0.join("23/stat");
        let ends_with = format!("{} -1\n", " 0".repeat(15));
        fs::write(&thread, fs::read_to_string(&thread).unwrap() + &ends_with).unwrap();
        assert_eq!(used_until(21, 1), 0, "22 got its number after that was asked");
        assert_eq!(used_until(25, 2), 300_000, "23 is a thread");
        files.put(7, 10, 7, 50, 0);
        assert_eq!(used_until(7, 3), 800_000);
        files.put(9, 10, 9, 20, 0);
        assert_eq!(used_until(9 + FEW_TRIED + 1, 4), 1_000_000);
    }

    #[test]
    fn an_orphan_of_an_own_session_still_counts_until_it_ends_without_a_trace() {
        let files = Files::new("orphan");
        files.put(10, 1, 5, 0, 0);
        files.put(11, 10, 11, 0, 0);
        let mut accounts = files.open(Trial::Parent);
        at(&mut accounts, 0, 0);
        files.put(12, 1, 11, 40, 0);
        assert_eq!(at(&mut accounts, 1, 40).user_us, 400_000);
        files.end(12);
        let used = at(&mut accounts, 2, 60);
        assert_eq!((used.user_us, used.complete), (400_000, false));
    }

    #[test]
    fn others_are_read_over_the_limit_and_the_kernel_is_apart() {
        let files = Files::new("others");
        files.put(2, 0, 0, 0, 0);
        files.put(3, 2, 0, 100, 0);
        files.put(10, 1, 5, 0, 0);
        files.put(20, 1, 20, 5000, 500);
        let mut accounts = files.open(Trial::Parent);
        at(&mut accounts, 0, 0);
        files.put(20, 1, 20, 5003, 500);
        assert!(at(&mut accounts, 1, 3).others.is_none());
        files.put(20, 1, 20, 5050, 520);
        files.put(3, 2, 0, 110, 0);
        files.put(30, 20, 20, 15, 0);
        files.put(31, 30, 20, 5, 0);
        let others = at(&mut accounts, 2, 100).others.unwrap();
        assert_eq!((others.kernel_us, others.visible_us, others.for_s), (100_000, 900_000, 2.0));
        let loudest: Vec<_> = others.loudest.iter().map(|one| (one.pid, one.name.as_str(), one.cpu_us)).collect();
        assert_eq!(loudest, [(20, "p20", 700_000), (30, "p30", 150_000), (31, "p31", 50_000)]);
        files.end(31);
        files.end(30);
        files.put(20, 1, 20, 5050, 545); // 20 of the 25 were counted as its child's and grandchild's
        let others = at(&mut accounts, 3, 200).others.unwrap();
        assert_eq!((others.visible_us, others.loudest[0].cpu_us), (50_000, 50_000));
    }

    #[test]
    fn jobs_are_found_by_their_sessions_even_if_these_and_their_files_come_late() {
        let files = Files::new("jobs");
        let jobs = files.0.join("jobs");
        for (job, sid) in [("one", "40"), ("ended", "60")] {
            fs::create_dir_all(jobs.join(job)).unwrap();
            fs::write(jobs.join(job).join("sid"), sid).unwrap();
        }
        fs::write(jobs.join("ended/rc"), "0").unwrap();
        files.put(40, 1, 40, 0, 0);
        files.put(60, 1, 60, 0, 0);
        let mut accounts = files.open(Trial::Jobs(jobs.clone()));
        at(&mut accounts, 0, 0);
        files.put(40, 1, 40, 10, 0);
        files.put(60, 1, 60, 10, 0); // its number was given to somebody else
        files.put(50, 1, 5, 10, 0); // before `setsid`
        assert_eq!(at(&mut accounts, 1, 12).user_us, 100_000);
        files.put(50, 1, 50, 10, 0);
        fs::create_dir_all(jobs.join("two")).unwrap();
        fs::write(jobs.join("two/sid"), "50\n").unwrap();
        assert_eq!(at(&mut accounts, 2, 30).user_us, 200_000);
    }

    #[test]
    fn stopped_processes_are_counted_and_groups_are_those_of_programs() {
        let files = Files::new("programs");
        for (pid, parent, session) in [(10, 1, 5), (11, 10, 11), (12, 11, 12), (13, 11, 13), (20, 1, 20)] {
            files.put(pid, parent, session, 0, 0);
            fs::write(files.0.join(format!("{pid}/cgroup")), format!("0::/of-{pid}\n")).unwrap();
        }
        let mut accounts = files.open(Trial::Parent);
        assert_eq!(at(&mut accounts, 0, 0).stopped, 0);
        for pid in [11, 12, 20] {
            let file = files.0.join(format!("{pid}/stat"));
            fs::write(&file, fs::read_to_string(&file).unwrap().replace(" S ", " T ")).unwrap();
        }
        assert_eq!(at(&mut accounts, 1, 0).stopped, 2);
        for _ in 0..2 {
            let mut groups = HashSet::new();
            accounts.groups(|text| {
                groups.insert(text.to_owned());
            });
            assert_eq!(groups, HashSet::from(["0::/of-10\n", "0::/of-11\n"].map(str::to_owned)));
        }
    }

    #[test]
    fn a_stopped_tool_below_its_supervisor_is_counted_in_a_control_group_too() {
        let files = Files::new("supervised");
        for (pid, parent, state) in [(10, 1, "S"), (11, 10, "S"), (12, 11, "T")] {
            files.put(pid, parent, 10, 0, 0);
            let file = files.0.join(format!("{pid}/stat"));
            fs::write(&file, fs::read_to_string(&file).unwrap().replace(" S ", &format!(" {state} "))).unwrap();
        }
        fs::write(files.0.join("cpu.stat"), "usage_usec 0\nuser_usec 0\nsystem_usec 0\n").unwrap();
        let mut accounts = files.open(Trial::Group(files.0.clone()));
        assert_eq!(at(&mut accounts, 0, 0).stopped, 1);
        fs::remove_dir_all(files.0.join("12")).unwrap();
        assert_eq!(at(&mut accounts, 1, 0).stopped, 0);
    }

    #[test]
    fn a_reading_that_costs_too_much_is_left_out() {
        let files = Files::new("cost");
        files.put(10, 1, 5, 0, 0);
        let mut accounts = files.open(Trial::Parent);
        accounts.own_due_s = 3.0;
        assert!(accounts.read(2.0, Machine { busy: 0, forks: None, last_pid: None }).is_none());
        assert!(accounts.read(3.0, Machine { busy: 0, forks: None, last_pid: None }).is_some());
    }
}
