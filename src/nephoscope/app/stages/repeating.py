"""From somebody's report to a study that measures one of its configurations again."""

from pathlib import Path
from typing import Any

from nephoscope.app.stages.evaluation import study_at
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import InputError
from nephoscope.model.rows import TrialRow
from nephoscope.model.text import line
from nephoscope.model.words import SIMULATED, listed
from nephoscope.study.load import load_study
from nephoscope.study.repeated import study_of_one
from nephoscope.study.suggest import hint_among

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
