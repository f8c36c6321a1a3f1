//! One process, as `/proc/PID/stat` reports it.

use std::fs;
use std::path::Path;

/// As much of a program's name as the kernel keeps (`TASK_COMM_LEN`, with the zero at its end).
pub const KERNEL_NAME_BYTES: usize = 15;
/// Longest name of a process that is written.
const NAME_CHARACTERS: usize = 60;
/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Of the words behind the name: the signal that tells a parent of a process's end, which a thread never sends.
const EXIT_SIGNAL: usize = 35;
/// Programs whose first argument says more about them than their own name.
const INTERPRETERS: [&str; 8] = ["python", "perl", "ruby", "node", "bash", "dash", "sh", "php"];

/// What processes have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clock ticks in the program.
    pub user: u64,
    /// Clock ticks in the kernel.
    pub system: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
}

impl Counts {
    /// CPU time, in clock ticks.
    #[must_use]
    pub fn ticks(self) -> u64 {
        self.user + self.system
    }

    /// With more of all.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        self.with(more, |this, more| this + more)
    }

    /// What came since `earlier`. The kernel's split between user and system may run backwards by a tick.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(self, other: Self, combined: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            user: combined(self.user, other.user),
            system: combined(self.system, other.system),
            minor_faults: combined(self.minor_faults, other.minor_faults),
            major_faults: combined(self.major_faults, other.major_faults),
        }
    }
}

/// One process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its parent.
    pub parent: i32,
    /// Its session; 0: the session's leader is in another PID namespace.
    pub session: i32,
    /// A thread of the kernel.
    pub kernel: bool,
    /// No process, but a thread of one: a list of processes has none of these, but each can be opened by its number.
    pub is_thread: bool,
    /// A signal or a debugger stopped it.
    pub stopped: bool,
    /// When it started; with its number it is unique.
    pub started: u64,
    /// Its threads that are there.
    pub threads: u64,
    /// Of its threads, of those that ended too.
    pub own: Counts,
    /// Of its children that ended and that it reaped, with theirs.
    pub reaped: Counts,
    /// The kernel's name of it, at most 15 bytes.
    pub name: String,
}

impl Process {
    /// Its own and that of its ended children.
    #[must_use]
    pub fn all(&self) -> Counts {
        self.own.plus(self.reaped)
    }

    /// Reads one; `None` if it has ended.
    #[must_use]
    pub fn read(proc: &Path, pid: i32) -> Option<Self> {
        let line = fs::read(proc.join(pid.to_string()).join("stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&line)) // a name may be any bytes
    }

    /// The line of `/proc/PID/stat`. The name in brackets may hold anything, brackets and blanks too.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (start, rest) = text.rsplit_once(')')?;
        let mut words = [""; EXIT_SIGNAL + 1];
        words.iter_mut().zip(rest.split_ascii_whitespace()).for_each(|(place, word)| *place = word);
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let counts = |[user, system, minor, major]: [usize; 4]| {
            let (minor_faults, major_faults) = (number(minor)?, number(major)?);
            Some(Counts { user: number(user)?, system: number(system)?, minor_faults, major_faults })
        };
        Some(Self {
            is_thread: words[EXIT_SIGNAL] == "-1",
            stopped: matches!(words[0], "T" | "t"),
            parent: words.get(1)?.parse().ok()?,
            session: words.get(3)?.parse().ok()?,
            kernel: number(6)? & KERNEL_THREAD != 0,
            own: counts([11, 12, 7, 9])?,
            reaped: counts([13, 14, 8, 10])?,
            threads: number(17)?,
            started: number(19)?,
            name: start.split_once('(')?.1.to_owned(),
        })
    }

    /// For people: `python3 burn.py`. Of the command line, which may hold passwords, only the name of a script is shown.
    #[must_use]
    pub fn title(&self, proc: &Path, pid: i32) -> String {
        let line = fs::read(proc.join(pid.to_string()).join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split('\0').map(|word| word.rsplit('/').next().unwrap_or_default());
        let program = words.next().filter(|program| INTERPRETERS.iter().any(|one| program.starts_with(one)));
        let script = match words.next() {
            Some("-m") if program.is_some_and(|program| program.starts_with("python")) => words.next(),
            word => word,
        };
        let script = script.filter(|word| !word.is_empty() && !word.starts_with('-'));
        let title = match (program, script) {
            (Some(program), Some(script)) => format!("{program} {script}"),
            _ => self.name.clone(),
        };
        title.chars().filter(|character| !character.is_control()).take(NAME_CHARACTERS).collect()
    }
}

/// Numbers of all processes that are there.
#[must_use]
pub fn all(proc: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(proc) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "77 (a) b) S 5 6 7 0 -1 4194560 10 1 2 0 250 50 30 20 20 0 4 0 100 1 1\n";

    #[test]
    fn a_name_may_be_any_bytes() {
        let proc = std::env::temp_dir().join(format!("nephoscope-process-{}", std::process::id()));
        fs::create_dir_all(proc.join("77")).unwrap();
        let line = [b"77 (\xff\xfe) S 5", STAT.split_once(" S 5").unwrap().1.as_bytes()].concat();
        fs::write(proc.join("77/stat"), line).unwrap();
        assert_eq!(Process::read(&proc, 77).map(|read| read.started), Some(100));
        fs::remove_dir_all(proc).unwrap();
    }

    #[test]
    fn a_line_with_a_bracket_in_its_name() {
        let read = Process::parse(STAT).unwrap();
        assert_eq!((read.parent, read.session, read.kernel, read.started), (5, 7, false, 100));
        assert_eq!(read.own, Counts { user: 250, system: 50, minor_faults: 10, major_faults: 2 });
        assert_eq!(read.reaped, Counts { user: 30, system: 20, minor_faults: 1, major_faults: 0 });
        assert_eq!((read.name.as_str(), read.all().ticks(), read.threads), ("a) b", 350, 4));
        for length in 0..STAT.find(" 100 ").unwrap() {
            assert_eq!(Process::parse(&STAT[..length]), None, "cut at {length}");
        }
        assert!(Process::parse(&STAT.replace("4194560", "2129984")).unwrap().kernel);
        let stopped = |state: &str| Process::parse(&STAT.replace(") S ", state)).unwrap().stopped;
        assert_eq!([") S ", ") T ", ") t ", ") D "].map(stopped), [false, true, true, false]);
    }

    #[test]
    fn a_title_shows_the_script_and_no_other_argument() {
        let folder = std::env::temp_dir().join(format!("nephoscope-titles-{}", std::process::id()));
        let title = |words: &str| {
            fs::create_dir_all(folder.join("9")).unwrap();
            fs::write(folder.join("9/cmdline"), words).unwrap();
            Process::parse(&STAT.replace("a) b", "comm")).unwrap().title(&folder, 9)
        };
        assert_eq!(title("/usr/bin/python3\0/home/me/burn.py\0--token=x\0"), "python3 burn.py");
        assert_eq!(title("python3.11\0-m\0pytest\0-q\0"), "python3.11 pytest");
        assert_eq!(title("mysql\0secret\0"), "comm");
        assert_eq!(title("sh\0-c\0secret\0"), "comm");
        assert_eq!(title(""), "comm");
        fs::remove_dir_all(folder).unwrap();
    }
}
