//! Library of `nephoscope-load`, the load generator of nephoscope.
//!
//! A [`spec::Spec`] goes in, JSON lines ([`output`]) come out. There is one room per subject, and a room knows only the
//! rooms below it in this drawing, which `tests/all/rooms.rs` checks:
//!
//! ```text
//! cli       the command line
//! testkit   fake servers for tests and benchmarks (feature `testkit`)
//! session   runs one spec; merges the outputs of shards; lists every SQL statement
//! verify    whether the data is right: conditions, counters of the server, fingerprints
//! fill      writes rows, and keeps a journal of the load
//! engine    threads, connections, arrivals: brings a workload, a target and a clock together
//! agent     a machine's counters, its CPUs' speed, an emulated network
//! record    histograms and counts
//! output    the lines on stdout
//! stop      one flag that asks every thread to stop
//! exit      how the program ends, and why
//! spec      what the program is asked to do
//! workload  operations, rows, conditions: knows neither rate nor histogram, and does no I/O
//! target    connections and bytes: knows no workload
//! clock     the time
//! tell      messages for people
//! words     counts with their nouns
//! ```
//!
//! `engine::pace` never reads a clock, so that tables can test it.

// A closed stderr must not end the program: only `tell` writes to it.
#![deny(clippy::print_stderr, clippy::print_stdout)]
#![cfg_attr(test, allow(clippy::print_stderr))]

pub mod agent;
pub mod cli;
pub mod clock;
pub mod engine;
pub mod exit;
pub mod fill;
pub mod output;
pub mod record;
pub mod session;
pub mod spec;
pub mod stop;
pub mod target;
pub mod tell;
#[cfg(feature = "testkit")]
pub mod testkit;
pub mod verify;
pub mod words;
pub mod workload;
