"""Storage benchmarks."""
