"""Facts observed on the machines: one column each if there are few machines, one row each if there are many."""

from operator import attrgetter

from nephoscope.model import numbers as people
from nephoscope.model.records import Facts
from nephoscope.model.rows import MachineRow
from nephoscope.model.words import counted
from nephoscope.report.parts import Book, Cell, Column, Row, Table
from nephoscope.report.tables.rows import text_of, title_of

FACTS = (
    *("cpu_model", "architecture", "cpus_allowed", "cpus_online", "cgroup_cpu_limit", "sockets", "cores_per_socket"),
    *("threads_per_core", "numa_nodes", "l2_bytes", "l3_bytes", "memory_bytes", "memory_available_bytes", "swap_bytes"),
    *("virtualization", "os", "kernel", "clock_source", "frequency_governor", "congestion_control"),
    *("open_files_limit", "steal_share", "busy_share", "load_1m", "disk.device", "disk.size_bytes", "disk.free_bytes"),
    *("disk.rotational", "disk.scheduler", "disk.filesystem", "disk.mount_options"),
)
"""In the order of rows."""
_TITLES = {
    "cpu_model": "CPU",
    "virtualization": "Virtualisation",
    "cpus_allowed": "CPUs measured (affinity)",
    "cgroup_cpu_limit": "CPU limit (cgroup)",
    "numa_nodes": "NUMA nodes",
    "l2_bytes": "L2 cache",
    "l3_bytes": "L3 cache",
    "os": "Operating system",
    "steal_share": "CPU time stolen",
    "busy_share": "CPU busy before the trial",
    "load_1m": "Load average, 1 min",
}
"""Of facts whose names alone do not tell."""
_PLAIN = people.Scale(1.0, "", "")
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
    rows = [Row((Cell(fact_title(name)), *(_fact(row, name) for row in machines))) for name in FACTS]
    return Table(caption, columns, (seen_on, *rows))


def _below_each_other(book: Book, caption: str, machines: list[MachineRow]) -> Table:
    """Leaves out facts that no machine provides; the note names them."""
    known = [name for name in FACTS if any(fact_text(row.facts, name) for row in machines)]
    unknown = [fact_title(name) for name in FACTS if name not in known]
    rows = tuple(
        Row(
            (
                Cell(_title(machines, row), tone="name"),
                _trials(book, row),
                *(_fact(row, name) for name in known),
            )
        )
        for row in machines
    )
    columns = (Column("Machine"), Column("Seen in"), *(Column(fact_title(name)) for name in known))
    note = f"Unknown for all machines: {', '.join(unknown)}." if unknown else ""
    return Table(caption, columns, rows, note=note, compact=True)


def _title(machines: list[MachineRow], row: MachineRow) -> str:
    same = [other for other in machines if other.configuration == row.configuration]
    title = row.configuration if row.machine in {"local", row.configuration} else f"{row.configuration}, {row.machine}"
    return title if len(same) == 1 else f"{title} ({same.index(row) + 1} of {len(same)})"


def _trials(book: Book, row: MachineRow) -> Cell:
    found = book.evidence.cite(row.trials, f"machine of {row.configuration}")
    return Cell(counted(len(row.trials), "trial"), href=book.href(found.anchor) if found else None)


def _fact(row: MachineRow, name: str) -> Cell:
    value = fact_text(row.facts, name)
    differs = name in row.differs_in or name.rpartition(".")[2] in row.differs_in
    return Cell(
        value or NOT_SAID,
        note="≠ differs from the first row" if differs else "",
        tone="warn" if differs else "" if value else "quiet",
    )


def fact_title(name: str) -> str:
    """What readers call one of `FACTS`."""
    return _TITLES.get(name) or title_of(name.replace(".", "_"))


def fact_text(facts: Facts, name: str) -> str | None:
    """The value of one of `FACTS`; None: the machine does not report it."""
    value = attrgetter(name)(facts)
    if value is None:
        return "none found" if name == "cgroup_cpu_limit" and facts.cgroups_seen else None
    return text_of(name, value, _PLAIN)
