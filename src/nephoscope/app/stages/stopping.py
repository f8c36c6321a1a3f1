"""When a study has enough: rules that look at stored trials after each block, and say what is left to measure."""

import re
from collections.abc import Callable

import nephoscope
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.checks.registry import CHECKS
from nephoscope.model.errors import InputError
from nephoscope.model.looks import Look
from nephoscope.model.rows import Statistic
from nephoscope.run.study import Rest
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Study

_MARGIN = re.compile(r"margin=(?P<percent>\d+(\.\d+)?)%")


def stopping_rule(
    folder: ResultsFolder, study: Study, until: str | None, *, shared: bool
) -> Callable[[int], Rest] | None:
    """The rule of a run; None: all that is planned is measured.

    Args:
        folder: of the results.
        study: its key `stop` may ask for a rule.
        until: the option `--until`.
        shared: whether several controllers share the study.

    Raises:
        InputError: the option is malformed, or it does not go with the others.
    """
    decided = study.stop == "decided"
    if decided and until is not None:
        raise InputError(
            '--until and stop = "decided" cannot be combined: both decide when there are enough replicates',
            hint="drop --until, or remove `stop` from the study",
        )
    if shared and (decided or until is not None):
        what = 'stop = "decided"' if decided else "--until"
        raise InputError(
            f"{what} and --state cannot be combined: the rule needs every trial of a block, and with --state each "
            "controller stores only some of them",
            hint="drop one of the two",
        )
    if until is not None:
        return _within_margin(folder, study, margin_of(until))
    return _until_decided(folder, study) if decided else None


def margin_of(until: str) -> float:
    """In percent, of 'margin=1.5%'.

    Raises:
        InputError: it has another form.
    """
    found = _MARGIN.fullmatch(until.replace(" ", ""))
    if found is None or float(found["percent"]) == 0:
        raise InputError(f"cannot read --until {until!r}", hint="write it as --until margin=1.5%, above 0")
    return float(found["percent"])


def _within_margin(folder: ResultsFolder, study: Study, margin_percent: float) -> Callable[[int], Rest]:
    """Says after a block whether the study has enough: every headline median is within the margin.

    Only the width of the intervals decides, never who is ahead: stopping as soon as one looks better finds differences
    that do not exist.
    """

    def look(block: int) -> Rest:
        found = _headlines(folder, study)
        widest = max((_margin(row) for row in found), default=float("inf"))
        if _has_gaps(folder, found) or widest > margin_percent:
            return Rest()
        return Rest(
            f"stopped after block {block} of {study.replicates}: the 95 % interval of every headline median is within "
            f"±{widest:.2g} % (--until requires ±{margin_percent:g} %)"
        )

    return look


def _has_gaps(folder: ResultsFolder, found: list[Statistic]) -> bool:
    """Whether a planned benchmark has no value yet on a configuration, or one of its headline metrics has none there.

    Two machines that differ make two configurations of one: both are the study's.
    """
    intents = {row.intent.id: row.intent for row in folder.plan().trials}
    metrics: dict[str, set[str]] = {}
    for row in found:
        metrics.setdefault(row.benchmark, set()).add(row.metric)
    measured = {(row.benchmark, row.metric, intents[row.trials[0]].configuration_name) for row in found}
    return any(
        (intent.benchmark.name, metric, intent.configuration_name) not in measured
        for intent in intents.values()
        for metric in metrics.get(intent.benchmark.name, {""})
    )


def _margin(row: Statistic) -> float:
    """Of the interval, in percent of the median; infinite where there is no 95 % interval yet, or the median is 0."""
    if row.margin_percent is None or row.more_replicates_needed:
        return float("inf")
    return row.margin_percent


def _headlines(folder: ResultsFolder, study: Study) -> list[Statistic]:
    from nephoscope.analysis.collect import collect
    from nephoscope.analysis.statistics import statistics
    from nephoscope.analysis.table import Workings

    inputs = collect(folder, study, BENCHMARKS, CHECKS, nephoscope.__version__)
    headlines = {(row.benchmark, metric.name) for row in inputs.benchmarks for metric in row.metrics if metric.headline}
    return [row for row in Workings(inputs)(statistics) if (row.benchmark, row.metric) in headlines and not row.per_cpu]


def _until_decided(folder: ResultsFolder, study: Study) -> Callable[[int], Rest]:
    """After each block, what an open question still needs. Takes and stores the looks that are due.

    What is decided follows from stored trials and stored looks alone, so a run that was killed, or a folder that was
    merged from two, goes on as one run would have. A look is never taken twice.
    """

    def look(block: int) -> Rest:
        looks = due_looks(folder, study, block)
        taken = bool(looks) and looks[-1].block <= block
        return Rest(_stopped(looks[-1]) if taken else "", folder.not_needed(), looked=bool(looks))

    return look


def due_looks(folder: ResultsFolder, study: Study, block: int) -> list[Look]:
    """All looks up to a block, after storing those that are due.

    A look waits until each trial that its block needs has ended.

    Raises:
        InputError: configurations or benchmarks were added or removed since the first look.
    """
    from nephoscope.analysis.collect import collect
    from nephoscope.analysis.looks import looks_after
    from nephoscope.stats.sequential import FIRST_LOOK

    looks = folder.looks()
    _require_same_cells(folder, looks)
    for at in range(max(FIRST_LOOK, looks[-1].block + 1 if looks else 0), block + 1):
        if (looks and not looks[-1].measured) or not _ended(folder, at):
            break
        inputs = collect(folder, study, BENCHMARKS, CHECKS, nephoscope.__version__)
        for made in looks_after(inputs, at, looks):
            folder.write_look(made)
            looks.append(made)
    return looks


def _require_same_cells(folder: ResultsFolder, looks: list[Look]) -> None:
    if not looks:
        return
    planned = {(row.intent.benchmark.name, row.intent.configuration_name) for row in folder.plan().trials}
    seen = {(benchmark, name) for benchmark, names in looks[-1].planned.items() for name in names}
    if planned != seen:
        changed = sorted({name for _, name in planned ^ seen})
        raise InputError(
            f"{folder.path} holds looks at other questions: since the look after block {looks[-1].block} the plan of "
            f"{', '.join(changed[:5])} has changed",
            hint='measure the changed study in another folder, or remove `stop = "decided"` to measure every trial',
        )


def _ended(folder: ResultsFolder, block: int) -> bool:
    """Whether each trial up to a block has ended, unless nothing needs it."""
    not_needed = folder.not_needed()
    return all(
        (attempt := trial.decisive_attempt()) is not None and attempt.status() is not None
        for planned, trial in folder.planned()
        if planned.intent.block <= block and planned.intent.id not in not_needed
    )


def _stopped(look: Look) -> str:
    """Why the study ends after this look; empty: it goes on."""
    if look.measured:
        return ""
    closed = ", ".join(f"{count:,} {words}" for words, count in look.outcomes().items())
    when = f"ended with block {look.block}" if look.block == look.last else f"stopped after block {look.block}"
    return f"{when} of {look.last}: no question is open ({closed})" if closed else f"{when} of {look.last}"
