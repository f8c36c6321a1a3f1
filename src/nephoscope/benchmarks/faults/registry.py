"""Every kind of fault, by the name that a study gives it."""

from collections.abc import Mapping
from types import MappingProxyType

from nephoscope.benchmarks.faults.disk import SlowDisk, StalledDisk
from nephoscope.benchmarks.faults.kinds import Fault, Kill, Pause, Restart
from nephoscope.benchmarks.faults.network import Loss, OneWayPartition, PartialPartition, Partition
from nephoscope.benchmarks.faults.several import RollingRestart, ZoneOutage
from nephoscope.model.records import FaultKind

KINDS: Mapping[FaultKind, Fault] = MappingProxyType(
    {
        "kill": Kill(),
        "pause": Pause(),
        "restart": Restart(),
        "rolling-restart": RollingRestart(),
        "zone-outage": ZoneOutage(),
        "slow-disk": SlowDisk(),
        "stalled-disk": StalledDisk(),
        "partition": Partition(),
        "partial-partition": PartialPartition(),
        "one-way-partition": OneWayPartition(),
        "loss": Loss(),
    }
)
