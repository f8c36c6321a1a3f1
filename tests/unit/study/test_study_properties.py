"""Any valid study can be written and read back; any damaged one is a StudyError and nothing else."""

import contextlib
import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nephoscope.model.errors import StudyError
from nephoscope.model.text import hidden
from nephoscope.study.load import load_study
from nephoscope.study.model import BenchmarkEntry, Budget, Configuration, Database, Machine, Study
from tests.unit.study.study_example import KNOWN, LAPTOP, StressNg, Tpcc

NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).filter(lambda text: not hidden(text))
AMOUNTS = st.none() | st.floats(0.001, 1e6)
MACHINES = st.builds(
    Machine, cpus=st.integers(1, 4096) | st.just("all"), expect_cpu_model=st.none() | TEXTS, expect_memory_gib=AMOUNTS
)
DATABASES = st.builds(
    Database,
    system=st.sampled_from(["postgres", "fake"]),
    version=st.none() | TEXTS,
    settings=st.dictionaries(st.from_regex(r"[a-z]{1,8}_mem", fullmatch=True), TEXTS, max_size=2),
    connections=st.integers(1, 100_000),
)
CONFIGURATIONS = st.builds(
    Configuration,
    name=NAMES,
    provider=st.sampled_from(["local", "fake"]),
    database_machine=MACHINES,
    load_machine=st.none() | MACHINES,
    database=DATABASES,
    price_usd_per_hour=AMOUNTS,
    price_basis=st.none() | TEXTS,
).filter(lambda value: value.provider == "local" or value.database.system == "fake")
SECONDS = st.floats(0.001, 1e6)
BENCHMARKS = st.builds(
    BenchmarkEntry,
    uses=st.just("tpcc"),
    name=NAMES,
    parameters=st.builds(Tpcc, warehouses=st.integers(1, 9), duration_s=SECONDS).map(Tpcc.model_dump),
) | st.builds(
    BenchmarkEntry,
    uses=st.just("stress-ng"),
    name=NAMES,
    parameters=st.builds(StressNg, duration_s=SECONDS).map(StressNg.model_dump),
)
STUDIES = st.builds(
    Study,
    name=NAMES,
    title=TEXTS,
    description=TEXTS,
    seed=st.integers(0, 2**63 - 1),
    replicates=st.integers(1, 1000),
    equivalence_margin_percent=st.floats(0.01, 49),
    budget=st.builds(Budget, max_usd=AMOUNTS, max_hours=AMOUNTS),
    configurations=st.lists(CONFIGURATIONS, min_size=1, max_size=3, unique_by=lambda value: value.name),
    benchmarks=st.lists(BENCHMARKS, min_size=1, max_size=3, unique_by=lambda value: value.label),
)


def toml(value: Any) -> str:
    """JSON's strings, numbers and lists are TOML's; tables differ in their sign of equality."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items() if inner is not None) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return json.dumps(value)


@given(STUDIES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_study_comes_back_as_it_was(study: Study) -> None:
    plain = study.model_dump(mode="json", by_alias=True)
    text = "\n".join(f"{key} = {toml(value)}" for key, value in plain.items() if value is not None)
    assert load_study(text, "s.toml", KNOWN) == study


LAPTOP_TEXT = LAPTOP.read_text()
TOKENS = re.findall(r"\w+|\s+|.", LAPTOP_TEXT)
SPLINTERS = st.sampled_from(
    ['"', "'", "[", "]", "{", "}", "=", ",", ".", "#", "\n", "\\", "-1", "1e999", "nan", "true"]
)
JUNK = (
    SPLINTERS | st.text(max_size=3) | st.sampled_from(["[[", '"""', "0x", "2024-01-01", "inf", "[a]\n", "x = 1\n", ""])
)


def load_or_refuse(text: str) -> None:
    with contextlib.suppress(StudyError):
        load_study(text, "s.toml", KNOWN)


@given(st.lists(st.tuples(st.integers(0, len(TOKENS) - 1), JUNK), min_size=1, max_size=4))
def test_damaged_tokens_raise_nothing_but_study_errors(changes: list[tuple[int, str]]) -> None:
    tokens = list(TOKENS)
    for index, junk in changes:
        tokens[index] = junk
    load_or_refuse("".join(tokens))


@given(st.integers(0, len(LAPTOP_TEXT)), st.integers(0, 40), st.text(max_size=5))
def test_cut_and_filled_texts_raise_nothing_but_study_errors(start: int, length: int, filling: str) -> None:
    load_or_refuse(LAPTOP_TEXT[:start] + filling + LAPTOP_TEXT[start + length :])


WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def toml_of_anything(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml_of_anything(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of_anything, value)) + "]"
    return '""' if value is None else toml(value)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["configurations.0", "benchmarks.1", "benchmarks.1.parameters", "benchmarks.1.parameters.jobs.0"]
            ),
            st.sampled_from(
                [*Configuration.model_fields, *BenchmarkEntry.model_fields, "jobs", "file_size_mib", "mode"]
            ),
            WILD,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_wild_values_at_known_keys_raise_nothing_but_study_errors(changes: list[tuple[str, str, Any]]) -> None:
    plain = load_study(LAPTOP_TEXT, "", KNOWN).model_dump(mode="json", by_alias=True)
    for place, key, value in changes:
        inside: Any = plain
        for part in place.split("."):
            try:
                inside = inside[int(part)] if part.isdigit() else inside[part]
            except (KeyError, IndexError, TypeError):
                break
        if isinstance(inside, dict):
            inside[key] = value
    load_or_refuse("\n".join(f"{key} = {toml_of_anything(value)}" for key, value in plain.items()))
