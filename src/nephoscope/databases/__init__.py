"""Systems under test: start, wait, stop, settings in force, logs."""
