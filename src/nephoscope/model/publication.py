"""Who publishes a report, under which terms, and what the author says in it besides its numbers, or with them.

A text takes numbers from the results by references: `{{ tpcc of m6i.8xlarge per CPU }}`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from nephoscope.model.frozen import Frozen, conflict
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


Part = Literal["verdict", "money", "explore", "cpu", "network", "storage", "oltp", "key-value", "cost", "doubts"]
"""Of the main page: a section or a chapter."""


class AuthorText(Frozen):
    """A text of the author's own on the main page."""

    before: Part | None = Field(default=None, description="the part of the page that follows it")
    after: Part | None = Field(default=None, description="the part of the page before it")
    markdown: str = Field(
        min_length=1,
        max_length=50_000,
        description="CommonMark with tables, without HTML and images; numbers by reference, as "
        "'{{ tpcc of m6i.8xlarge per CPU }}': see docs/how-to/publish-a-report.md",
    )
    claims: list[str] = Field(
        default=[], description="ids in claims.toml: `report` fails while one of them does not hold"
    )

    @model_validator(mode="after")
    def _can_be_placed_and_filled(self) -> "AuthorText":
        if (self.before is None) == (self.after is None):
            raise conflict("needs either `before` or `after`")
        tuple(references(self.markdown))
        return self

    @property
    def place(self) -> str:
        """'before cpu', 'after verdict'."""
        return f"before {self.before}" if self.before else f"after {self.after}"


class Publication(Frozen):
    """What an author says of a report besides its numbers. Only `text` has markup."""

    subtitle: str = Field(default="", max_length=200, description="below the title")
    authors: list[str] = Field(default=[], description="names, in their order")
    organisation: str = Field(default="", max_length=200, description="that the authors speak for")
    date: str | None = Field(
        default=None, pattern=r"^\d{4}-\d{2}-\d{2}$", description="of publication, as '2026-11-27'"
    )
    licence: str = Field(default="", max_length=200, description="of the text, as 'CC BY 4.0'")
    data_licence: str = Field(default="", max_length=200, description="of the data; default: that of the text")
    cite: str = Field(default="", max_length=1000, description="how to cite the report")
    address: str | None = Field(
        default=None,
        pattern=r"^https://[^\s<>\"]{1,500}$",
        description="where the report is published; links and previews name it",
    )
    logo: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}\.(svg|png|jpg|jpeg)$",
        description="a picture in the results folder, at the head of the report: SVG, PNG or JPEG of at most 200 kB",
    )
    text: list[AuthorText] = Field(default=[], max_length=100, description="the author's own, between the parts")

    @property
    def byline(self) -> str:
        """'Ada Lovelace and Grace Hopper, Example Labs, 2026-11-27'; empty if nobody is named."""
        names = " and ".join(filter(None, [", ".join(self.authors[:-1]), *self.authors[-1:]]))
        return ", ".join(filter(None, [names, self.organisation, self.date]))

    @property
    def terms(self) -> str:
        """'Text: CC BY 4.0. Data: CC0.'; empty if nothing is said."""
        if not self.licence and not self.data_licence:
            return ""
        if not self.data_licence or self.data_licence == self.licence:
            return f"Text and data: {self.licence}."
        return f"{f'Text: {self.licence}. ' if self.licence else ''}Data: {self.data_licence}."
