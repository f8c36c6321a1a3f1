"""One file each: metrics, needs, prepare, run, and a pure parser."""
