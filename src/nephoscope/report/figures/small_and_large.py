"""Small and large machines of one family, by the performance of one of their CPUs."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.rows import ConfigurationRow, Statistic
from nephoscope.model.words import provider_name
from nephoscope.report.figures import machine_charts, theme
from nephoscope.report.figures.results import Results
from nephoscope.report.parts import Book, Figure, KeyEntry
from nephoscope.report.tables.statistics import figure_table
from nephoscope.report.wording import direction_text, statistic_row, unit_text

_SIZE_SIGNS = tuple(zip(theme.PERCENTILE_COLOURS[::2], ("circle", "square", "triangle-up"), strict=True))
_SIZE_GLYPHS = ("●", "■", "▲")


def small_and_large(book: Book, results: Results) -> Figure | None:
    """The smallest and the largest machine of each family, per CPU; None when no family has two sizes."""
    metric = results.metric
    by_family: dict[str, list[Statistic]] = {}
    for one in results.per_cpu:
        known = book.lookup.described.get(one.configuration)
        family = _family(known) if known else None
        if family and _size(book.lookup, one):
            by_family.setdefault(family, []).append(one)
    several = {name: many for name, many in by_family.items() if len({_size(book.lookup, one) for one in many}) > 1}
    if not several:
        return None
    scale = people.scale_for(metric.unit, [one.compared.value for many in several.values() for one in many])
    rows, shown = [], []
    for family, many in several.items():
        of = {one.configuration: _size(book.lookup, one) for one in many}
        ends = {min(of.values()): "smallest", max(of.values()): "largest"}
        for one in many:
            size = ends.get(of[one.configuration], "between")
            rows.append({**statistic_row(one, scale), "family": family, "size": size})
            shown.append(one)
    names = ("smallest", "largest", "between")
    signs = dict(zip(names, _SIZE_SIGNS, strict=True))
    title = metric_title(metric, per_cpu=True)
    axis = f"{unit_text(scale, per_cpu=True)}, {direction_text(metric.direction)}"
    return book.figure(
        f"{results.about}: {title}, small and large machines",
        axis,
        "Performance of one CPU on the smallest and on the largest machine of a family. Machines without a family name "
        "are grouped by CPU model. The axis starts at zero.",
        [
            (
                "",
                f"{title} of the smallest and the largest machine of {', '.join(several)}",
                machine_charts.sizes(list(several), rows, axis, signs),
            )
        ],
        key=[
            KeyEntry(_SIZE_GLYPHS[i], _SIZE_SIGNS[i][0], name)
            for i, name in enumerate(names)
            if any(one["size"] == name for one in rows)
        ],
        table=figure_table(book, f"{results.about}: {title}, {unit_text(scale, per_cpu=True)}", shown, scale),
    )


def _family(known: ConfigurationRow) -> str | None:
    """The family; machines without one (local and emulated machines) are grouped by CPU model."""
    return f"{provider_name(known.provider)} {known.family}" if known.family else known.cpu_model


def _size(lookup: Lookup, one: Statistic) -> int:
    """CPUs of one machine, not of a database cluster; imports give only the CPUs of a trial."""
    return lookup.cpus.get(one.configuration) or one.cpus or 0
