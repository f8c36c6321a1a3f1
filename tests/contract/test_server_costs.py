"""What the sampler says of a real PostgreSQL, against what the kernel and the server count themselves."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Ended
from nephoscope.benchmarks.load.server_costs import Reading, happened
from nephoscope.machines.telemetry import read_lines, server_counters
from tests.support.control_group import control_group
from tests.support.real_parts import needs
from tests.support.server import Server, server

pytestmark = needs("postgres")

SESSIONS = 6
TIMES = 20


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("server")) as running:
        running.sql("CREATE TABLE t (a bigint, b text)")
        yield running


def work(postgres: Server) -> None:
    """Sessions that end, each of which uses CPU time and writes rows."""
    for _ in range(SESSIONS):
        postgres.sql("INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 40000) i")


def sampled(postgres: Server, count: Callable[[], float] = lambda: 0.0) -> tuple[dict[str, float], float]:
    """What the sampler saw of `work`, and what was counted within the time that it saw."""
    argv = [load_program(), "telemetry", "--interval-ms", "50", "--trial", "parent", "--server", "postgres"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sampler:
        assert sampler.stdout is not None
        assert sampler.stdin is not None
        text = sampler.stdout.readline().decode()
        before = count()
        work(postgres)
        counted = count() - before
        ended_unix_ms = time.time() * 1000
        (_, first), *_ = server_counters(read_lines(text))
        while (found := server_counters(read_lines(text))[-1])[
            0
        ] <= ended_unix_ms:  # it skips readings that cost too much
            text += sampler.stdout.readline().decode()
        sampler.stdin.close()
        sampler.stdout.read()
    return {name: found[1][name] - first[name] for name in first}, counted


def test_sessions_that_end_leave_what_they_used(postgres: Server) -> None:
    """The postmaster has waited for them: the kernel's own sum of its children's time is theirs."""

    def children_s() -> float:
        words = Path(f"/proc/{postgres.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")

    found, counted_s = sampled(postgres, children_s)
    assert found["cpu_s"] >= counted_s - 0.01 * SESSIONS > 0
    assert found["minor_faults"] > 0
    assert found["cpu_s"] == pytest.approx(found["user_cpu_s"] + found["system_cpu_s"])


def test_a_servers_log_is_as_long_as_it_counts_itself(postgres: Server) -> None:
    def counted() -> float:
        return _counters(postgres)["log_bytes"]

    def of_records() -> int:
        return int(postgres.sql("SELECT wal_bytes FROM pg_stat_wal"))

    before, records_before = counted(), of_records()
    work(postgres)
    after, records_after = counted(), of_records()
    # Headers of pages come on top of the records, and others write a little between the two readings.
    assert after - before == pytest.approx(records_after - records_before, rel=0.02)


def test_checkpoints_and_vacuums_during_a_measurement_are_found(postgres: Server) -> None:
    """Provoked twenty times, and as many times not."""
    found, ended = {True: 0, False: 0}, [Ended(0, 2000, 100)]
    for provoked in (True, False) * TIMES:
        looks = [Reading(0, _counters(postgres))]
        postgres.sql("INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 100) i")
        if provoked:
            postgres.sql("CHECKPOINT")
            postgres.sql("VACUUM t")
            time.sleep(0.2)  # the checkpointer counts once the command has returned
        looks.append(Reading(2000, _counters(postgres)))
        values = {row.metric: row.value for row in happened(ended, looks)}
        found[provoked] += values["checkpoints_in_measurement"] > 0 and values["vacuums_in_measurement"] > 0
    assert found[True] >= TIMES - 1
    assert found[False] <= 1


def _counters(postgres: Server) -> Mapping[str, float]:
    return postgres.loop.run_until_complete(postgres.database.counters(postgres.cluster, postgres.endpoint))


@pytest.mark.root
def test_the_sum_is_the_control_groups_own(postgres: Server) -> None:
    with control_group("cpuacct", f"cost-{os.getpid()}") as group:

        def used_s() -> float:
            if group.is_first:
                return int((group.folder / "cpuacct.usage").read_text()) / 1e9
            words = (group.folder / "cpu.stat").read_text().split()
            return int(words[words.index("usage_usec") + 1]) / 1e6

        group.take(postgres.pid)
        before_s = used_s()
        found, _ = sampled(postgres)
        # Ticks of 10 ms of user and system time, of each process that is there at the end.
        assert found["cpu_s"] == pytest.approx(used_s() - before_s, rel=0.01, abs=0.05)
