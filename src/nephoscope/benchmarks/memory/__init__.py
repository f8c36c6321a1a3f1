"""Benchmarks of a machine's memory."""
