"""What a test says of a generated file that is not what the code says."""

STALE = "stale: run scripts/regenerate"
