"""From somebody's report to a study that measures one of its configurations again, without its author's questions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nephoscope.app.stages.evaluation import study_at
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import InputError
from nephoscope.model.names import MOST_CHARACTERS
from nephoscope.model.rows import TrialRow
from nephoscope.model.text import line
from nephoscope.model.words import SIMULATED, listed
from nephoscope.study.load import load_study, study_and_values
from nephoscope.study.model import KnownBenchmark
from nephoscope.study.suggest import hint_among
from nephoscope.study.toml_text import toml_text

_OF_ITS_AUTHOR = ("report", "contrasts", "stop", "description")
"""What they say about many configurations, which one alone does not answer."""


def study_of_one(
    text: str,
    configuration: str,
    benchmarks: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, KnownBenchmark],
) -> str:
    """The text of a study that measures one configuration as another study did.

    Args:
        text: the other study.
        configuration: its name there, which it keeps, so that both are compared.
        benchmarks: parameters of each that it was measured with, by its name there; these count, and not the text's:
            a plan may be a part of its study, and smaller.
        known: all benchmarks, by the value of `uses`.

    Raises:
        StudyError: the text is no study.
    """
    declared, values = study_and_values(text, "study.toml", known)
    data = {key: value for key, value in values.items() if key not in _OF_ITS_AUTHOR}
    entries = [
        _entry(raw, entry.parameters, benchmarks[entry.label])
        for raw, entry in zip(data["benchmarks"], declared.benchmarks, strict=True)
        if entry.label in benchmarks
    ]
    whole = {
        **data,
        "name": f"{data['name']}-{configuration}"[:MOST_CHARACTERS].rstrip("-."),
        "title": f"{configuration}, as in “{declared.title or declared.name}”",
        "configurations": [one for one in data["configurations"] if one["name"] == configuration],
        "benchmarks": entries,
    }
    return toml_text(whole)


def _entry(raw: Mapping[str, Any], declared: Mapping[str, Any], used: Mapping[str, Any]) -> dict[str, Any]:
    """A benchmark for all configurations, as it is written if that is how it ran."""
    kept = {key: value for key, value in raw.items() if key != "configurations"}
    if declared == used:
        return kept
    return {**kept, "parameters": {key: value for key, value in used.items() if value is not None}}


_HEAD = """\
# {configuration}, as this report measured it with nephoscope {version}: {title}
# It is somebody else's: read it, and replace what belongs to them, such as identities, buckets and addresses.
# When it has run: nephoscope compare {report} results/{name}

"""
_MOST_NAMED = 8


def repeated_study(report: Path, configuration: str) -> tuple[str, list[str]]:
    """The text of a study that measures one configuration of a report again, and warnings.

    Args:
        report: a results folder, the folder of a report's pages, or its bundle.zip.
        configuration: as its pages name it.

    Raises:
        InputError: the report has no such configuration, or nephoscope did not measure it.
        DamagedFile: it cannot be read.
    """
    study = study_at(report)
    if study.source is not None:
        raise InputError(
            f"the results of {report} were imported from {study.source.source}: no study of nephoscope measured them",
            hint="repeat them as their source says, and import your own: docs/how-to/import-results.md",
        )
    trials = {row.trial for row in study[TrialRow] if row.configuration == configuration}
    intents = [row.intent for row in study.plan.trials if row.intent.id in trials]
    if not intents:
        names = list(dict.fromkeys(row.configuration for row in study[TrialRow]))
        otherwise = f"there are: {listed(names, _MOST_NAMED)}"
        hint = hint_among(configuration, names, "{}", otherwise)
        raise InputError(f"{report} has no configuration {configuration!r}", hint=hint)
    parameters: dict[str, dict[str, Any]] = {intent.benchmark.name: intent.benchmark.parameters for intent in intents}
    declared = intents[0].configuration_name
    text = study_of_one(study.study_toml, declared, parameters, BENCHMARKS)
    head = _HEAD.format(
        configuration=configuration,
        title=line(study.title or study.study),
        version=line(study.nephoscope_version),
        report=line(str(report)),
        name=load_study(text, str(report), BENCHMARKS).name,
    )
    rehearsed = f"{report} is of a rehearsal ({SIMULATED.lower()}), with which no measurement can be compared"
    return head + text, [rehearsed] if study.plan.simulated else []
