"""SI prefixes and units of time, so that the code has no bare powers of ten. All internal values are SI."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

NANOSECONDS_PER_SECOND = 1_000_000_000
MICROSECONDS_PER_SECOND = 1_000_000
MS_PER_SECOND = 1_000
SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 24 * SECONDS_PER_HOUR
SECTOR_BYTES = 512
"""Unit of /proc/diskstats, whatever the device's own sector size is (kernel, Documentation/admin-guide/iostats)."""

LEAST_VALUE, MOST_VALUE = 1e-18, 1e18
"""Magnitudes of what a metric can be, unless it is 0: an attosecond is too short for any clock, and an exabyte per
second is more than any machine moves. Squares and ratios of what lies between them are numbers, too."""
MOST_RATIO = MOST_VALUE / LEAST_VALUE
"""Of two values: where an interval has no end that is smaller, it ends here."""
