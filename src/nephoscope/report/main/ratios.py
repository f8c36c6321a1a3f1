"""Two configurations against each other in words: '1.30× the I/O rate of b', '1.7 % less latency than b', 'a ÷ b'."""

from dataclasses import dataclass, replace

from nephoscope.model import numbers as people
from nephoscope.model.records import Direction, Metric
from nephoscope.report.wording import quantity_noun

MIN_AS_PERCENT = 0.5
"""Of a metric of which less is better: 'less than' from this ratio on, a multiple below."""


@dataclass(frozen=True)
class Told:
    """A ratio in words, in parts, as cards set the number apart."""

    before: str
    number: str
    about: str
    interval: str
    coverage: float | None

    @property
    def words(self) -> str:
        """'1.91× the rate of 1 CPU (1.77 to 2.05×)', 'a ÷ b = 1.019× (0.999 to 1.039×)'."""
        said = " ".join(part for part in (self.before, self.number, self.about) if part)
        return f"{said} ({self.interval})" if self.interval else said


@dataclass(frozen=True)
class Ratio:
    """How often one configuration has what another has, with the interval where it is known."""

    metric: Metric
    value: float
    low: float
    high: float
    coverage: float | None

    @property
    def is_less_better(self) -> bool:
        """Whether the better one of two has the smaller value."""
        return self.metric.direction is Direction.LOWER

    def lead(self, second: str) -> Told:
        """Of a winner over `second`."""
        noun = quantity_noun(self.metric)
        if not (self.is_less_better and MIN_AS_PERCENT <= self.value < 1):
            form = people.ratio_form(self)
            ends = people.ends(self, form)
            return Told("", form.text(self.value), f"the {noun} of {second}", ends, self.coverage)
        part = people.Between(*(100 * (1 - ratio) for ratio in (self.value, self.high, self.low)))
        form = people.percent_form(part)
        less = "less" if noun == "value" else f"less {noun}"
        return Told("", form.text(part.value), f"{less} than {second}", people.ends(part, form), self.coverage)

    def by_medians(self, of_medians: float, *, wins: bool) -> str:
        """'1.95×', or '3.1 % less', as `lead` and `quotient` write the ratio itself."""
        told = replace(self, value=of_medians)
        if not wins:
            return told.quotient("", "").number
        lead = told.lead("")
        return f"{lead.number} less" if lead.number.endswith("%") else lead.number

    def quotient(self, first: str, second: str) -> Told:
        """Of two of which neither wins."""
        form = people.ratio_form(self)
        lower = "; lower is better" if self.is_less_better else ""
        before, ends = f"{first} \N{DIVISION SIGN} {second} =", people.ends(self, form)
        return Told(before, form.text(self.value), "", f"{ends}{lower}", self.coverage)
