//! Files of the kernel that are read again and again. Each stays open, because opening one costs as much as reading it.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// More files are opened for each reading: the limit of a process is 1024.
const MOST_OPEN: usize = 512;
const CHUNK: usize = 4096;
/// An answer of less is all of the file: the kernel fills a page by lines, of which none is as long as half of it.
const SHORT: usize = CHUNK / 2;

/// One file.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    file: Option<File>,
}

impl Kept {
    /// It may come to exist later.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says now; `None` if it cannot be read. What was made anew under its name is read the next time.
    pub fn text(&mut self) -> Option<String> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let text = self.file.as_ref().and_then(whole);
        if text.is_none() {
            self.file = None;
        }
        text
    }
}

fn whole(file: &File) -> Option<String> {
    let mut bytes = Vec::new();
    let mut filled = 0;
    loop {
        bytes.resize(filled + CHUNK, 0);
        let more = file.read_at(&mut bytes[filled..], filled as u64).ok()?;
        filled += more;
        if more == 0 || filled < SHORT {
            bytes.truncate(filled);
            return String::from_utf8(bytes).ok();
        }
    }
}

/// One file of each process, such as `/proc/PID/stat`. A file of a process that ended says nothing, and another one
/// is opened if its number was given out again.
#[derive(Debug)]
pub struct OfProcesses {
    proc: PathBuf,
    name: &'static str,
    open: HashMap<i32, File>,
}

impl OfProcesses {
    /// Of all processes below `proc`.
    #[must_use]
    pub fn named(proc: &Path, name: &'static str) -> Self {
        Self { proc: proc.to_owned(), name, open: HashMap::new() }
    }

    /// Its first kilobyte, which is all of it, as `parse` understands it; `None` if the process has ended.
    pub fn read<T>(&mut self, pid: i32, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let mut text = [0; 1024];
        let mut length = self.open.get(&pid).and_then(|file| file.read_at(&mut text, 0).ok());
        if length.is_none() {
            self.open.remove(&pid);
            let file = File::open(self.proc.join(pid.to_string()).join(self.name)).ok()?;
            length = file.read_at(&mut text, 0).ok();
            if length.is_some() && self.open.len() < MOST_OPEN {
                self.open.insert(pid, file);
            }
        }
        parse(&String::from_utf8_lossy(&text[..length?]))
    }

    /// Closes those of processes that nobody reads any more.
    pub fn retain(&mut self, is_read: impl Fn(i32) -> bool) {
        self.open.retain(|pid, _| is_read(*pid));
    }
}
