"""Facts observed on the machines: one column each if there are few machines, one row each if there are many."""

from collections.abc import Callable

from nephoscope.model import numbers as people
from nephoscope.model.records import Facts
from nephoscope.model.rows import MachineRow
from nephoscope.model.words import counted
from nephoscope.report.parts import Book, Cell, Column, Row, Table

Read = Callable[[Facts], str | None]


def _yes(value: bool | None, yes: str, no: str) -> str | None:
    return None if value is None else yes if value else no


FACTS: tuple[tuple[str, str, Read], ...] = (
    ("cpu_model", "CPU", lambda f: f.cpu_model),
    ("architecture", "Architecture", lambda f: f.architecture),
    ("cpus_allowed", "CPUs measured (affinity)", lambda f: people.integer(f.cpus_allowed)),
    ("cpus_online", "CPUs online", lambda f: people.integer(f.cpus_online)),
    (
        "cgroup_cpu_limit",
        "CPU limit (cgroup)",
        lambda f: (
            ("none found" if f.cgroups_seen else None) if f.cgroup_cpu_limit is None else f"{f.cgroup_cpu_limit:g}"
        ),
    ),
    ("sockets", "Sockets", lambda f: people.integer(f.sockets)),
    ("cores_per_socket", "Cores per socket", lambda f: people.integer(f.cores_per_socket)),
    ("threads_per_core", "Threads per core", lambda f: people.integer(f.threads_per_core)),
    ("numa_nodes", "NUMA nodes", lambda f: people.integer(f.numa_nodes)),
    ("l2_bytes", "L2 cache", lambda f: people.byte_size(f.l2_bytes)),
    ("l3_bytes", "L3 cache", lambda f: people.byte_size(f.l3_bytes)),
    ("memory_bytes", "Memory", lambda f: people.byte_size(f.memory_bytes)),
    ("memory_available_bytes", "Memory available", lambda f: people.byte_size(f.memory_available_bytes)),
    ("swap_bytes", "Swap", lambda f: people.byte_size(f.swap_bytes)),
    ("virtualization", "Virtualisation", lambda f: f.virtualization),
    ("os", "Operating system", lambda f: f.os),
    ("kernel", "Kernel", lambda f: f.kernel),
    ("clock_source", "Clock source", lambda f: f.clock_source),
    ("frequency_governor", "Frequency governor", lambda f: f.frequency_governor),
    ("congestion_control", "Congestion control", lambda f: f.congestion_control),
    ("open_files_limit", "Open files limit", lambda f: people.integer(f.open_files_limit)),
    ("steal_share", "CPU time stolen", lambda f: people.share(f.steal_share)),
    ("busy_share", "CPU busy before the trial", lambda f: people.share(f.busy_share)),
    ("load_1m", "Load average, 1 min", lambda f: None if f.load_1m is None else f"{f.load_1m:.2f}"),
    ("disk.device", "Disk", lambda f: f.disk.device),
    ("disk.size_bytes", "Disk size", lambda f: people.byte_size(f.disk.size_bytes)),
    ("disk.free_bytes", "Disk free", lambda f: people.byte_size(f.disk.free_bytes)),
    ("disk.rotational", "Disk kind", lambda f: _yes(f.disk.rotational, "rotational", "not rotational")),
    ("disk.scheduler", "I/O scheduler", lambda f: f.disk.scheduler),
    ("disk.filesystem", "Filesystem", lambda f: f.disk.filesystem),
    ("disk.mount_options", "Mount options", lambda f: f.disk.mount_options),
)
NOT_SAID = "unknown"
MAX_COLUMNS = 8
"""With up to this many machines, each gets a column; with more, each gets a row."""


def machines_table(book: Book) -> Table | None:
    """None when no machine was observed."""
    machines = book.lookup[MachineRow]
    if not machines:
        return None
    caption = "Facts observed before the trials"
    if len(machines) > MAX_COLUMNS:
        return _below_each_other(book, caption, machines)
    columns = (Column("Fact"), *(Column(_title(machines, row)) for row in machines))
    seen_on = Row(
        (
            Cell("Seen in"),
            *(_trials(book, row) for row in machines),
        )
    )
    rows = [Row((Cell(title), *(_fact(row, name, read) for row in machines))) for name, title, read in FACTS]
    return Table(caption, columns, (seen_on, *rows))


def _below_each_other(book: Book, caption: str, machines: list[MachineRow]) -> Table:
    """Leaves out facts that no machine provides; the note names them."""
    known = [one for one in FACTS if any(_value(row, one[2]) for row in machines)]
    unknown = [one[1] for one in FACTS if one not in known]
    rows = tuple(
        Row(
            (
                Cell(_title(machines, row), tone="name"),
                _trials(book, row),
                *(_fact(row, name, read) for name, _, read in known),
            )
        )
        for row in machines
    )
    columns = (Column("Machine"), Column("Seen in"), *(Column(title) for _, title, _ in known))
    note = f"Unknown for all machines: {', '.join(unknown)}." if unknown else ""
    return Table(caption, columns, rows, note=note, compact=True)


def _title(machines: list[MachineRow], row: MachineRow) -> str:
    same = [other for other in machines if other.configuration == row.configuration]
    title = row.configuration if row.machine in {"local", row.configuration} else f"{row.configuration}, {row.machine}"
    return title if len(same) == 1 else f"{title} ({same.index(row) + 1} of {len(same)})"


def _trials(book: Book, row: MachineRow) -> Cell:
    found = book.evidence.cite(row.trials, f"machine of {row.configuration}")
    return Cell(counted(len(row.trials), "trial"), href=book.href(found.anchor) if found else None)


def _fact(row: MachineRow, name: str, read: Read) -> Cell:
    value = _value(row, read)
    differs = name in row.differs_in or name.rpartition(".")[2] in row.differs_in
    return Cell(
        value or NOT_SAID,
        note="≠ differs from the first row" if differs else "",
        tone="warn" if differs else "" if value else "quiet",
    )


def _value(row: MachineRow, read: Read) -> str | None:
    value = read(row.facts)
    return None if value == people.MISSING else value
