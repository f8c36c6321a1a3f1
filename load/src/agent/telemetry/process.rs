//! One process, as `/proc/PID/stat` reports it.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Longest name of a process that is written.
const NAME_CHARACTERS: usize = 60;
/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Programs whose first argument says more about them than their own name.
const INTERPRETERS: [&str; 8] = ["python", "perl", "ruby", "node", "bash", "dash", "sh", "php"];

/// CPU time in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// In the program.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
}

impl Ticks {
    /// Both.
    #[must_use]
    pub fn sum(self) -> u64 {
        self.user + self.system
    }

    /// With more of both.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self { user: self.user + more.user, system: self.system + more.system }
    }

    /// What came since `earlier`. The kernel's split between user and system may run backwards by a tick.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { user: self.user.saturating_sub(earlier.user), system: self.system.saturating_sub(earlier.system) }
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
    /// A signal or a debugger stopped it.
    pub stopped: bool,
    /// When it started; with its number it is unique.
    pub started: u64,
    /// CPU time of its threads, of those that ended too.
    pub own: Ticks,
    /// CPU time of its children that ended and that it reaped, with theirs.
    pub reaped: Ticks,
    /// The kernel's name of it, at most 15 bytes.
    pub name: String,
}

impl Process {
    /// Its own time and that of its ended children.
    #[must_use]
    pub fn all(&self) -> Ticks {
        self.own.plus(self.reaped)
    }

    /// Reads one; `None` if it has ended.
    #[must_use]
    pub fn read(proc: &Path, pid: i32) -> Option<Self> {
        let mut text = [0; 1024];
        let mut file = File::open(proc.join(pid.to_string()).join("stat")).ok()?;
        let length = file.read(&mut text).ok()?;
        Self::parse(&String::from_utf8_lossy(&text[..length]))
    }

    /// The line of `/proc/PID/stat`. The name in brackets may hold anything, brackets and blanks too.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (start, rest) = text.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        Some(Self {
            stopped: matches!(*words.first()?, "T" | "t"),
            parent: words.get(1)?.parse().ok()?,
            session: words.get(3)?.parse().ok()?,
            kernel: number(6)? & KERNEL_THREAD != 0,
            own: Ticks { user: number(11)?, system: number(12)? },
            reaped: Ticks { user: number(13)?, system: number(14)? },
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

    const STAT: &str = "77 (a) b) S 5 6 7 0 -1 4194560 10 0 0 0 250 50 30 20 20 0 4 0 100 1 1\n";

    #[test]
    fn a_line_with_a_bracket_in_its_name() {
        let read = Process::parse(STAT).unwrap();
        assert_eq!((read.parent, read.session, read.kernel, read.started), (5, 7, false, 100));
        assert_eq!((read.own, read.reaped), (Ticks { user: 250, system: 50 }, Ticks { user: 30, system: 20 }));
        assert_eq!((read.name.as_str(), read.all().sum()), ("a) b", 350));
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
