"""A plan holds each cell once per block; its ids depend on nothing but the trial."""

import hashlib
import itertools
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nephoscope.benchmarks.cpu.stress_ng import StressNg
from nephoscope.model.errors import InputError
from nephoscope.model.records import Omission, Plan
from nephoscope.model.sentence import Sentence
from nephoscope.plan.expand import expand
from nephoscope.study.machine_names import is_burstable
from nephoscope.study.model import BenchmarkEntry, Configuration, Study
from tests.unit.plan.plan_example import BENCHMARKS, Standin, configurations, study


def ids(plan: Plan) -> dict[tuple[str, str, int], str]:
    intents = [trial.intent for trial in plan.trials]
    return {(intent.configuration_name, intent.benchmark.name, intent.replicate): intent.id for intent in intents}


NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,6}", fullmatch=True)
STUDIES = st.builds(
    lambda names, labels, seed, replicates: study(
        configurations=configurations(*names),
        benchmarks=[BenchmarkEntry(uses="cpu", name=label) for label in labels],
        seed=seed,
        replicates=replicates,
    ),
    st.lists(NAMES, min_size=1, max_size=4, unique=True),
    st.lists(NAMES, min_size=1, max_size=4, unique=True),
    st.integers(0, 2**63 - 1),
    st.integers(1, 5),
)


@given(STUDIES)
@settings(deadline=None)
def test_each_block_holds_each_cell_once_and_every_id_is_its_own(any_study: Study) -> None:
    plan = expand(any_study, BENCHMARKS)
    names = [configuration.name for configuration in any_study.configurations]
    cells = set(itertools.product(names, [entry.label for entry in any_study.benchmarks]))
    intents = [trial.intent for trial in plan.trials]
    assert [intent.position for intent in intents] == list(range(1, len(cells) * any_study.replicates + 1))
    for block, rows in itertools.groupby(intents, key=lambda intent: intent.block):
        in_block = list(rows)
        assert Counter((row.configuration_name, row.benchmark.name) for row in in_block) == Counter(cells)
        assert [row.position_in_block for row in in_block] == list(range(1, len(cells) + 1))
        assert {row.replicate for row in in_block} == {block}
    assert len({intent.id for intent in intents}) == len(intents)
    assert all(re.fullmatch(r"[0-9a-f]{12}", intent.id) for intent in intents)


MICRO = study(benchmarks=[BenchmarkEntry(uses="stress-ng", parameters={"duration_s": 60})])


def test_a_benchmark_runs_on_the_configurations_that_it_names() -> None:
    entries = [BenchmarkEntry(uses="cpu", configurations=["large"]), BenchmarkEntry(uses="disk")]
    plan = expand(study(benchmarks=entries, replicates=1), BENCHMARKS)
    cells = {(row.intent.configuration_name, row.intent.benchmark.name) for row in plan.trials}
    assert cells == {("large", "cpu"), ("small", "disk"), ("large", "disk")}
    everywhere = expand(study(replicates=1), BENCHMARKS)
    assert ids(plan)["large", "cpu", 1] == ids(everywhere)["large", "cpu", 1], "where it runs is no part of an id"


def test_a_scale_shrinks_times_changes_ids_and_is_told() -> None:
    whole, small = (expand(MICRO, {"stress-ng": StressNg()}, scale=scale) for scale in (None, 0.05))
    assert small.expected_duration_s < whole.expected_duration_s / 10
    assert not set(ids(whole).values()) & set(ids(small).values())
    assert str(small.warnings[0].text) == "scaled to 5 % of the edition's times: not comparable with published numbers"
    assert not any("scaled" in str(warning.text) for warning in whole.warnings)
    assert ids(expand(MICRO, {"stress-ng": StressNg()}, scale=1.0)) == ids(whole)


def test_a_benchmark_without_a_scale_is_not_scaled_in_silence() -> None:
    with pytest.raises(InputError, match="benchmark 'cpu' has no scale"):
        expand(study(), BENCHMARKS, scale=0.5)


@given(STUDIES)
@settings(deadline=None, max_examples=25)
def test_equal_studies_give_equal_bytes(any_study: Study) -> None:
    again = Study.model_validate_json(any_study.model_dump_json(by_alias=True))
    first, second = (expand(one, BENCHMARKS).model_dump_json(by_alias=True) for one in (any_study, again))
    assert first == second
    assert Plan.model_validate_json(first) == expand(any_study, BENCHMARKS)


CANONICAL = (
    '{"benchmark":{"name":"cpu","parameters":{"depth":1,"duration_s":60.0},"uses":"cpu","version":1},'
    '"configuration":{"database":{"connections":8,"settings":{},"system":"postgres"},"database_machine":{"count":1,'
    '"cpus":"all"},"name":"small","provider":"local"},"replicate":1,"seed":7}'
)


def test_ids_and_order_never_change() -> None:
    """A contract: stored results are found by their ids. A change here breaks every results folder there is."""
    plan = expand(study(replicates=1), BENCHMARKS)
    assert ids(plan)["small", "cpu", 1] == hashlib.sha256(CANONICAL.encode()).hexdigest()[:12] == "10dcf2b16fe3"
    assert list(ids(plan)) == [("small", "disk", 1), ("large", "disk", 1), ("small", "cpu", 1), ("large", "cpu", 1)]


