"""Database workloads."""
