"""Price lists of others -> rows. Files in, rows out; no network."""