@pytest.mark.parametrize(
    "changes",
    [
        {"replicates": 9},
        {"configurations": [*study().configurations, Configuration(name="more")]},
        {"configurations": study().configurations[::-1]},
        {"benchmarks": [BenchmarkEntry(uses="cpu", name="more"), *study().benchmarks]},
        {"name": "renamed", "title": "t", "equivalence_margin_percent": 3},
        {"disturbance": "record"},
        {"configurations": [one.model_copy(update={"rented": True}) for one in study().configurations]},
    ],
    ids=["replicates", "configuration", "order", "benchmark", "words", "disturbance", "rented"],
)
def test_ids_are_kept_by_what_does_not_touch_a_trial(changes: dict[str, Any]) -> None:
    before, after = ids(expand(study(), BENCHMARKS)), ids(expand(study(**changes), BENCHMARKS))
    assert before.items() <= after.items()


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 8},
        {"configurations": [Configuration(name="small", database_machine={"cpus": 1})]},
        {"benchmarks": [BenchmarkEntry(uses="cpu", parameters={"depth": 2})]},
        {"benchmarks": [BenchmarkEntry(uses="disk", name="cpu")]},
    ],
    ids=["seed", "configuration", "parameters", "uses"],
)
def test_ids_change_with_every_input(changes: dict[str, Any]) -> None:
    before, after = ids(expand(study(), BENCHMARKS)), ids(expand(study(**changes), BENCHMARKS))
    assert before["small", "cpu", 1] != after["small", "cpu", 1]


def test_ids_change_with_the_version_of_the_benchmark_and_the_replicate() -> None:
    before = ids(expand(study(), BENCHMARKS))
    after = ids(expand(study(), BENCHMARKS | {"cpu": Standin(version=2)}))
    assert before["small", "cpu", 1] != after["small", "cpu", 1]
    assert before["small", "disk", 1] == after["small", "disk", 1]
    assert before["small", "cpu", 1] != before["small", "cpu", 2]


def test_parameters_are_filled_in_and_a_default_written_out_is_the_same_trial() -> None:
    plan = expand(study(), BENCHMARKS)
    assert {str(trial.intent.benchmark.parameters) for trial in plan.trials} == {
        "{'duration_s': 60.0, 'depth': 1}",
        "{'duration_s': 300.0, 'depth': 1}",
    }
    written = study(benchmarks=[BenchmarkEntry(uses="cpu", parameters={"duration_s": 60}), study().benchmarks[1]])
    assert expand(written, BENCHMARKS) == plan


def test_hours_and_dollars() -> None:
    plan = expand(study(), BENCHMARKS)
    assert plan.expected_duration_s == 6 * 2 * (120 + 600)
    assert plan.price_usd == pytest.approx(6 * (120 + 600) / 3600 * (0.5 + 2))
    assert plan.unpriced == []
    small = {trial.price_usd for trial in plan.trials if trial.intent.configuration_name == "small"}
    assert sorted(price for price in small if price) == pytest.approx([120 / 3600 * 0.5, 600 / 3600 * 0.5])


def test_one_missing_price_leaves_the_total_unknown_and_not_too_small() -> None:
    plan = expand(study(configurations=[study().configurations[0], Configuration(name="here")]), BENCHMARKS)
    assert plan.price_usd is None
    assert plan.unpriced == [Omission("here", Sentence("local machine: no price given"))]
    assert {trial.price_usd is None for trial in plan.trials if trial.intent.configuration_name == "here"} == {True}


def test_an_unknown_benchmark_and_parameters_that_do_not_fit() -> None:
    with pytest.raises(InputError, match=r"no benchmark 'net'; hint: there are: cpu, disk"):
        expand(study(benchmarks=[BenchmarkEntry(uses="net")]), BENCHMARKS)
    with pytest.raises(InputError, match="parameters of benchmark 'cpu' are not valid"):
        expand(study(benchmarks=[BenchmarkEntry(uses="cpu", parameters={"duration_s": -1})]), BENCHMARKS)


@pytest.mark.parametrize(
    ("machine_type", "burstable"),
    [
        *((name, True) for name in ("t2.micro", "t3.2xlarge", "t3a.small", "t4g.nano", "e2-medium", "f1-micro")),
        *((name, True) for name in ("g1-small", "Standard_B1s", "Standard_B2ats_v2")),
        *((name, False) for name in ("m6i.large", "e2-standard-2", "Standard_D2s_v5", "trn1.2xlarge", "x2idn.large")),
        (None, False),
    ],
)
def test_machine_types_with_cpu_credits_are_known_by_name(machine_type: str | None, burstable: bool) -> None:
    assert is_burstable(machine_type) is burstable


@pytest.mark.parametrize(
    ("configuration", "key", "in_force"),
    [
        ({"provider": "local"}, None, "reject"),
        ({"provider": "ssh"}, None, "reject"),
        ({"provider": "emulated"}, None, "reject"),
        ({"provider": "fake"}, None, "reject"),
        ({"provider": "local", "rented": True}, None, "record"),
        ({"provider": "ssh", "rented": True}, None, "record"),
        ({"provider": "ssh", "rented": False}, None, "reject"),
        ({"provider": "aws"}, None, "record"),
        ({"provider": "gcp"}, "reject", "reject"),
        ({"provider": "local"}, "record", "record"),
    ],
)
def test_what_happens_to_stolen_time_follows_from_whose_the_machine_is(
    configuration: dict[str, Any], key: str | None, in_force: str
) -> None:
    one = Configuration(name="one", **configuration)
    (trial, *_) = expand(study(configurations=[one], disturbance=key), BENCHMARKS).trials
    assert trial.intent.disturbance == in_force
