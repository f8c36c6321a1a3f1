"""What PostgreSQL counts of the cost of its work, as one JSON object; pure."""

from collections.abc import Mapping

from nephoscope.databases.asking import Number, document

_WAL = "'log_bytes', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
_IO_SINCE, _IO_IN_BYTES_SINCE, _CHECKPOINTER_SINCE = 16, 18, 17
"""Versions with `pg_stat_io`, which until 18 counts blocks of `op_bytes`; and with `pg_stat_checkpointer`."""
_CHECKPOINTS = "'checkpoints', (SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)"
_CHECKPOINTS_APART = "'checkpoints', (SELECT num_timed + num_requested FROM pg_stat_checkpointer)"
_VACUUMS = "'vacuums', (SELECT sum(vacuum_count + autovacuum_count) FROM pg_stat_all_tables)"
"""Of the database that is asked."""
_IO = ", 'read_bytes', sum(read_bytes), 'written_bytes', sum(write_bytes)"
_IO_OF_BLOCKS = _IO.replace("read_bytes)", "reads * op_bytes)").replace("write_bytes)", "writes * op_bytes)")


def statement(version: str | None) -> str:
    """Selects the object, for a server of this major version."""
    major = int(version or 0)
    happened = f"{_CHECKPOINTS_APART if major >= _CHECKPOINTER_SINCE else _CHECKPOINTS}, {_VACUUMS}"
    if major < _IO_SINCE:
        return f"SELECT json_build_object({_WAL}, {happened})"
    io = _IO if major >= _IO_IN_BYTES_SINCE else _IO_OF_BLOCKS
    return f"SELECT json_build_object({_WAL}, {happened}{io}) FROM pg_stat_io"  # noqa: S608


def read(answer: str) -> Mapping[str, float]:
    """Counters by name.

    Raises:
        OutputUnreadable: the answer is not such an object.
    """
    return {name: value for name, value in document(dict[str, Number | None], answer).items() if value is not None}
