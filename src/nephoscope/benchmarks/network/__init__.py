"""Network benchmarks between two machines."""
