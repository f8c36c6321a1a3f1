"""A part of a study: the chapters and machine types that somebody asks for. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeVar

from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.words import listed
from nephoscope.prices.catalogue.index import short_name
from nephoscope.study.model import BenchmarkEntry, Configuration, Study
from nephoscope.study.suggest import nearest

CHAPTERS = (*(subject.value for subject in Subject), *(load.value for load in DatabaseLoad))
"""What `--only` takes: a subject, or one of the two kinds of load on a database."""
_MAX_NAMED = 8
One = TypeVar("One")


class HasChapter(Protocol):
    """A benchmark that says what it is about."""

    @property
    def parameters(self) -> Any:
        """Model of the parameters."""
        ...

    def subject_of(self, parameters: Any) -> Subject:
        """What it measures."""
        ...

    def database_load_of(self, parameters: Any) -> DatabaseLoad | None:
        """What it asks of a database; None for other subjects."""
        ...


@dataclass(frozen=True)
class Cut:
    """What is asked for; empty: everything."""

    only: tuple[str, ...] = ()
    """Chapters."""
    types: tuple[str, ...] = ()
    """Patterns of machine types, as 'm6i.*'; case does not matter, nor does `Standard_` of Azure."""
    budget_usd: float | None = None
    """For what of it answers the most questions: see `afford`."""

    def __bool__(self) -> bool:
        """False if nothing is cut."""
        return bool(self.only or self.types or self.budget_usd)


def chapter_of(benchmark: HasChapter, parameters: Any) -> str:
    """The chapter of a benchmark: 'oltp' or 'key-value' if it loads a database, else its subject."""
    load = benchmark.database_load_of(parameters)
    return benchmark.subject_of(parameters).value if load is None else load.value


def chapters_of(study: Study, benchmarks: Mapping[str, HasChapter]) -> dict[str, str]:
    """Chapter of each benchmark of a study, by its label."""
    kinds = ((entry, benchmarks[entry.uses]) for entry in study.benchmarks)
    return {entry.label: chapter_of(kind, kind.parameters.model_validate(entry.parameters)) for entry, kind in kinds}


def part_of(study: Study, benchmarks: Mapping[str, HasChapter], cut: Cut) -> Study:
    """The study with the chosen configurations and benchmarks alone; names in other places may then lead nowhere.

    Raises:
        InputError: a chapter does not exist, or a chapter or pattern fits nothing in the study.
    """

    def words(entry: BenchmarkEntry) -> tuple[str, str]:
        benchmark = benchmarks[entry.uses]
        parameters = benchmark.parameters.model_validate(entry.parameters)
        return benchmark.subject_of(parameters).value, chapter_of(benchmark, parameters)

    for chapter in cut.only:
        if chapter not in CHAPTERS:
            near = nearest(chapter, CHAPTERS)
            raise InputError(
                f"there is no chapter {chapter!r}",
                hint=f"did you mean {near}?" if near else f"there are: {', '.join(CHAPTERS)}",
            )
    known = [entry for entry in study.benchmarks if entry.uses in benchmarks]
    entries = _chosen(
        known,
        cut.only,
        lambda entry, chapter: chapter in words(entry),
        lambda chapter: (
            f"no benchmark of this study belongs to the chapter {chapter}",
            f"its chapters: {_named(word for entry in known for word in words(entry))}",
        ),
    )
    configurations = _chosen(
        study.configurations,
        cut.types,
        _fits,
        lambda pattern: (
            f"no configuration of this study has a machine type like {pattern!r}",
            _types_hint(study.configurations),
        ),
    )
    return study.model_copy(update={"benchmarks": entries, "configurations": configurations})


def joined(whole: Plan, cut: Plan, held: Iterable[str]) -> Plan:
    """The plan of what a folder holds already, and of what is cut out now: both are parts of the whole.

    Args:
        whole: of the study.
        cut: a part of it, whose estimates are its own.
        held: ids of the trials that the folder's plan has.
    """
    own = {row.intent.id: row for row in cut.trials}
    kept = {*held, *own}
    rows = [own.get(row.intent.id, row) for row in whole.trials if row.intent.id in kept]
    if len(rows) == len(own):
        return cut
    prices_usd = [row.price_usd for row in rows if row.price_usd is not None]
    return whole.model_copy(
        update={
            "trials": rows,
            "expected_duration_s": sum(row.expected_duration_s for row in rows),
            "price_usd": sum(prices_usd) if len(prices_usd) == len(rows) else None,
        }
    )


def _chosen(
    all_of_them: Iterable[One],
    wanted: tuple[str, ...],
    fits: Callable[[One, str], bool],
    nothing: Callable[[str], tuple[str, str]],
) -> list[One]:
    """Those that fit one of the words at least; each word must fit something."""
    found = list(all_of_them)
    if not wanted:
        return found
    for word in wanted:
        if not any(fits(one, word) for one in found):
            message, hint = nothing(word)
            raise InputError(message, hint=hint)
    return [one for one in found if any(fits(one, word) for word in wanted)]


def _fits(configuration: Configuration, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern.lower()) for name in _type_names(configuration))


def _type_names(configuration: Configuration) -> Iterator[str]:
    """Its machine type as its provider writes it, and without the prefix that all types of Azure have."""
    sold = configuration.priced_as
    kind = configuration.database_machine.type or (sold.type if sold else None)
    if kind is not None:
        yield kind.lower()
        yield short_name(kind)


def _types_hint(configurations: Iterable[Configuration]) -> str:
    types = dict.fromkeys(name for one in configurations for name in list(_type_names(one))[-1:])
    if not types:
        return "its configurations name no machine types: drop --types"
    return f"there are: {_named(types)}; * stands for any text, as in 'm6i.*'"


def _named(words: Iterable[str]) -> str:
    """At most eight of them, each once."""
    return listed(list(dict.fromkeys(words)), _MAX_NAMED)
