"""Telemetry: raw counters become rates; a cut last line is normal, other damage is not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.machines.telemetry import parse_telemetry, read_lines, server_counters
from nephoscope.model.errors import OutputUnreadable

TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def cpu(name: str, *ticks: int) -> dict[str, Any]:
    return {"cpu": name, **dict(zip(TICKS, ticks, strict=True))}


def line(elapsed_s: float, cpus: list[dict[str, Any]], **more: Any) -> str:
    base = {"at_unix_ms": 1, "elapsed_s": elapsed_s, "cpu": cpus, "jiffies_per_s": 100, "disks": [], "network": []}
    return json.dumps({**base, "load_1m": 0.1, "procs_running": 1, "psi_cpu_some_us": None, "own_cpu_us": 0, **more})


ZERO = [cpu("cpu", *[0] * 8), cpu("cpu0", *[0] * 8), cpu("cpu1", *[0] * 8)]
LATER = [cpu("cpu", 60, 10, 20, 80, 10, 5, 5, 10), cpu("cpu0", 90, 0, 0, 10, 0, 0, 0, 0), cpu("cpu1", *[0] * 8)]


def disk(name: str, read: int, written: int) -> dict[str, Any]:
    return {"name": name, "reads": 1, "read_sectors": read, "writes": 1, "written_sectors": written, "io_ms": 1}


def test_a_disk_is_busy_while_a_request_is_under_way() -> None:
    def busy(**io_ms: int | None) -> list[dict[str, Any]]:
        return [{**disk(name, 0, 0), "io_ms": value} for name, value in io_ms.items()]

    before = line(0, ZERO, disks=busy(sda=100, nvme0n1=0, loop0=0))
    after = line(2, LATER, disks=busy(sda=600, nvme0n1=1800, loop0=2000))
    (sample,) = parse_telemetry(f"{before}\n{after}\n")
    assert sample.disk_busy_share == 0.9
    (sample,) = parse_telemetry(f"{before}\n{line(1, LATER, disks=busy(nvme0n1=1010))}\n")
    assert sample.disk_busy_share == 1, "the counter may run ahead"
    (sample,) = parse_telemetry(f"{before}\n{line(1, LATER, disks=busy(nvme0n1=None))}\n")
    assert sample.disk_busy_share is None


def network(name: str, received: int, sent: int) -> dict[str, Any]:
    return {"name": name, "rx_bytes": received, "tx_bytes": sent, "rx_drops": 0, "tx_drops": 0}


def test_shares_are_of_all_time_of_the_interval() -> None:
    (sample,) = parse_telemetry(line(1, ZERO) + "\n" + line(3, LATER, own_cpu_us=20_000))
    assert (sample.at_s, sample.duration_s) == (3, 2)
    assert sample.cpu_busy_share == 0.5
    assert sample.cpu_user_share == 0.35
    assert sample.cpu_system_share == 0.15
    assert sample.cpu_iowait_share == 0.05
    assert sample.cpu_steal_share == 0.05
    assert sample.cpus_busy_share == {"cpu0": 0.9}, "a CPU without any time is off, not idle"
    assert sample.sampler_cpu_share == 0.01


@pytest.mark.parametrize(("after_ms", "step_s"), [(12_000, 0.0), (3_612_001, 3600.001), (11_500, -0.5)])
def test_a_wall_clock_that_was_set_has_jumped(after_ms: int, step_s: float) -> None:
    (sample,) = parse_telemetry(f"{line(1, ZERO, at_unix_ms=10_000)}\n{line(3, LATER, at_unix_ms=after_ms)}\n")
    assert sample.clock_step_s == pytest.approx(step_s)


def test_a_quota_is_used_up_in_a_share_of_the_periods_in_which_the_group_ran() -> None:
    def quota(periods: int, throttled: int) -> dict[str, Any]:
        return {"cpu_quota": {"periods": periods, "throttled_periods": throttled}}

    def seen(before: dict[str, Any], after: dict[str, Any]) -> float | None:
        (sample,) = parse_telemetry(f"{line(0, ZERO, **before)}\n{line(1, LATER, **after)}\n")
        return sample.cpu_quota_used_up_share

    assert seen(quota(10, 5), quota(20, 14)) == 0.9
    assert seen(quota(10, 5), quota(10, 5)) == 0, "it did not run"
    assert seen(quota(0, 0), quota(0, 0)) is None, "it has no quota"
    assert seen({}, quota(9, 9)) is None
    assert seen({"cpu_quota": None}, {"cpu_quota": None}) is None


def test_what_holds_the_trial_up_is_what_the_later_line_says() -> None:
    held = {"frozen": True, "disk_limits": ["io.max 254:0 riops=100"]}
    (sample,) = parse_telemetry(f"{line(0, ZERO)}\n{line(1, LATER, **held)}\n")
    assert (sample.frozen, sample.disk_limits, sample.stopped_processes) == (True, ["io.max 254:0 riops=100"], None)


def test_only_whole_disks_and_no_loopback() -> None:
    names = ["sda", "sda1", "nvme0n1", "nvme0n1p2", "loop0", "dm-0", "zram0"]
    before = line(0, ZERO, disks=[disk(n, 0, 0) for n in names], network=[network(n, 0, 0) for n in ("lo", "eth0")])
    after = line(2, LATER, disks=[disk(n, 4, 8) for n in names], network=[network(n, 10, 20) for n in ("lo", "eth0")])
    (sample,) = parse_telemetry(f"{before}\n{after}\n")
    assert sample.disk_read_bytes_per_s == 2 * 4 * 512 / 2
    assert sample.disk_write_bytes_per_s == 2 * 8 * 512 / 2
    assert (sample.network_receive_bytes_per_s, sample.network_send_bytes_per_s) == (5, 10)


def test_what_is_not_there_is_none() -> None:
    (sample,) = parse_telemetry(f"{line(0, ZERO, own_cpu_us=None)}\n{line(1, LATER, own_cpu_us=None)}")
    assert sample.disk_read_bytes_per_s is None
    assert sample.network_send_bytes_per_s is None
    assert sample.sampler_cpu_share is None


def test_a_counter_of_more_than_64_bits_is_damage() -> None:
    after = line(2, LATER, network=[network("eth0", 10**400, 0)])
    with pytest.raises(OutputUnreadable, match=r"telemetry line 2: network\.0\.rx_bytes"):
        parse_telemetry(f"{line(0, ZERO, network=[network('eth0', 0, 0)])}\n{after}\n{after}\n")


@pytest.mark.parametrize("text", ["", "\n\n", line(0, ZERO), line(0, ZERO) + '\n{"at_unix'])
def test_fewer_than_two_lines_are_no_samples(text: str) -> None:
    assert parse_telemetry(text) == []


def test_a_cut_last_line_is_dropped_wherever_it_was_cut() -> None:
    whole = line(2, [cpu("cpu", *[200] * 8)])
    start = f"{line(0, ZERO)}\n{line(1, LATER)}\n"
    for length in range(len(whole)):
        assert len(parse_telemetry(start + whole[:length])) == 1
    assert len(parse_telemetry(start + whole)) == 2


@pytest.mark.parametrize("damaged", ["garbage", "{}", line(1, LATER)[:-9], line(1, LATER).replace("60", '"many"')])
def test_damage_in_the_middle_is_refused_with_its_line(damaged: str) -> None:
    with pytest.raises(OutputUnreadable, match="line 2"):
        parse_telemetry(f"{line(0, ZERO)}\n{damaged}\n{line(2, LATER)}")


@pytest.mark.parametrize("elapsed_s", [5e-324, 1e99])
def test_a_rate_that_cannot_be_is_damage_and_no_defect(elapsed_s: float) -> None:
    disk = {"name": "sda", "read_sectors": 0, "written_sectors": 0}
    first, second = (json.loads(line(at, ticks)) for at, ticks in ((0, ZERO), (1, LATER)))
    first["disks"], second["disks"] = [disk], [disk | {"read_sectors": 1 << 63}]
    second["elapsed_s"] = elapsed_s
    with pytest.raises(OutputUnreadable, match="what cannot be at"):
        parse_telemetry(f"{json.dumps(first)}\n{json.dumps(second)}\n")


@pytest.mark.parametrize("text", [f"{line(2, ZERO)}\n{line(1, LATER)}", f"{line(0, ZERO)}\n{line(1, ZERO[1:])}"])
def test_time_that_runs_backwards_or_is_not_there_is_refused(text: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse_telemetry(text)


def test_a_line_without_a_tick_joins_the_next_interval() -> None:
    """After a stall the sampler writes two lines back to back; the rest of the trial was watched all the same."""
    lines = [line(0, ZERO), line(1, LATER), line(1.001, LATER, own_cpu_us=10_000), line(1.001, LATER)]
    more = [line(2, [cpu("cpu", *[200] * 8)], own_cpu_us=20_000)]
    joined = parse_telemetry("\n".join([*lines, *more]))
    assert [(sample.at_s, sample.duration_s) for sample in joined] == [(1, 1), (2, 1)]
    assert joined[1] == parse_telemetry("\n".join([*lines[:2], *more]))[1]
    assert parse_telemetry("\n".join([line(0, ZERO), line(1, ZERO)])) == []


@given(st.lists(st.tuples(*[st.integers(0, 1000)] * 8).filter(any), min_size=1, max_size=5))
def test_shares_add_up_to_one(steps: list[tuple[int, ...]]) -> None:
    counters = [0] * 8
    lines = [line(0, [cpu("cpu", *counters)])]
    for index, step in enumerate(steps, start=1):
        counters = [old + new for old, new in zip(counters, step, strict=True)]
        lines.append(line(index, [cpu("cpu", *counters)]))
    for sample, step in zip(parse_telemetry("\n".join(lines)), steps, strict=True):
        idle = step[3] / sum(step)
        total = sample.cpu_busy_share + sample.cpu_iowait_share + sample.cpu_steal_share + idle
        assert total == pytest.approx(1)
        assert sample.cpu_busy_share == pytest.approx(sample.cpu_user_share + sample.cpu_system_share)


def test_a_servers_counters_are_those_of_its_processes_and_of_its_machine() -> None:
    def served(user_us: int, **more: Any) -> dict[str, Any]:
        counts = {"processes": 1, "system_us": 0, "minor_faults": 5, "major_faults": 0, "context_switches": 7}
        return {"user_us": user_us, **counts, "unseen_us": 0, **more}

    def energy(energy_uj: int) -> list[dict[str, Any]]:
        of_no_range = {"package": "psys", "energy_uj": energy_uj, "range_uj": 0}
        return [{"package": "package-0", "energy_uj": energy_uj, "range_uj": 1_000_000}, of_no_range]

    machine = {"disks": [disk("sda", 2, 3), disk("loop0", 9, 9)], "network": [network("lo", 9, 9), network("e", 4, 5)]}
    text = "\n".join(
        [
            line(0, ZERO),
            line(1, ZERO, server=served(1_000_000), energy=energy(900_000)),
            line(2, ZERO, server=served(2_500_000, context_switches=None), energy=energy(150_000), **machine),
            line(3, ZERO, server=None),
        ]
    )
    (_, first), (_, second) = server_counters(read_lines(text))
    assert first == {
        "cpu_s": 1.0, "user_cpu_s": 1.0, "system_cpu_s": 0.0, "unseen_cpu_s": 0.0, "energy_j": 0.0,
        "minor_faults": 5, "major_faults": 0, "context_switches": 7,
    }  # fmt: skip
    assert second["energy_j"] == pytest.approx(0.25), "the counter began anew"
    of_machine = {"disk_read_bytes": 1024, "disk_written_bytes": 1536, "received_bytes": 4, "sent_bytes": 5}
    assert of_machine.items() <= second.items()
    assert "context_switches" not in second
    assert server_counters(read_lines(line(0, ZERO))) == []
