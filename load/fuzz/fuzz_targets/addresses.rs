//! Addresses of servers and where records are, as people write them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nephoscope_load::target::aerospike::Place;
use nephoscope_load::target::postgres::{Dsn, redact};
use nephoscope_load::target::resp::Url;

fuzz_target!(|text: &str| {
    let _ = Dsn::parse(text, |_| None);
    let _ = Url::parse(text, |_| None);
    let _ = Place::new(&[text.to_owned()], "test", text);
    let _ = redact(text);
});
