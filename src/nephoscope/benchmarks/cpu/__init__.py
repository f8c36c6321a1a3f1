"""CPU benchmarks."""
