//! The drawing in `lib.rs` is what the modules import.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// Rooms from top to bottom, as the drawing has them.
fn drawn() -> Vec<String> {
    let text = fs::read_to_string(format!("{SOURCES}/lib.rs")).unwrap();
    let drawing = text.split("```").nth(1).unwrap();
    let lines = drawing.lines().filter_map(|line| line.strip_prefix("//! "));
    lines.filter_map(|line| line.split_ascii_whitespace().next()).map(str::to_owned).collect()
}

/// The Rust files of a room without its tests: one file, or a folder.
fn files(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| files(&entry.unwrap().path(), found));
    } else if path.is_file() && path.file_name().is_some_and(|name| name != "tests.rs") {
        found.push(fs::read_to_string(path).unwrap());
    }
}

/// What a room's code names behind `crate::`; comments and unit tests may name any room.
fn known(room: &str) -> BTreeSet<String> {
    let mut texts = Vec::new();
    for path in [room.to_owned(), format!("{room}.rs")] {
        files(&Path::new(SOURCES).join(path), &mut texts);
    }
    assert!(!texts.is_empty(), "{room} has no file");
    let mut names = BTreeSet::new();
    for text in &texts {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let room = |path: &str| path.split(|letter: char| !letter.is_alphanumeric()).next().unwrap().to_owned();
            names.extend(line.split("crate::").skip(1).map(room));
        }
    }
    names
}

#[test]
fn every_module_of_the_crate_is_drawn() {
    let text = fs::read_to_string(format!("{SOURCES}/lib.rs")).unwrap();
    let modules: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let drawn = drawn();
    assert_eq!(drawn.iter().map(String::as_str).collect::<BTreeSet<_>>(), modules);
}

#[test]
fn rooms_know_only_rooms_below_them() {
    let drawn = drawn();
    let mut arrows = 0;
    for (place, room) in drawn.iter().enumerate() {
        for other in known(room).iter().filter(|other| *other != room) {
            let below = drawn[place + 1..].contains(other);
            assert!(below, "{room} uses crate::{other}, which is not below it in the drawing of lib.rs");
            arrows += 1;
        }
    }
    assert!(arrows > 20, "the sources were read: {arrows} arrows");
}
