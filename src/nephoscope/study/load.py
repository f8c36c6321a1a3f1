"""Study file -> Study: every problem at once, each with its line and what to write instead."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from nephoscope.model.bounded_toml import beyond_limits
from nephoscope.model.errors import StudyError
from nephoscope.model.frozen import Frozen
from nephoscope.model.publication import references
from nephoscope.model.words import counted
from nephoscope.model.written import OVERALL
from nephoscope.study import rules
from nephoscope.study.contrasts import scopes_of, without_pairs
from nephoscope.study.explain import MOST_PROBLEMS, Problem, Schema, below, explain, first_problems
from nephoscope.study.machine_rules import list_of, tables_of, with_regions
from nephoscope.study.managed import as_provided
from nephoscope.study.model import Configuration, KnownBenchmark, Machine, Study
from nephoscope.study.shorthands import SHORTHANDS, Expanded, Shorthands, StudyFile, expanded
from nephoscope.study.suggest import meant_by, shown
from nephoscope.study.toml_text import Path, line_of, locate, show, toml_text

_SYNTAX_HINTS = (
    ("Cannot overwrite", "a key may appear only once in its table"),
    ("Cannot declare", "a table may appear only once; write a list of tables as [[name]]"),
    ("Cannot mutate", "an inline table { ... } is complete: add the key inside its braces"),
    ("Duplicate inline", "a key may appear only once in its table"),
    ("Unclosed", "a closing bracket or brace is missing"),
    ("Unterminated", "a closing quote is missing"),
    ("Illegal character", "a closing quote is missing, or this character is not allowed here"),
    ("Expected '='", "write `key = value`; a key with spaces or other special characters needs quotes"),
    (
        "Expected newline",
        "write one `key = value` per line; text needs quotes, and a number must not be followed by a unit",
    ),
    ("Expected ']'", "write a table as [name] and a list of tables as [[name]]"),
    (
        "Invalid initial character",
        "write `key = value`; an inline table { ... } must be on one line, without a trailing comma",
    ),
    ("Invalid value", "text needs quotes; true and false are lower case; a number must not be followed by a unit"),
    ("Invalid date", "no key of a study takes a date; text needs quotes"),
    ("Invalid statement", "write `key = value`, [table] or [[list of tables]]; comments start with #"),
)
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
MOST_TRIALS = 200_000
"""A plan of them takes half a minute and 1.5 GB."""
_NO_STUDY = "not a study: a number is too long"
_TOO_LONG = re.compile(r"[0-9][0-9_]{4000,}")
"""About as many digits as Python converts, which are 4,300."""

Model = TypeVar("Model", bound=Frozen)


def load_study(text: str, file_name: str, known: Mapping[str, KnownBenchmark]) -> Study:
    """Reads a study file's text; pure.

    `known` maps the values of `uses` to benchmarks. The study returned holds all parameters with their defaults filled
    in, as plain JSON values, and the specification of each emulated machine. Its configurations are plain: what the
    file says by `[defaults]`, `[[matrix]]` and `for` is expanded first.

    Raises:
        StudyError: with one line `file:line: key: what is wrong and what to try` for each problem. Problems of
            shorthands come alone, because without them nothing is known of what they stand for.
    """
    return load_with_lines(text, file_name, known)[0]


def load_with_lines(text: str, file_name: str, known: Mapping[str, KnownBenchmark]) -> tuple[Study, Mapping[Path, int]]:
    """The same, and the line of each path in it, also of paths that only the expanded form has.

    Raises:
        StudyError: as `load_study`.
    """
    study, _, lines = _load(text, file_name, known)
    return study, lines


def expanded_text(text: str, file_name: str, known: Mapping[str, KnownBenchmark]) -> str:
    """The same study as TOML without `[defaults]`, `[[matrix]]` and `for`; comments are lost.

    Raises:
        StudyError: as `load_study`.
    """
    return toml_text(study_and_values(text, file_name, known)[1])


def study_and_values(text: str, file_name: str, known: Mapping[str, KnownBenchmark]) -> tuple[Study, dict[str, Any]]:
    """The study, and the values of `expanded_text`.

    Raises:
        StudyError: as `load_study`.
    """
    study, expanded, _ = _load(text, file_name, known)
    return study, expanded.data


def _load(text: str, file_name: str, known: Mapping[str, KnownBenchmark]) -> tuple[Study, Expanded, Mapping[Path, int]]:
    """The study, its expanded form, and the line of each path in that."""
    text = text.removeprefix("\ufeff")
    data = _parse(text, file_name)
    lines = locate(text)
    if dated := first_problems(rules.dates((), data)):
        raise StudyError(_in_order(dated, file_name, lines))
    whole = _expanded(data, lines)
    if unread := whole.problems or list(_too_many(whole.data)):
        raise StudyError(_in_order(unread, file_name, lines))
    study, problems = _validate(whole.data, known)
    every_line = whole.lines(lines)
    across = first_problems(rules.across_keys(whole.data, every_line, known))
    told = {problem.path for problem in across}
    problems = across + [problem for problem in problems if problem.path not in told]
    if not problems and study is not None:
        study = with_places(study)
        problems = [
            Problem(
                ("contrasts", place),
                "no two configurations have these two values and are equal in everything else; check `key` and "
                "`values`, or list the pairs in `left` and `right`",
            )
            for place in without_pairs(study)
        ]
        problems += first_problems(chain(headline_problems(study, known), text_problems(study)))
    if problems or study is None:
        raise StudyError(_in_order(list(_as_written(problems, whole)), file_name, lines))
    return study, whole, every_line


def _too_many(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Some lines of a matrix stand for millions of trials, of which a plan takes gigabytes."""
    configurations, benchmarks = list_of(data.get("configurations")), tables_of(data, "benchmarks")
    cells = sum(len(list_of(entry.get("configurations"))) or len(configurations) for _, entry in benchmarks)
    replicates = data.get("replicates")
    trials = cells * (replicates if isinstance(replicates, int) else 1)
    if trials > MOST_TRIALS:
        yield Problem((), f"{trials:,} trials; a study has at most {MOST_TRIALS:,}: split it, or set fewer replicates")


