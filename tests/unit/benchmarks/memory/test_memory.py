"""The memory benchmark: its lines, damage to them, and the program itself.

Recorded on 2026-11-28 by `nephoscope-load memory --largest-bytes 65536 --sample-ms 5` (0.1.0) on two vCPUs of an AMD
EPYC, beside other work: the numbers say nothing about the machine.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.memory.memory import Memory, MemoryParameters
from nephoscope.model.errors import OutputUnreadable
from nephoscope.report.figures.results import curves_of
from tests.support.site import raw_of, site_here

RECORDED = (Path(__file__).resolve().parents[3] / "data" / "memory" / "memory.jsonl").read_bytes()
LINES: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.splitlines()]
CACHES = [{"level": 1, "bytes": 4096, "instances": 2}, {"level": 2, "bytes": 24576, "instances": 2}]
"""Of a machine on which the largest recorded working set, 64 KiB, is in memory."""
IN_MEMORY = [{**LINES[0], "machine": {**LINES[0]["machine"], "caches": CACHES}}, *LINES[1:]]
USUAL = MemoryParameters()


def parsed(*lines: dict[str, Any]) -> dict[str, float]:
    raw = {"memory.stdout": b"".join(json.dumps(line).encode() + b"\n" for line in lines)}
    return {row.metric: row.value for row in Memory().parse(raw, USUAL)}


def test_recorded_output() -> None:
    values = parsed(*IN_MEMORY)
    for line in LINES:
        if line["event"] == "bandwidth":
            kind = "single" if line["threads"] == 1 else "multi"
            metric = f"{line['operation']}-{kind}.bandwidth_in_{line['working_set_bytes']}_bytes"
            assert values[metric] == median(line["samples_bytes_per_s"])
    assert values["read-half.bandwidth"] == values["read-single.bandwidth"], "one thread is half of two CPUs"
    assert values["copy-multi.bandwidth"] == values["copy-multi.bandwidth_in_65536_bytes"], "the largest is memory"
    assert values["small-pages.latency"] == values["small-pages.latency_in_65536_bytes"]
    assert values["core-to-core.shortest"] == values["core-to-core.longest"], "two CPUs are one pair"
    assert values["cache.level_2_size"] == 24576


def test_what_the_caches_hold_is_not_memory() -> None:
    held = {
        **IN_MEMORY[0],
        "machine": {**IN_MEMORY[0]["machine"], "caches": [*CACHES[:1], {**CACHES[1], "bytes": 40_000}]},
    }
    values = parsed(held, *LINES[1:])
    assert "read-multi.bandwidth" in values, "two threads have twice the largest working set"
    assert "read-single.bandwidth" not in values
    assert "small-pages.latency" not in values
    assert "read-single.bandwidth_in_65536_bytes" in values


def test_curves_are_recognised() -> None:
    titles = {curve.title for curve in curves_of(Memory().metrics(USUAL))}
    assert {"read-multi bandwidth", "copy-single bandwidth", "small-pages latency", "large-pages latency"} <= titles


def latency(pages: str, size: int, nanoseconds: float, **more: int) -> dict[str, Any]:
    said = {"large_page_bytes": size if pages == "large" else 0, "samples_s": [nanoseconds * 1e-9]}
    return {"event": "latency", "pages": pages, "working_set_bytes": size, **said, **more}


def with_points(*points: dict[str, Any]) -> list[dict[str, Any]]:
    every = [*LINES[1:-1], *points]
    return [IN_MEMORY[0], *every, {"event": "finished", "points": len(every)}]


def test_large_pages_that_the_kernel_did_not_give_are_none() -> None:
    size = 2 << 20
    assert "large-pages.latency" in parsed(*with_points(latency("large", size, 90.0)))
    refused = latency("large", 2 * size, 200.0, large_page_bytes=size // 4)
    values = parsed(*with_points(latency("large", 32 << 10, 4.0), refused))
    assert "large-pages.latency_in_32768_bytes" in values
    assert "large-pages.latency" not in values, "what a cache holds is not memory"


def test_nodes_are_told_apart_and_their_medians_taken() -> None:
    nodes = [(0, 0, 80.0), (0, 1, 140.0), (1, 0, 150.0), (1, 1, 90.0)]
    points = [latency("small", 1 << 27, value, cpu_node=cpu, memory_node=memory) for cpu, memory, value in nodes]
    values = parsed(*with_points(*points))
    assert values["own-node.latency"] == pytest.approx(85e-9)
    assert values["other-node.latency"] == pytest.approx(145e-9)
    assert values["small-pages.latency"] == parsed(*IN_MEMORY)["small-pages.latency"]


def changed(at: int, **values: Any) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [*LINES[:at], {**LINES[at], **values}, *LINES[at:][1:]]


DAMAGE: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "nothing": list,
    "no start": lambda: LINES[1:],
    "no end": lambda: LINES[:-1],
    "a point less": lambda: [*LINES[:3], *LINES[4:]],
    "two starts": lambda: [LINES[0], *LINES],
    "no samples": changed(1, samples_bytes_per_s=[]),
    "a rate of 0": changed(1, samples_bytes_per_s=[0.0]),
    "a rate in words": changed(1, samples_bytes_per_s=["fast"]),
    "more threads than CPUs": changed(1, threads=7),
    "another operation": changed(1, operation="move"),
    "no CPU": changed(0, machine={**LINES[0]["machine"], "cpus": []}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_other_output_is_refused(damage: str) -> None:
    with pytest.raises(OutputUnreadable):
        parsed(*DAMAGE[damage]())


def test_output_that_was_cut_anywhere_is_refused() -> None:
    for end in range(0, len(RECORDED) - 1, 997):
        with pytest.raises(OutputUnreadable):
            Memory().parse({"memory.stdout": RECORDED[:end]}, USUAL)


def test_the_program_itself(tmp_path: Path) -> None:
    site, recorder = site_here(tmp_path, cpus=(0,))
    parameters = MemoryParameters(sample_ms=1, largest_bytes=65536)
    asyncio.run(Memory().run(replace(site, load_program=load_program()), parameters))
    assert [name for name, _ in recorder.ran] == ["memory"]
    rows = Memory().parse(raw_of(site), parameters)
    values = {row.metric: row.value for row in rows}
    assert all(row.value > 0 for row in rows)
    multi, single = (values[f"read-{kind}.bandwidth_in_65536_bytes"] for kind in ("multi", "single"))
    assert multi == single, "on one CPU, one thread is all"


def test_each_pair_of_cpus_is_a_metric_by_the_places_of_both() -> None:
    ways = {(0, 8): 20.0, (0, 16): 90.0, (8, 16): 110.0}
    points = [{"event": "core-to-core", "cpus": list(cpus), "samples_s": [way * 1e-9]} for cpus, way in ways.items()]
    others = [line for line in LINES[1:-1] if line["event"] != "core-to-core"]
    every = [*others, *points]
    values = parsed(IN_MEMORY[0], *every, {"event": "finished", "points": len(every)})
    assert {name: values[name] for name in values if "pair" in name} == pytest.approx(
        {"core-to-core.pair_1_2": 20e-9, "core-to-core.pair_1_3": 90e-9, "core-to-core.pair_2_3": 110e-9}
    )
    ends = [values[f"core-to-core.{end}"] for end in ("shortest", "median", "longest")]
    assert ends == pytest.approx([20e-9, 90e-9, 110e-9])
