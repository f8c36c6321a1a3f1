"""The chapter that places the study's machines among cloud types, by public CPU results."""

from nephoscope.analysis.lookup import unique
from nephoscope.insights.standing import place_of
from nephoscope.model.standing import Standing
from nephoscope.model.words import capitalised, counted, provider_name
from nephoscope.report.figures.strip import OWN, strip
from nephoscope.report.parts import Book, Figure

_AXIS = "bogo operations/s per CPU, higher is better"


def figure(book: Book, standing: Standing) -> Figure | None:
    """The strip; None when nothing is placed."""
    whole = [row for row in standing.rows if not row.alone]
    if not whole:  # the strip is of vCPUs while all work
        return None
    types = [
        {
            "row": provider_name(one.provider),
            "name": one.type,
            "value": one.per_vcpu_per_s,
            "text": _rate(one.per_s, one.vcpus),
        }
        for one in standing.among
    ]
    machines = [
        {"row": OWN, "name": row.configuration, "value": row.per_vcpu_per_s, "text": _rate(row.per_s, row.cpus)}
        for row in whole
    ]
    days = sorted(one.date for one in standing.among)
    return book.figure(
        "Where these machines stand among cloud types",
        f"stress-ng {standing.version}, method div16: a line for each machine type.",
        f"Measured by others, once on one machine of each type, between {days[0]} and {days[-1]}: {standing.source}, "
        f"{standing.licence}. All are of one version of stress-ng, but Arm and x86 need different builds. "
        + (f"{capitalised(standing.why_not)}." if standing.why_not else ""),
        [
            (
                "",
                " ".join(place_of(row, standing) for row in whole[:3]),
                strip(_rows(types), types, machines, _AXIS),
            )
        ],
    )


def _rows(types: list[dict[str, object]]) -> list[str]:
    return sorted(unique(str(one["row"]) for one in types))


def _rate(per_s: float, cpus: int) -> str:
    return f"{per_s / cpus:,.0f}/s on {counted(cpus, 'CPU')}"
