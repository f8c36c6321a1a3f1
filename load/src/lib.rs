//! Library of `nephoscope-load`, the load generator of nephoscope.
//!
//! A [`spec::Spec`] goes in, JSON lines ([`output`]) come out. [`session`] carries one spec out: it connects, lets
//! [`loader`] fill tables, [`engine`] drive a [`workload`] against a [`target`], or [`check`] ask whether the data
//! still makes sense. [`pace`] decides when an operation is due, [`record`] keeps how long it took.
//!
//! Who may know what: `pace` never reads a clock; `workload` knows neither rate nor histogram; `target` knows no
//! workload; only `engine` brings them together.

// A closed stderr must not end the program: `tell` is the one way to say something.
#![deny(clippy::print_stderr, clippy::print_stdout)]
#![cfg_attr(test, allow(clippy::print_stderr))]

pub mod admin;
pub mod check;
pub mod cli;
pub mod engine;
pub mod exit;
pub mod fake_target;
pub mod fingerprint;
pub mod headline;
pub mod journal;
pub mod kernel;
pub mod keyspace;
pub mod loader;
pub mod merge;
pub mod outcome;
pub mod output;
pub mod pace;
pub mod record;
pub mod recordset;
mod rows;
pub mod session;
pub mod spec;
pub mod sql;
pub mod statistics;
pub mod stop;
pub mod target;
pub mod telemetry;
pub mod tell;
pub mod wire;
pub mod workload;
