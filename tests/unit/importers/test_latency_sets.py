"""Latencies that a file names one by one are held against each other as those of a tool are."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nephoscope.importers.imported import ImportedStudy
from nephoscope.importers.latency_sets import checked
from nephoscope.importers.registry import IMPORTERS
from tests.support.others_results import PHORONIX

END_MS = 5000.0
SOUND = {"p50": 10.0, "p95": 20.0, "p99": 40.0, "average": 11.0, "maximum": 90.0}
CAPPED = {**SOUND, "p95": END_MS, "p99": END_MS, "average": 1.5 * END_MS, "maximum": END_MS}
AGAINST_EACH_OTHER = {**SOUND, "p99": 400.0}


def perfkit(test: str, latencies_ms: dict[str, float], folder: Path) -> ImportedStudy:
    samples = [
        {"test": test, "run_uri": "a1", "labels": "", "metric": f"read {word} latency", "value": value, "unit": "ms"}
        for word, value in latencies_ms.items()
    ]
    samples.append({**samples[0], "metric": "throughput", "value": 100.0, "unit": "ops/s"})
    (folder / "samples.json").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return IMPORTERS["perfkit"].read(folder / "samples.json")


def phoronix(test: str, latencies_ms: dict[str, float], folder: Path) -> ImportedStudy:
    begin, end = PHORONIX.index("  <Result>"), PHORONIX.index("</PhoronixTestSuite>")
    result = PHORONIX[begin:end].replace("compress-7zip", test)
    each = [
        result.replace("Test: Compression Rating", f"Latency: {word}")
        .replace("MIPS", "ms")
        .replace("HIB", "LIB")
        .replace("1000:1001:1000.5", f"{value}:{value}")
        for word, value in latencies_ms.items()
    ]
    (folder / "composite.xml").write_text(PHORONIX[:begin] + "".join(each) + result + PHORONIX[end:])
    return IMPORTERS["phoronix"].read(folder)


Make = Callable[[str, dict[str, float], Path], ImportedStudy]


def bounds(study: ImportedStudy) -> list[tuple[float, str | None]]:
    """Every time with what it is a bound of, sorted."""
    rows = [row for trial in study.trials for row in trial.measurements if row.unit == "ms"]
    return sorted({(row.value, row.bound) for row in rows}, key=str)


@pytest.mark.parametrize("make", [perfkit, phoronix])
def test_an_end_that_a_mean_shows_is_a_lower_bound(make: Make, tmp_path: Path) -> None:
    sound = bounds(make("anything", SOUND, tmp_path))
    assert sound == sorted(((value, None) for value in SOUND.values()), key=str)
    told = dict(bounds(make("anything", CAPPED, tmp_path)))
    assert told == {10.0: None, END_MS: "lower", 1.5 * END_MS: None}


@pytest.mark.parametrize("make", [perfkit, phoronix])
def test_the_end_of_a_known_tool_is_a_lower_bound(make: Make, tmp_path: Path) -> None:
    long = {**SOUND, "p99": 100_000.0, "maximum": 130_000.0}
    assert dict(bounds(make("sysbench", long, tmp_path)))[100_000.0] == "lower"
    assert dict(bounds(make("mysysbench2", long, tmp_path)))[100_000.0] is None


@pytest.mark.parametrize("make", [perfkit, phoronix])
def test_latencies_that_cannot_be_of_one_set_are_left_out_and_the_rest_is_kept(make: Make, tmp_path: Path) -> None:
    study = make("anything", AGAINST_EACH_OTHER, tmp_path)
    assert bounds(study) == []
    assert sum("above the maximum of 0.09 s" in line for line in study.left_out) == len(SOUND)
    assert study.trials


@pytest.mark.parametrize(
    "names",
    [
        ("read p50 latency", "read p99 latency", "read average latency", "read max latency"),
        ("[READ] 50thPercentileLatency", "[READ] 99thPercentileLatency", "[READ] AverageLatency", "[READ] MaxLatency"),
        ("TCP_RR_Latency_p50", "TCP_RR_Latency_p99", "TCP_RR_Latency_mean", "TCP_RR_Latency_maximum"),
        ("Median latency", "p999 latency", "Mean latency", "Longest latency"),
        ("latency percentile 50", "latency percentile 99.9", "latency avg", "latency p100"),
        ("50% latency", "99.9 %ile latency", "latency mean", "latency max"),
    ],
)
def test_words_for_a_statistic_make_a_set(names: tuple[str, str, str, str]) -> None:
    told = checked("x", dict(zip(names, (0.1, 5.0, 9.0, 5.0), strict=True)))
    assert told.bounds == {names[1], names[3]}


def test_a_mean_above_a_median_alone_is_usual() -> None:
    assert checked("x", {"p50 latency": 1.0, "mean latency": 3.0}).bounds == frozenset()
    assert checked("x", {"p50 latency": 1.0, "mean queue": 3.0, "max p99 latency": 0.1}).refused == {}
