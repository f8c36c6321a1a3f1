//! Which of a run's clients one generator, or one of its threads, serves.

/// The clients that one thread of one generator serves: every `stride`-th of the run's, from `first` on. Which share a
/// client belongs to changes neither what it does nor, in the constant pace, when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Its first client.
    pub first: u32,
    /// Number of shares in the run.
    pub stride: u32,
    /// Clients of the run.
    pub clients: u32,
    /// Operations of the run, at most.
    pub operations: Option<u64>,
}

impl Share {
    /// Number of its clients.
    #[must_use]
    pub fn len(self) -> u32 {
        self.clients.saturating_sub(self.first).div_ceil(self.stride)
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The number, in the run, of its `index`-th client.
    #[must_use]
    pub fn client(self, index: u32) -> u32 {
        self.first + index * self.stride
    }

    /// Its own number of one of its clients.
    #[must_use]
    pub fn index(self, client: u32) -> u32 {
        (client - self.first) / self.stride
    }

    /// Whether the run has this turn of this client: the first `operations` of all turns, in the order of arrivals.
    #[must_use]
    pub fn has_turn(self, client: u32, turn: u64) -> bool {
        self.operations.is_none_or(|operations| turn * u64::from(self.clients) + u64::from(client) < operations)
    }
}
