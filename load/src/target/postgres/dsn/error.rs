//! What is wrong with a DSN.

use std::fmt;

/// Why a URL is rejected; one sentence, without the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DsnError(pub String);

impl fmt::Display for DsnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DsnError {}
