//! What Valkey and Redis say of their cluster.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nephoscope_load::target::fuzzing;

fuzz_target!(|text: &str| fuzzing::cluster_nodes(text));
