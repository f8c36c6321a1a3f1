"""JSON of strangers that Python reads, or fails to read, as nobody expects: it is unreadable, and no defect."""

from collections import Counter
from collections.abc import Callable

import pytest

from nephoscope.benchmarks.cpu import stages
from nephoscope.benchmarks.network import multi_stream, settings, throughput
from nephoscope.benchmarks.search import sustained
from nephoscope.databases import asking as client
from nephoscope.importers.spare_cores import sqlite
from nephoscope.machines.remote import Completed
from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import OutputUnreadable
from nephoscope.providers.gcp.plan import tags_of

DEEP = "[" * 100_000
ENDLESS = '{"more": {"levels": [], "most_streams": 1e400}}'


@pytest.mark.parametrize(
    "text", [DEEP, "1e400", "[NaN]", "-Infinity", "{", "1" * 400, "1" * 5_000, f"[{'[],' * 2_000_001}0]"]
)
def test_json_is_of_finite_numbers_and_depth_and_so_many_values(text: str) -> None:
    with pytest.raises(ValueError, match=r"nested|number|Expecting|digits|more than 4,000,000 values"):
        load_json(text)


@pytest.mark.parametrize("text", [DEEP, ENDLESS])
@pytest.mark.parametrize(
    "read",
    [
        lambda text: stages.frequencies({stages._RAW: text}),
        lambda text: multi_stream._recorded({settings.RECORD: text}),
        lambda text: throughput._starts({settings.RECORD: text}, 1),
        lambda text: list(sustained._looks({sustained.UPKEEP: text})),
        lambda text: client._read(Completed(("nephoscope-load",), 0, text, b"", 0.0)),
    ],
)
def test_raw_output_of_strangers_is_unreadable(read: Callable[[bytes], object], text: str) -> None:
    with pytest.raises(OutputUnreadable):
        read(text.encode())


@pytest.mark.parametrize("text", [DEEP, '{"cores": 1e400}', None])
def test_what_others_wrote_beside_ours_is_passed_over(text: str | None) -> None:
    skipped: Counter[str] = Counter()
    assert sqlite._point({"config": text, "benchmark_id": sqlite._STRESS_ID, "score": 1}, skipped) == (None, None)
    assert skipped.total() == 1
    assert tags_of({"description": text}) == {}
