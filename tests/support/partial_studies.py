"""Small studies of which anything may be missing: configurations, benchmarks, trials, prices, numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from nephoscope.analysis.inputs import StudyInputs
from nephoscope.app.stages.planning import load
from nephoscope.model.records import VerdictKind
from nephoscope.study.model import Study
from tests.support.rehearsed import rehearsed

Item = TypeVar("Item")
_TYPES = """
[[matrix]]
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
name = "{type}"
axes.type = ["m6i.2xlarge", "m5a.2xlarge", "c5.2xlarge", "m6i.8xlarge", "c5n.9xlarge", "m6a.large", "x9nobody.2xlarge"]
load_machine = { type = "{type}" }
database_machine = { type = "{type}", count = 3 }

[[matrix]]
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
name = "{type}-{kind}"
axes.type = ["m6i.2xlarge"]
axes.kind = ["gp3", "io2"]
load_machine = { type = "{type}", region = "us-west-2", zones = ["us-west-2a"], image = "ami-2" }
database_machine = { type = "{type}", volumes = [{ kind = "{kind}", size = 500, iops = 8000 }] }

[[matrix]]
provider = "gcp"
region = "us-east4"
zone = "us-east4-c"
name = "{type}"
axes.type = ["n2-standard-8", "n2-standard-32"]
load_machine = { type = "{type}" }
database_machine = { type = "{type}" }
"""
_HEAD = """
name = "partial"
replicates = 3
clouds.aws = { image = "ami-1", ingress = "203.0.113.7/32" }
clouds.gcp = { image = "image-1", ingress = "203.0.113.7/32" }

[defaults]
database = { system = "cockroachdb", version = "25.2.0" }
"""
_SQL = 'parameters = { dialect = "cockroachdb", isolation = "serializable" }'
_BENCHMARKS: Mapping[str, str] = {
    **dict.fromkeys(("coremark", "stress-ng", "fio", "sysbench-fileio", "multi-stream", "ping"), ""),
    "point-select": _SQL,
    "max-warehouses": f'parameters.{_SQL}\nparameters.warehouses = 1200\nparameters.rule = "cloud-report-2020"',
    "tpcc": _SQL.replace("{", '{ edition = "cr2022", active_warehouses = 1200,'),
}
OUTCOMES: Mapping[str, Mapping[str, Any]] = {
    "valid": {},
    "rejected": {"verdict": VerdictKind.INVALID, "reasons": ["steal: 12.0 % of CPU time was stolen"]},
    "unknown": {"verdict": VerdictKind.UNKNOWN, "reasons": ["audit: crashed"]},
    "failed": {"state": "failed", "verdict": None, "reasons": ["the server did not start"]},
    "missing": {
        "state": "planned", "verdict": None, "attempt": None, "attempts": 0, "started_unix_ms": None, "duration_s": None
    },
}  # fmt: skip
"""How a trial may end."""


@cache
def _whole() -> Study:
    uses = [f'[[benchmarks]]\nuses = "{name}"\n{parameters}\n' for name, parameters in _BENCHMARKS.items()]
    return load("\n".join((_HEAD, _TYPES, *uses)), "partial.toml")


def _some(items: Sequence[Item], most: int) -> st.SearchStrategy[list[Item]]:
    """At least one of them, in their order."""
    places = st.lists(st.integers(0, len(items) - 1), min_size=1, max_size=most, unique=True)
    return places.map(lambda chosen: [items[place] for place in sorted(chosen)])


@st.composite
def partial_studies(draw: st.DrawFn) -> StudyInputs:
    """A rehearsed study of some configurations and some benchmarks, each on some of these, whose trials end anyhow.

    A configuration may not have a single trial; a trial that finished may have lost one of its metrics.
    """
    study = _whole()
    configurations = draw(_some(study.configurations, 8))
    benchmarks = [
        use.model_copy(
            update={"configurations": [one.name for one in draw(_some(configurations, len(configurations)))]}
        )
        for use in draw(_some(study.benchmarks, 4))
    ]
    study = study.model_copy(update={"configurations": configurations, "benchmarks": benchmarks})
    inputs = rehearsed(study, draw(st.integers(1, 3))).inputs("Partial", "", study)
    return _ended(draw, inputs)


def _ended(draw: st.DrawFn, inputs: StudyInputs) -> StudyInputs:
    mostly = draw(st.sampled_from([*OUTCOMES, "mixed"]))
    outcomes = st.sampled_from([*OUTCOMES]) if mostly == "mixed" else st.just(mostly)
    trials = {row.trial: row.model_copy(update=OUTCOMES[draw(outcomes)]) for row in inputs.trials}
    lost = draw(st.sampled_from(["", *sorted({row.metric for row in inputs.measurements})]))
    measured = [
        row._replace(valid=trials[row.trial].counts)
        for row in inputs.measurements
        if trials[row.trial].state == "finished" and row.metric != lost
    ]
    return replace(
        inputs,
        trials=list(trials.values()),
        measurements=measured,
        machines=[row for row in inputs.machines if trials[row.trial].state != "planned"],
        network=[row for row in inputs.network if trials[row.trial].state == "finished"],
    )
