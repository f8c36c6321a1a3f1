"""Plan -> stored trials: order, timeouts, resume, teardown, signals."""
