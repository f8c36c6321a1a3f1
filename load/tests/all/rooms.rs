//! The drawing in `lib.rs` is what the modules import, and no import leads back, neither between rooms nor in one.

use std::collections::{BTreeMap, BTreeSet};
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

/// A file without its unit tests and comments.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
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
        for line in code(text).lines() {
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

type Module = Vec<String>;

/// The code of each file by its path of modules. A `mod.rs` is left out: it names what its folder holds.
fn modules(folder: &Path, module: &Module, all: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        let path = [&module[..], std::slice::from_ref(&name)].concat();
        if entry.is_dir() {
            modules(&entry, &path, all);
        } else if !["mod", "lib", "main", "tests"].contains(&name.as_str()) {
            all.insert(path, code(&fs::read_to_string(&entry).unwrap()));
        }
    }
}

/// Reads `a::b` or `a::{b, c::d}` off the front of a text: all paths that it stands for, and the rest of the text.
fn paths(text: &str) -> (Vec<Module>, &str) {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':');
    let (path, mut rest) = text.split_at(end.unwrap_or(text.len()));
    let path: Module = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if !rest.starts_with('{') {
        return (vec![path], rest);
    }
    let mut all = Vec::new();
    while !rest.starts_with('}') {
        let (ends, behind) = paths(rest[1..].trim_start());
        all.extend(ends.into_iter().map(|end| [&path[..], &end].concat()));
        rest = &behind[behind.find([',', '}']).unwrap()..];
        if rest[1..].trim_start().starts_with('}') {
            rest = rest[1..].trim_start();
        }
    }
    (all, &rest[1..])
}

/// The files that a file imports from, or names in its code.
fn imports<'a>(module: &Module, code: &str, all: &'a BTreeMap<Module, String>) -> BTreeSet<&'a Module> {
    let mut imported = BTreeSet::new();
    for (start, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..start].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':') {
            continue;
        }
        for path in paths(&code[start..]).0 {
            let supers = path.iter().take_while(|part| *part == "super").count();
            let from = if supers == 0 { &[] } else { &module[..module.len() - supers] };
            let full = [from, &path[supers.max(1)..]].concat();
            let file = (1..=full.len()).rev().find_map(|length| all.get_key_value(&full[..length]));
            imported.extend(file.map(|(file, _)| file).filter(|file| *file != module));
        }
    }
    imported
}

#[test]
fn no_file_imports_from_one_that_imports_from_it() {
    let mut all = BTreeMap::new();
    modules(Path::new(SOURCES), &Vec::new(), &mut all);
    let mut open: BTreeMap<_, _> = all.iter().map(|(module, code)| (module, imports(module, code, &all))).collect();
    assert!(open.values().map(BTreeSet::len).sum::<usize>() > 200, "the sources were read");
    // A file of a circle always waits for another one.
    while let Some(last) = open.iter().find(|(_, imported)| imported.is_empty()).map(|(module, _)| *module) {
        open.remove(last);
        for imported in open.values_mut() {
            imported.remove(last);
        }
    }
    let left: Vec<_> = open.keys().map(|module| module.join("::")).collect();
    assert!(left.is_empty(), "these files import each other, or from such a circle: {left:?}");
}

#[test]
fn braces_of_an_import_are_multiplied_out() {
    let all = paths("crate::a::{self, b::{c, d},\n    e as f,\n}; more").0;
    let joined: Vec<_> = all.iter().map(|path| path.join("::")).collect();
    assert_eq!(joined, ["crate::a::self", "crate::a::b::c", "crate::a::b::d", "crate::a::e"]);
}