def _expanded(data: dict[str, Any], lines: Mapping[Path, int]) -> Expanded:
    shorthands, problems = _value(Shorthands, {key: data[key] for key in SHORTHANDS if key in data})
    if shorthands is None:
        return Expanded(data, problems=tuple(problems))
    whole = expanded(data, lines)
    return replace(whole, data=with_regions(whole.data))


def _as_written(problems: Sequence[Problem], whole: Expanded) -> Iterator[Problem]:
    """Problems of what a shorthand made, at the shorthand: one for all configurations that have it."""
    found: dict[Problem, list[Path]] = {}
    for problem in problems:
        at = whole.written_at(problem.path, of_key=problem.of_key)
        found.setdefault(Problem(at, problem.text), []).append(problem.path)
    for problem, paths in found.items():
        if paths == [problem.path]:
            yield problem
            continue
        kind = str(paths[0][0])
        names = list(dict.fromkeys(shown(whole.data[kind][int(path[1])].get("name")) for path in paths))
        where = f"{kind.removesuffix('s')} {names[0]}"
        many = f"{where}, as in {len(names)} {kind}" if len(names) > 1 else where
        yield Problem(problem.path, f"{problem.text} ({many})")


def _parse(text: str, file_name: str) -> dict[str, Any]:
    beyond = beyond_limits(text)
    if beyond is not None:
        raise StudyError(f"{file_name}:{beyond[0]}: {beyond[1]}")
    try:
        text.encode()
        data = tomllib.loads(text)
        from_json(_as_json(data))
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise StudyError(f"{file_name}:{line}: not UTF-8 text; save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise StudyError(_syntax(str(error), text, file_name)) from error
    except ValueError as error:
        digits = _TOO_LONG.search(text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 1
        raise StudyError(f"{file_name}:{line}: {_NO_STUDY}") from error
    return data


def _as_json(data: dict[str, Any]) -> str:
    """Dates become text here; `rules.dates` rejects them."""
    return json.dumps(data, default=str)


def _syntax(message: str, text: str, file_name: str) -> str:
    """`laptop.toml:3: not TOML: Invalid value (column 10); text needs quotes`."""
    place = _PLACE.search(message)
    line, column = (
        (place[1], f" (column {place[2]})") if place and place[1] else (str(text.rstrip().count("\n") + 1), "")
    )
    what = message[: place.start()] if place else message
    hint = next((f"; {hint}" for start, hint in _SYNTAX_HINTS if what.startswith(start)), "")
    return f"{file_name}:{line}: not TOML: {what}{column}{hint}"


def _validate(data: dict[str, Any], known: Mapping[str, KnownBenchmark]) -> tuple[Study | None, list[Problem]]:
    """The study, if it and all parameters of its benchmarks are valid, and every problem."""
    study, problems = _value(Study, data, StudyFile)
    filled = []
    entries = data.get("benchmarks")
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        benchmark = known.get(str(entry.get("uses"))) if isinstance(entry, dict) else None
        given = entry.get("parameters", {}) if benchmark else None
        if benchmark is None or not isinstance(given, dict):
            continue
        parameters, wrong = _value(benchmark.parameters, given)
        problems += below(("benchmarks", index, "parameters"), wrong)
        if study is not None and parameters is not None:
            plain = parameters.model_dump(mode="json", by_alias=True)
            filled.append(study.benchmarks[index].model_copy(update={"parameters": plain}))
    if study is None or len(filled) < len(study.benchmarks):
        return None, problems
    return study.model_copy(update={"benchmarks": filled}), problems


def _value(
    model: type[Model], data: dict[str, Any], described_by: type[Frozen] | None = None
) -> tuple[Model | None, list[Problem]]:
    """Strict, as JSON is: "8" is not a number and 1 is not text; but a list may become a tuple and 3 may become 3.0.

    `described_by` has the words for problems; default: the model itself.
    """
    try:
        return model.model_validate_json(_as_json(data), strict=True), []
    except ValidationError as error:
        errors = error.errors(include_url=False)
        problems = explain(errors[:MOST_PROBLEMS], data, _schema(described_by or model))
        if len(errors) > MOST_PROBLEMS:
            problems.append(
                Problem((), f"{counted(len(errors) - MOST_PROBLEMS, 'more problem')}; correct the others first")
            )
        return None, problems


@cache
def _schema(model: type[Frozen]) -> Schema:
    return model.model_json_schema()


def _in_order(problems: Sequence[Problem], file_name: str, lines: Mapping[Path, int]) -> list[str]:
    places = [(line_of(problem.path, lines), problem) for problem in problems]
    return [
        f"{file_name}:{line}: {show(problem.path) or 'the file'}: {problem.text}"
        for line, problem in sorted(places, key=lambda place: place[0])
    ]


def with_places(study: Study) -> Study:
    """The study with machine specifications, host counts and `cloud` filled in, since trial ids depend on them."""
    types = {one.name: one for one in study.machine_types}

    def of(machine: Machine) -> Machine:
        if machine.hosts is not None:
            return machine.model_copy(update={"count": len(machine.hosts)})
        return machine.model_copy(update={"emulated": machine.emulated or types.get(machine.type or "")})

    def placed(configuration: Configuration) -> Configuration:
        provider = as_provided(configuration).provider
        cloud = next((cloud for name, cloud in study.clouds.items() if name == provider), None)
        if configuration.cloud is None and cloud is not None:
            return configuration.model_copy(update={"cloud": cloud})
        if provider not in {"emulated", "ssh"}:
            return configuration
        load = configuration.load_machine
        machines = {"database_machine": of(configuration.database_machine), "load_machine": load and of(load)}
        return configuration.model_copy(update=machines)

    return study.model_copy(update={"configurations": [placed(one) for one in study.configurations]})


_PATH = ("report", "headline")


def headline_problems(study: Study, known: Mapping[str, KnownBenchmark]) -> Iterator[Problem]:
    """Everything that `[report.headline]` names and the study does not have."""
    headline = study.report.headline
    if headline is None:
        return
    entry = next((one for one in study.benchmarks if one.label == headline.benchmark), None)
    if entry is None:
        labels = [one.label for one in study.benchmarks]
        yield _unknown("benchmark", headline.benchmark, labels)
        return
    benchmark = known[entry.uses]
    metrics = benchmark.metrics(benchmark.parameters.model_validate(entry.parameters))
    if headline.metric is not None and metrics and headline.metric not in {one.name for one in metrics}:
        yield _unknown("metric", headline.metric, [one.name for one in metrics])
    chosen = next((one for one in metrics if headline.metric in {one.name, None} and one.headline), None)
    if metrics and chosen is None:
        yield Problem((*_PATH, "metric"), f"{shown(str(headline.metric))} is no metric that machines are ranked by")
    elif chosen is not None and headline.view == "per CPU" and not chosen.per_cpu:
        yield Problem((*_PATH, "view"), f"{chosen.name} means nothing per CPU; use 'plain' or 'per dollar'")
    names = set(entry.configurations) or {one.name for one in study.configurations}
    competing = {one.name: one for one in study.configurations if one.name in names}
    scopes = [str(OVERALL), *(str(one) for one in scopes_of(competing) if one != OVERALL)]
    if headline.scope not in scopes:
        yield _unknown("scope", headline.scope, scopes)


def text_problems(study: Study) -> Iterator[Problem]:
    """Benchmarks and configurations that an author's text refers to and the study does not have."""
    labels = [one.label for one in study.benchmarks]
    names = [one.name for one in study.configurations]
    for place, text in enumerate(study.report.text):
        for reference in references(text.markdown):
            named = [("configuration", name, names) for name in reference.configurations]
            named += [("benchmark", reference.benchmark, labels)] if reference.benchmark else []
            for key, name, there in named:
                if name not in there:
                    hint = meant_by(key, name, there) or f"there are: {', '.join(there)}"
                    said = f"“{reference.text}”: the study has no {key} {shown(name)}; {hint}"
                    yield Problem(("report", "text", place, "markdown"), said)


def _unknown(key: str, given: str, there: list[str]) -> Problem:
    hint = meant_by(key, given, there) or f"there are: {', '.join(there)}"
    return Problem((*_PATH, key), f"the study has no {key} {shown(given)}; {hint}")
