"""The network benchmarks on real wires: network namespaces, real tools, settings made and put back."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.base import Benchmark, Site
from nephoscope.benchmarks.network.multi_stream import MultiStream
from nephoscope.benchmarks.network.ping import Ping
from nephoscope.benchmarks.network.request_response import RequestResponse
from nephoscope.benchmarks.network.throughput import Throughput
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import EnvironmentProblem, ToolFailed
from nephoscope.providers.base import Cluster
from tests.support.namespaces import machines
from tests.support.real_parts import needs
from tests.support.site import Recorder, raw_of

pytestmark = [pytest.mark.root, needs("ip", "ping", "iperf", "iperf3", "sockperf")]


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MachineHandle, ...]]:
    with machines(4, tmp_path_factory.mktemp("data")) as made:
        yield made


def site_of(found: tuple[MachineHandle, ...], folder: Path) -> Site:
    """Three database machines and a load machine, or as many as there are."""
    *database, load = found
    return Site(
        cluster=Cluster("here", tuple(database), load),
        execute=Recorder(folder),
        raw_dir=folder,
        seed=1,
        data_seed=1,
        connections=1,
        load_program="nephoscope-load",
    )


def measured(benchmark: Benchmark, site: Site, **given: Any) -> dict[str, float]:
    parameters: Any = benchmark.parameters.model_validate(given)
    asyncio.run(benchmark.run(site, parameters))
    found = benchmark.parse(raw_of(site), parameters)
    assert {one.metric for one in found} <= {one.name for one in benchmark.metrics(parameters)}
    return {one.metric: one.value for one in found if one.at_s is None}


def listening(found: tuple[MachineHandle, ...]) -> bytes:
    done = [asyncio.run(one.remote.execute(Command(["cat", "/proc/net/tcp"], timeout_s=5))) for one in found]
    return b"".join(one.stdout for one in done if b" 0A " in one.stdout)


def test_ping(four: tuple[MachineHandle, ...], tmp_path: Path) -> None:
    values = measured(Ping(), site_of(four[:2], tmp_path), interval_s=0.01, duration_s=2)
    assert 0 < values["round_trip_min"] <= values["round_trip"] <= values["round_trip_max"] < 0.5
    assert values["round_trip_p95"] >= values["round_trip_p50"]
    assert "round_trip_p99" not in values, "200 replies have two beyond it"
    assert values["lost_share"] == 0


def test_request_and_response(four: tuple[MachineHandle, ...], tmp_path: Path) -> None:
    values = measured(RequestResponse(), site_of(four[:2], tmp_path), duration_s=2)
    assert 0 < values["tcp_round_trip_min"] <= values["tcp_round_trip_p50"] <= values["tcp_round_trip_max"]
    assert values["transactions_per_s"] == pytest.approx(1 / values["tcp_round_trip"], rel=0.5), "one at a time"
    assert not listening(four)


CLOSED_BY_THE_SERVER = """
import socket, sys
server = socket.create_server((sys.argv[1], 20100))
client = socket.create_connection(server.getsockname())
server.accept()[0].close()
client.close()
"""


def test_round_trips_where_a_server_has_just_closed_connections_at_the_same_port(
    four: tuple[MachineHandle, ...], tmp_path: Path
) -> None:
    """As iperf3's does in a trial before: they stay in TIME_WAIT for a minute, and sockperf cannot listen there."""
    namespace = four[0].remote._inside  # type: ignore[attr-defined]
    subprocess.run([*namespace, sys.executable, "-c", CLOSED_BY_THE_SERVER, four[0].address], check=True)
    values = measured(RequestResponse(), site_of(four[:2], tmp_path), duration_s=2)
    assert values["tcp_round_trip_min"] > 0
    assert "20101" in json.loads((tmp_path / "network.json").read_text())["server_argv"]


