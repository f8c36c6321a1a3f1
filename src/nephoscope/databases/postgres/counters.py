"""What PostgreSQL counts of the cost of its work, as one JSON object; pure."""

from collections.abc import Mapping

from nephoscope.databases.asking import Number, document

_WAL = "'log_bytes', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
_IO_SINCE, _IO_IN_BYTES_SINCE = 16, 18
"""Versions with `pg_stat_io`; until 18 it counts blocks of `op_bytes`."""

_WITH_IO = (
    f"SELECT json_build_object({_WAL}, 'read_bytes', sum(read_bytes), 'written_bytes', sum(write_bytes)) "  # noqa: S608
    "FROM pg_stat_io"
)
_WITH_IO_OF_BLOCKS = _WITH_IO.replace("read_bytes)", "reads * op_bytes)").replace("write_bytes)", "writes * op_bytes)")


def statement(version: str | None) -> str:
    """Selects the object, for a server of this major version."""
    major = int(version or 0)
    if major < _IO_SINCE:
        return f"SELECT json_build_object({_WAL})"
    return _WITH_IO if major >= _IO_IN_BYTES_SINCE else _WITH_IO_OF_BLOCKS


def read(answer: str) -> Mapping[str, float]:
    """Counters by name.

    Raises:
        OutputUnreadable: the answer is not such an object.
    """
    return {name: value for name, value in document(dict[str, Number | None], answer).items() if value is not None}
