//! Which part of the work one of several generators does.

use serde::{Deserialize, Serialize};

/// A share of the work: `index` of `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardSpec {
    /// From 0.
    #[serde(default)]
    pub index: u32,
    /// At least 1.
    #[serde(default = "one")]
    pub count: u32,
}

impl ShardSpec {
    /// Whether one generator drives the load alone.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.count == 1
    }
}

impl Default for ShardSpec {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

fn one() -> u32 {
    1
}