@pytest.mark.parametrize("tool", ["iperf", "iperf3"])
def test_throughput_of_one_client(four: tuple[MachineHandle, ...], tmp_path: Path, tool: str) -> None:
    values = measured(Throughput(), site_of(four[:2], tmp_path), tool=tool, duration_s=3)
    assert values["throughput_min_1s"] <= values["throughput"] <= values["throughput_max_1s"]
    assert values["throughput"] > 1e8
    assert not listening(four)


def test_the_client_counts_too(four: tuple[MachineHandle, ...], tmp_path: Path) -> None:
    values = measured(Throughput(), site_of(four[:2], tmp_path), edition="cr2018", mode="faithful", duration_s=2)
    assert values["throughput"] > 1e8


def test_three_clients_to_one_server_are_summed_as_the_server_counted(
    four: tuple[MachineHandle, ...], tmp_path: Path
) -> None:
    site = site_of(four, tmp_path)
    values = measured(Throughput(), site, edition="cr2020", duration_s=3)
    record = json.loads((tmp_path / "network.json").read_text())
    assert record["clients"] == ["machine-2", "machine-3", "machine-4"]
    assert record["server"] == "machine-1"
    assert values["throughput"] > 1e8


def test_streams_are_added_until_there_is_no_more(four: tuple[MachineHandle, ...], tmp_path: Path) -> None:
    site = site_of(four[:2], tmp_path)
    buffers = {"tcp_rmem": "4096 131072 8000000", "tcp_wmem": "4096 16384 8000000", "congestion_control": "reno"}
    values = measured(
        MultiStream(), site, most_streams=5, settle_s=1, window_s=2, final_s=3, plateau_share=1e-9, **buffers
    )
    assert {"1-streams.throughput", "3-streams.throughput", "5-streams.throughput"} <= values.keys()
    assert values["plateau_found"] == 0
    assert values["streams"] in {1, 3, 5}
    assert values["throughput_min_1s"] <= values["throughput"] <= values["throughput_max_1s"]
    assert not listening(four)
    settings = json.loads((tmp_path / "network.json").read_text())["settings"]
    for machine in ("machine-1", "machine-2"):
        assert settings[machine]["in_force"] == {
            "tcp_rmem": buffers["tcp_rmem"],
            "tcp_wmem": buffers["tcp_wmem"],
            "tcp_congestion_control": "reno",
        }
        assert settings[machine]["after"] == settings[machine]["before"] != settings[machine]["in_force"]


def test_settings_are_put_back_when_the_tool_fails(four: tuple[MachineHandle, ...], tmp_path: Path) -> None:
    site = site_of(four[:2], tmp_path)

    async def fails(machine: MachineHandle, name: str, command: Command) -> Any:
        return await machine.remote.execute(Command(["false"], timeout_s=5))

    broken = Site(**{**vars(site), "execute": fails})
    with pytest.raises(ToolFailed):
        measured(Throughput(), broken, congestion_control="reno", duration_s=2)
    settings = json.loads((tmp_path / "network.json").read_text())["settings"]["machine-1"]
    assert settings["in_force"]["tcp_congestion_control"] == "reno"
    assert settings["after"] == settings["before"]
    assert not listening(four)


def test_a_setting_that_the_kernel_does_not_know_is_told(four: tuple[MachineHandle, ...], tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="could not be set to 'nosuch'"):
        measured(Throughput(), site_of(four[:2], tmp_path), congestion_control="nosuch", duration_s=2)


def test_a_taken_port_is_told(four: tuple[MachineHandle, ...], tmp_path: Path) -> None:
    namespace = four[0].remote._inside  # type: ignore[attr-defined]
    squatter = subprocess.Popen([*namespace, "iperf3", "-s", "-p", "20100"], stdout=subprocess.DEVNULL)
    try:
        asyncio.run(asyncio.sleep(0.5))
        with pytest.raises(EnvironmentProblem, match="port 20100"):
            measured(Throughput(), site_of(four[:2], tmp_path), duration_s=2)
    finally:
        squatter.kill()
        squatter.wait()
