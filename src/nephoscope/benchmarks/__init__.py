"""The benchmarks, one file each: metrics, needs, prepare, run, and a pure parser."""
