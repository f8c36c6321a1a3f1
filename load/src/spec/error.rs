//! What is wrong with a spec.

use std::fmt;

/// What is wrong with a spec, naming the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError(pub String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad spec: {}", self.0)
    }
}

impl std::error::Error for SpecError {}

/// An error with this message, unless it holds.
pub(super) fn require(holds: bool, message: &str) -> Result<(), SpecError> {
    if holds { Ok(()) } else { Err(SpecError(message.to_owned())) }
}
