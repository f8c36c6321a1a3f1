"""Microbenchmarks as published methods ran them: what each edition fixes, its known defects, and one knob for size.

An edition provides defaults for what a study leaves out, as `benchmarks/database/tpcc_editions.py` does for TPC-C.
`faithful` keeps the edition's known defects, `fixed` corrects them. Numbers and flags come from the public repositories
and reports that `source` names; none of their code is used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.declared import declared
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Metric

Mode = Literal["fixed", "faithful"]
EDITION = Field(default=None, description="a published method, see the table of editions")
NOT_COMPARABLE = "not comparable with published numbers"
AS_TUPLE = BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else given)
"""A strict tuple takes no list once a preset was laid below what a study gives."""


@dataclass(frozen=True)
class Defect:
    """Something an edition did unintentionally, or that distorts its numbers."""

    text: str
    """A sentence without its full stop."""
    faithful: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that reproduce the defect; empty when it cannot be reproduced and is only mentioned."""


@dataclass(frozen=True)
class Preset:
    """One benchmark of one published method."""

    edition: str
    source: str
    parameters: Mapping[str, Any]
    """Without its defects."""
    defects: tuple[Defect, ...] = ()
    reported: tuple[str, ...] = ()
    """Metrics that its publication ranks by, in its order; empty: those of the benchmark."""

    def of(self, mode: object) -> dict[str, Any]:
        """The parameters that it fixes, in a mode."""
        kept = [defect.faithful for defect in self.defects] if mode == "faithful" else []
        return {**self.parameters, **{key: value for faithful in kept for key, value in faithful.items()}}


Presets = Mapping[str, Preset]


def presets(*found: Preset) -> Presets:
    """By the name of the edition."""
    return {preset.edition: preset for preset in found}


def published(benchmark: str) -> Presets:
    """The editions of a benchmark that `editions.toml` declares, beside this file."""
    table = declared("editions.toml")
    defects = {name: _defect(**row) for name, row in table["defects"].items()}
    tuples = [{"defects": (), "reported": (), **row} for row in table[benchmark]]
    rows = [
        {**row, "defects": tuple(map(defects.__getitem__, row["defects"])), "reported": tuple(row["reported"])}
        for row in tuples
    ]
    return presets(*(Preset(**row) for row in rows))


def _defect(text: str, faithful: Mapping[str, Any] | None = None, without: Iterable[str] = ()) -> Defect:
    return Defect(text, {**(faithful or {}), **dict.fromkeys(without)})


class Scaled(Frozen):
    """Parameters whose sizes and times are one knob."""

    scale: float = Field(
        default=1.0, gt=0, le=1, description="scales sizes and run times; set it with `--scale` of `run` and `plan`"
    )

    def scaled(self, value: int, *, minimum: int) -> int:
        """A size or a time times `scale`: whole, and not below what a tool needs, `minimum`."""
        return min(value, max(minimum, round(value * self.scale)))

    def notes(self) -> list[str]:
        """For the report: the scale; empty for the whole."""
        words = scale_words(self.scale)
        return [f"{words[0].upper()}{words[1:]}."] if self.scale < 1 else []


class EditionParameters(Scaled):
    """Parameters of a benchmark with editions. A subclass names its own in `edition`."""

    presets: ClassVar[Presets] = {}
    free: ClassVar[frozenset[str]] = frozenset()
    """Parameters that no edition sets."""

    edition: str | None = EDITION
    mode: Mode = Field(default="fixed", description="faithful: with the edition's known defects; fixed: without them")

    @model_validator(mode="before")
    @classmethod
    def _of_its_edition(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        preset = cls.presets.get(str(given.get("edition")))
        return {**(preset.of(given.get("mode")) if preset else {}), **given}

    def as_reported(self, metrics: Iterable[Metric]) -> tuple[Metric, ...]:
        """The metrics: first, and alone as headlines, those that the edition's publication ranks by."""
        preset = self.presets.get(self.edition or "")
        found = {metric.name: metric for metric in metrics}
        first = [name for name in (preset.reported if preset else ()) if name in found]
        if not first:
            return tuple(found.values())
        order = [*first, *(name for name in found if name not in first)]
        return tuple(found[name].model_copy(update={"headline": name in first}) for name in order)

    def own_deviations(self) -> list[str]:
        """Differences from all editions that are not parameter values."""
        return []

    @override
    def notes(self) -> list[str]:
        """For the report: which method, what differs from it, its known defects, its scale. Empty without any."""
        preset = self.presets.get(self.edition or "")
        return [*([_method(self, preset), *_defects(self, preset)] if preset else []), *super().notes()]


def scale_words(scale: float) -> str:
    """`scaled to 5 % of the edition's times: not comparable with published numbers`."""
    return f"scaled to {100 * scale:g} % of the edition's times: {NOT_COMPARABLE}"


def deviations(parameters: EditionParameters) -> list[str]:
    """What differs from the edition: 'duration_s 60 instead of 240'. Empty when nothing does, or without an edition."""
    if parameters.edition not in parameters.presets:
        return []
    asked = type(parameters).model_validate({"edition": parameters.edition, "mode": parameters.mode})
    own = parameters.free | EditionParameters.model_fields.keys()
    pairs = {name: (getattr(parameters, name), getattr(asked, name)) for name in type(asked).model_fields}
    different = {name: pair for name, pair in pairs.items() if name not in own and pair[0] != pair[1]}
    return [_difference(name, *pair) for name, pair in different.items()] + parameters.own_deviations()


def _difference(name: str, given: Any, of_edition: Any) -> str:
    if any(isinstance(one, Frozen) for one in (*_items(given), *_items(of_edition))):
        return f"{name} of its own"
    return f"{name} {_plain(given)} instead of {_plain(of_edition)}"


def _items(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _plain(value: Any) -> str:
    if value is None:
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _method(parameters: EditionParameters, preset: Preset) -> str:
    different = deviations(parameters)
    if different:
        return f"{preset.edition} ({parameters.mode}), with {'; '.join(different)}: {NOT_COMPARABLE}."
    return f"{preset.edition} ({parameters.mode}), as published: {preset.source}."


def _defects(parameters: EditionParameters, preset: Preset) -> list[str]:
    done = "kept" if parameters.mode == "faithful" else "fixed"
    return [
        f"Known defect, {done}: {defect.text}." if defect.faithful else f"Known: {defect.text}."
        for defect in preset.defects
    ]
