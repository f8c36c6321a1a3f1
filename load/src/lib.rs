//! Library of `nephoscope-load`, the load generator of nephoscope.
//!
//! A [`spec::Spec`] goes in, JSON lines ([`output`]) come out. One room a subject; each knows only rooms below it:
//!
//! ```text
//! cli            the command line
//! session        carries out one spec; merges shards; lists every statement
//! fill  verify   write rows, and note how far a load is; check what is there (verify borrows fill's sessions)
//! engine         threads, connections, arrivals: brings a workload, a target and a clock together
//! record         histograms and counts
//! output         the lines on stdout            agent   a machine's counters, its CPUs' speed, an emulated network
//! exit  stop     why and how the program ends
//! spec           what the program is asked to do
//! workload       operations, rows, conditions: knows neither rate nor histogram, does no input or output
//! target         connections and bytes: knows no workload
//! clock  tell    the time; sentences for people
//! ```
//!
//! `engine::pace` never reads a clock. `testkit` holds servers that only look like ones; only tests and benchmarks build
//! it (`--features testkit`).

// A closed stderr must not end the program: `tell` is the one way to say something.
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
pub mod workload;
