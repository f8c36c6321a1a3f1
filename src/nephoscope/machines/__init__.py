"""One port to a machine, and the facts observed on it."""
