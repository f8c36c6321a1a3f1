"""The page of `nephoscope serve`: studies while they run."""
