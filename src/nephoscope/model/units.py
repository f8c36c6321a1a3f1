"""SI prefixes and units of time, so that the code has no bare powers of ten. All internal values are SI."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

NANOSECONDS_PER_SECOND = 1_000_000_000
SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 24 * SECONDS_PER_HOUR
SECTOR_BYTES = 512
"""Unit of /proc/diskstats, whatever the device's own sector size is (kernel, Documentation/admin-guide/iostats)."""
