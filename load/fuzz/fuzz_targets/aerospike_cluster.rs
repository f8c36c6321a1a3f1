//! What nodes of Aerospike say of their cluster.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nephoscope_load::target::fuzzing;

fuzz_target!(|text: &str| fuzzing::aerospike_cluster(text));
