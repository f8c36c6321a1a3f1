"""Number and size of the objects that fill a cluster in the same way as the Aerospike cloud qualification.

An index entry of 64 bytes for each object and copy fills 60 % of the memory; the objects, each with 128 bytes beside
its value, fill half of the disks. Source: Aerospike's cloud benchmarks; their numbers are of two machines with two
copies, so that each holds every object once (`machines = 2`, `copies = 2`), although three machines then hold them.
"""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.units import GIB

INDEX_BYTES = 64
BESIDE_VALUE_BYTES = 128


class Sizing(Frozen):
    """What there is to fill."""

    memory_gib: float = Field(gt=0, description="for the data, of each machine")
    disk_gib: float = Field(gt=0, description="for the data, of each machine")
    machines: int = Field(default=1, ge=1, le=1024, description="machines that count: two for Aerospike's method")
    copies: int = Field(default=1, ge=1, le=16, description="copies of each object: the replication factor")
    memory_percent: float = Field(default=60, gt=0, le=100, description="share of the memory for the index")
    disk_percent: float = Field(default=50, gt=0, le=100, description="share of the disks for the objects")

    @property
    def rows(self) -> int:
        """Objects."""
        index_bytes = self.machines * self.memory_gib * GIB * self.memory_percent / 100
        return int(index_bytes / (INDEX_BYTES * self.copies))

    @property
    def value_bytes(self) -> int:
        """Length of each value; 0 or less: the disks are too small for so much memory."""
        disk_bytes = self.machines * self.disk_gib * GIB * self.disk_percent / 100
        return int(disk_bytes / (self.rows * self.copies)) - BESIDE_VALUE_BYTES if self.rows else 0
