"""What a plan warns of with the line of the study: too few CPUs here, types that are misspelt, prices unknown."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from nephoscope.model.errors import EnvironmentProblem
from nephoscope.plan.transfer import TransferSpend
from nephoscope.prices.book import shipped
from nephoscope.prices.catalogue.index import architectures, nearest
from nephoscope.prices.quote import quote
from nephoscope.study.model import Configuration, Study
from nephoscope.study.toml_text import Path, line_of

MAX_LINES = 10


def warnings_with_lines(lines: Mapping[Path, int], name: str, study: Study, cpus: int) -> list[str]:
    """At most ten of each kind, and how many more there are.

    Args:
        lines: of each path of the study; see `load_with_lines`.
        name: of the study file.
        study: what it says.
        cpus: that this process may use.
    """

    def at(path: Path, sentence: str) -> str:
        return f"{name}:{line_of(path, lines)}: {sentence}"

    too_many = [at(path, sentence) for path, sentence in _too_many_cpus(study, cpus)]
    misspelt = {sentence: at(path, sentence) for path, sentence in _misspelt(study)}
    first_of_each: dict[str, str] = {}
    for path, sentence in _unpriced(study):
        first_of_each.setdefault(sentence, at(path, sentence))
    return [*_cut(too_many), *_cut(misspelt.values()), *_cut(first_of_each.values())]


def unpriced_transfer(transfers: Sequence[TransferSpend]) -> list[str]:
    """One sentence for all transfer of a plan that has no price."""
    reasons = list(dict.fromkeys(one.reason_missing for one in transfers if one.reason_missing))
    if not reasons:
        return []
    then = "neither this plan nor the report includes its cost; docs/how-to/prices.md says how to add a price"
    return [f"{'; '.join(reasons)}: {then}"]


def require_cpus(study: Study, cpus: int) -> None:
    """Checks that this machine has the CPUs of all configurations that are to run on it.

    Raises:
        EnvironmentProblem: it has fewer.
    """
    sentences = [sentence for _, sentence in _too_many_cpus(study, cpus)]
    if sentences:
        raise EnvironmentProblem(sentences[0], hint='lower database_machine.cpus, or write "all"')


def _too_many_cpus(study: Study, cpus: int) -> Iterator[tuple[Path, str]]:
    for index, one in enumerate(study.configurations):
        wanted = one.database_machine.cpus
        if one.provider == "local" and wanted != "all" and wanted > cpus:
            yield (
                ("configurations", index, "database_machine", "cpus"),
                f"configuration {one.name!r} requests {wanted} CPUs, but only {cpus} may be used on this machine",
            )


def _misspelt(study: Study) -> Iterator[tuple[Path, str]]:
    """Types that neither catalogue nor price book have, where the catalogue has one with a similar name."""
    for index, one in enumerate(study.configurations):
        for role, machine in (("database_machine", one.database_machine), ("load_machine", one.load_machine)):
            if machine is None or machine.type is None or _is_known(one.provider, machine.type):
                continue
            similar = nearest(one.provider, machine.type)
            if similar:
                lacks = f"{one.provider} has no machine type {machine.type!r} in the catalogue"
                yield ("configurations", index, role, "type"), f"{lacks}; similar ones: {', '.join(similar)}"


def _is_known(provider: str, name: str) -> bool:
    return (provider, name) in architectures() or any(row.item == name for row in shipped().rows)


def _unpriced(study: Study) -> Iterator[tuple[Path, str]]:
    """Types that a price book lacks; a configuration that names none is priced by nobody's mistake."""
    for index, one in enumerate(study.configurations):
        missing = quote(one, 1).missing
        if missing is not None and missing.kind == "not in the price book":
            then = "set price_usd_per_hour, or see `nephoscope types` for the types that have a price"
            yield ("configurations", index, *_place_of_type(one)), f"{missing.what}: {then}"


def _place_of_type(configuration: Configuration) -> tuple[str, ...]:
    return ("priced_as", "type") if configuration.priced_as is not None else ("database_machine", "type")


def _cut(lines: Collection[str]) -> list[str]:
    more = len(lines) - MAX_LINES
    return [*list(lines)[:MAX_LINES], *([f"{more} more like the last one"] if more > 0 else [])]
