"""Constants of the SI and of time, so that no bare power of ten stands in the code. Inside, everything is SI."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

NANOSECONDS_PER_SECOND = 1_000_000_000
SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 24 * SECONDS_PER_HOUR
SECTOR_BYTES = 512
"""Unit of /proc/diskstats, whatever the device's own sector size is (kernel, Documentation/admin-guide/iostats)."""
