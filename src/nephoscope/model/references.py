"""Numbers that an author's text takes from the results: `{{ tpcc of m6i.8xlarge per CPU }}`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nephoscope.model.names import NAME

WRITTEN = re.compile(r"\{\{([^{}]*)\}\}")
_METRIC, _PER_CPU = r"(?: (?P<metric>[\w.-]+))?", r"(?P<per_cpu> per CPU)?"
_FORMS = {
    "claim": re.compile(r"claim (?P<claim>[a-z0-9][a-z0-9-]*)"),
    "order": re.compile(rf"order of (?P<benchmark>{NAME}){_METRIC} by (?P<by>{NAME}) (?P<by_metric>[\w.-]+){_PER_CPU}"),
    "price": re.compile(rf"price of (?P<of>{NAME})(?: at (?P<basis>[a-z0-9-]+))?"),
    "best": re.compile(rf"best of (?P<benchmark>{NAME}){_METRIC}{_PER_CPU}"),
    "ratio": re.compile(rf"(?P<benchmark>{NAME}){_METRIC} of (?P<of>{NAME}) against (?P<against>{NAME}){_PER_CPU}"),
    "level": re.compile(rf"(?P<benchmark>{NAME}){_METRIC} of (?P<of>{NAME}){_PER_CPU}"),
}
FORMS = (
    "'BENCHMARK [METRIC] of CONFIGURATION [per CPU]', 'BENCHMARK [METRIC] of CONFIGURATION against CONFIGURATION "
    "[per CPU]', 'best of BENCHMARK [METRIC] [per CPU]', 'order of BENCHMARK [METRIC] by BENCHMARK METRIC [per CPU]', "
    "'claim ID' or 'price of CONFIGURATION [at BASIS]'"
)


@dataclass(frozen=True)
class Reference:
    """One of them; what its kind has no use for is None."""

    text: str
    kind: Literal["level", "ratio", "best", "price", "claim", "order"]
    benchmark: str | None = None
    metric: str | None = None
    """None: the first that the benchmark is ranked by."""
    of: str | None = None
    against: str | None = None
    basis: str | None = None
    claim: str | None = None
    by: str | None = None
    """The benchmark that may predict the order, by its metric `by_metric`."""
    by_metric: str | None = None
    per_cpu: bool = False

    @property
    def configurations(self) -> tuple[str, ...]:
        """Those that it names."""
        return tuple(name for name in (self.of, self.against) if name)


def reference(text: str) -> Reference:
    """Reads what stands between the braces.

    Raises:
        ValueError: it has no known form.
    """
    words = " ".join(text.split())
    for kind, form in _FORMS.items():
        if match := form.fullmatch(words):
            parts = match.groupdict()
            return Reference(words, kind, **{**parts, "per_cpu": bool(parts.pop("per_cpu", None))})  # type: ignore[arg-type]
    raise ValueError(f"“{words}” is no reference to a number: write {FORMS}")


def references(markdown: str) -> Iterator[Reference]:
    """All in a text, in its order.

    Raises:
        ValueError: see `reference`.
    """
    return (reference(match[1]) for match in WRITTEN.finditer(markdown))
