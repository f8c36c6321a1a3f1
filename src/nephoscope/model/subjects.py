"""What a benchmark is about, and which part of a configuration it measures and is paid for with."""

import re
from enum import StrEnum

from pydantic import Field

from nephoscope.model.frozen import Frozen


class Subject(StrEnum):
    """The part of a system that a benchmark measures: a machine's CPUs, memory, storage, network, or a database."""

    CPU = "cpu"
    MEMORY = "memory"
    STORAGE = "storage"
    NETWORK = "network"
    DATABASE = "database"


class DatabaseLoad(StrEnum):
    """What a benchmark asks of a database: transactions over several tables, or single records by their key."""

    OLTP = "oltp"
    KEY_VALUE = "key-value"


_WORDS = {
    Subject.DATABASE: "adversity|aerospike|cassandra|cockroach|go-tpc|hammerdb|highest-load|kv|max-warehouses|memcached"
    "|memtier|mongodb|mysql|oltp|pgbench|point-select|postgres(?:ql)?|redis|sqlite|tpc-?[bch]|tproc-[ch]|valkey|ycsb",
    Subject.STORAGE: "act|dbench|disk|fileio|fio|iozone",
    Subject.NETWORK: "iperf3?|multi-stream|netperf|ping|request-response|sockperf|throughput",
    Subject.MEMORY: "mbw|memory|multichase|ramspeed|stream|tinymembench",
}
_PATTERNS = {subject: re.compile(rf"(?<![a-z])(?:{words})(?![a-z])") for subject, words in _WORDS.items()}


def subject_by_name(name: str) -> Subject:
    """The subject of a benchmark that does not state one; `cpu` when its name has no word that is known.

    Benchmarks and most importers state their subject. Names are for stored benchmarks that this version does not have,
    and for suites that publish names and nothing else.
    """
    found = (subject for subject, pattern in _PATTERNS.items() if pattern.search(name.casefold().replace("_", "-")))
    return next(found, Subject.CPU)


_KEY_VALUE = re.compile(
    r"(?<![a-z])(?:adversity|aerospike|cassandra|highest-load|kv|memcached|memtier|point-select|redis|valkey|ycsb)(?![a-z])"
)


def database_load_by_name(name: str) -> DatabaseLoad | None:
    """The load of a benchmark whose subject its name tells; None if that is no database."""
    if subject_by_name(name) is not Subject.DATABASE:
        return None
    found = _KEY_VALUE.search(name.casefold().replace("_", "-"))
    return DatabaseLoad.KEY_VALUE if found else DatabaseLoad.OLTP


class Extent(Frozen):
    """Machines, and whether their volumes take part."""

    machines: int | None = Field(gt=0, description="how many machines are measured; None: the database's cluster")
    volumes: bool = Field(description="whether their volumes are used, too")


CLUSTER = Extent(machines=None, volumes=True)
ONE_MACHINE = Extent(machines=1, volumes=False)
ONE_MACHINE_WITH_VOLUMES = Extent(machines=1, volumes=True)
TWO_ENDS = Extent(machines=2, volumes=False)

_BY_SUBJECT = {
    Subject.CPU: ONE_MACHINE,
    Subject.MEMORY: ONE_MACHINE,
    Subject.STORAGE: ONE_MACHINE_WITH_VOLUMES,
    Subject.NETWORK: TWO_ENDS,
    Subject.DATABASE: CLUSTER,
}


def extent_by_subject(subject: Subject) -> Extent:
    """The extent of a benchmark of which nothing else is stored: those that other people ran."""
    return _BY_SUBJECT[subject]
