"""Verdicts as files of programs that watch: JUnit's XML for CI servers, Prometheus' text for monitoring."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from nephoscope.analysis.edition_gate import Judged, named, named_group
from nephoscope.model.editions import EditionCard, EditionRow
from nephoscope.model.rows import ClaimRow
from nephoscope.model.text import line
from nephoscope.store.atomic import write_text


@dataclass(frozen=True)
class Outcome:
    """What is known about one claim, or about one result of two studies."""

    name: str
    labels: Mapping[str, str]
    verdict: str
    fails: bool
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


def of_claims(rows: Sequence[ClaimRow]) -> list[Outcome]:
    """One for each claim and metric."""
    return [
        Outcome(
            name=f"{row.claim}: {row.benchmark} {row.metric}, {row.view}",
            labels={"claim": row.claim, "benchmark": row.benchmark, "metric": row.metric, "view": row.view},
            verdict=str(row.verdict),
            fails=not row.holds,
            ratio=row.ratio,
            low=row.low,
            high=row.high,
        )
        for row in rows
    ]


def of_comparison(judged: Judged, *, worse_fails: bool, undecided_fails: bool) -> list[Outcome]:
    """One for each result that was judged; what the later study lacks is undecided."""
    judgements = (
        ("worse", judged.worse, worse_fails),
        ("undecided", judged.undecided, undecided_fails),
        ("accepted", judged.accepted, False),
    )
    found = [
        Outcome(named(row), _labels(row), verdict, fails, row.ratio, row.low, row.high)
        for verdict, rows, fails in judgements
        for row in rows
    ]
    return found + [
        Outcome(
            f"{row.configuration}, {row.benchmark}: {row.metric}",
            {"configuration": row.configuration, "benchmark": row.benchmark, "metric": row.metric},
            "missing",
            undecided_fails,
        )
        for row in judged.missing
    ]


def _labels(row: EditionCard) -> Mapping[str, str]:
    configuration = row.configuration if isinstance(row, EditionRow) else named_group(row.configurations)
    return {"configuration": configuration, "benchmark": row.benchmark, "metric": row.metric}


def write(command: str, outcomes: Sequence[Outcome], junit_file: Path | None, prometheus_file: Path | None) -> None:
    """Writes the files that are wanted, each at once: a collector never reads half of one."""
    if junit_file is not None:
        write_text(junit_file, junit(f"nephoscope {command}", outcomes))
    if prometheus_file is not None:
        write_text(prometheus_file, prometheus(command, outcomes))


def junit(suite: str, outcomes: Sequence[Outcome]) -> str:
    """A test suite of JUnit's XML: one test case for each, which fails where the command does."""
    failures = sum(outcome.fails for outcome in outcomes)
    root = ElementTree.Element("testsuite", name=suite, tests=str(len(outcomes)), failures=str(failures))
    for outcome in outcomes:
        case = ElementTree.SubElement(root, "testcase", classname=suite, name=line(outcome.name))
        said = f"{outcome.verdict}{_interval(outcome)}"
        if outcome.fails:
            ElementTree.SubElement(case, "failure", message=said)
        else:
            ElementTree.SubElement(case, "system-out").text = said
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _interval(outcome: Outcome) -> str:
    if outcome.ratio is None:
        return ""
    ends = "" if outcome.low is None or outcome.high is None else f", {outcome.low:.4g} to {outcome.high:.4g}"
    return f": ratio {outcome.ratio:.4g}{ends}"


_GAUGES = {
    "fails": "1 if the command ends with an error because of it",
    "ratio": "Left / right of a claim, later / earlier study of a comparison",
    "low": "Lower end of the ratio's interval",
    "high": "Upper end of the ratio's interval",
}


def prometheus(command: str, outcomes: Sequence[Outcome]) -> str:
    """Gauges in Prometheus' text format, as its textfile collector reads them; what is not known has no line."""
    return "".join(f"{text}\n" for gauge, what in _GAUGES.items() for text in _gauge(command, gauge, what, outcomes))


def _gauge(command: str, gauge: str, what: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    name = f"nephoscope_{command}_{gauge}"
    yield f"# HELP {name} {what}."
    yield f"# TYPE {name} gauge"
    for outcome in outcomes:
        value: float | None = getattr(outcome, gauge)
        if value is not None:
            labels = {**outcome.labels, "verdict": outcome.verdict} if gauge == "fails" else outcome.labels
            yield f"{name}{{{','.join(f'{key}={_quoted(text)}' for key, text in labels.items())}}} {float(value)!r}"


def _quoted(text: str) -> str:
    escaped = line(text).replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'
