"""CockroachDB."""
