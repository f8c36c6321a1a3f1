"""What colour means on the main page: the provider where there are several, else the configuration."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

import altair as alt

from nephoscope.analysis.lookup import Lookup, unique
from nephoscope.insights.names import names_of, provider_of
from nephoscope.model.rows import ConfigurationRow, Statistic
from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import by_colour
from nephoscope.report.parts import KeyEntry


@dataclass(frozen=True)
class Palette:
    """One meaning of colour for all charts of the main page."""

    by: Literal["provider", "configuration", "nothing"]
    of: Mapping[str, str]
    """Configuration -> what its colour stands for."""
    called: Mapping[str, str]
    """Configuration -> its name for a reader."""

    @property
    def names(self) -> list[str]:
        """Everything that has a colour, in its order."""
        return unique(self.of.values())

    def colour(self, configuration: str) -> str:
        """The colour of a configuration."""
        names = self.names
        return theme.colour(names.index(self.of[configuration]), len(names))

    def signs(self, drawn: Sequence[str]) -> list[tuple[str, str]]:
        """Shape and glyph of each of these configurations: its own on the whole page, where colour means one."""
        names = self.names if self.by == "configuration" else drawn
        return [theme.sign(names.index(name)) for name in drawn]

    @property
    def encoding(self) -> alt.Color:
        """For charts whose rows have a `shade`."""
        names = self.names
        colours = [theme.colour(place, len(names)) for place in range(len(names))]
        return by_colour("shade", names, colours)

    def key(self, drawn: Sequence[str]) -> list[KeyEntry]:
        """Of the providers of these configurations; rows say the names of configurations themselves."""
        if self.by != "provider":
            return []
        shown = {self.of[name] for name in drawn}
        return [
            KeyEntry("■", theme.colour(place, len(self.names)), name)
            for place, name in enumerate(self.names)
            if name in shown
        ]


def for_machines(palette: Palette, lookup: Lookup, benchmarks: Sequence[str]) -> Palette:
    """Without the end of names that says a setup which plays no part: CoreMark needs no disk.

    Then each machine type was measured once by these benchmarks, and in several setups by others.
    """
    of_type: dict[str, list[str]] = defaultdict(list)
    for row in lookup[ConfigurationRow]:
        of_type[row.machine_type or ""].append(row.configuration)
    measured = unique(row.configuration for row in lookup[Statistic] if row.benchmark in benchmarks)
    types = {name: lookup.described[name].machine_type for name in measured if name in lookup.described}
    named = {name: _name_of_type(kind, of_type[kind]) or name for name, kind in types.items() if kind}
    once = len(measured) == len(named) == len(set(types.values())) == len(set(named.values()))
    return replace(palette, called={**palette.called, **named}) if once else palette


def _name_of_type(machine_type: str, names: Sequence[str]) -> str | None:
    """With what all these names begin, as far as that is the type: 'd8s-v5' of 'd8s-v5-p30' and Standard_D8s_v5."""
    parts = zip(*(name.split("-") for name in names), strict=False)
    common = "-".join(first for first, *others in takewhile(lambda part: len(set(part)) == 1, parts))
    return common if machine_type.lower().replace("_", "-").endswith(common) else None


def palette_of(lookup: Lookup) -> Palette:
    """Providers as far as they are known and there are several; configurations if they are few."""
    providers = {name: provider_of(lookup, name) for name in lookup.configurations}
    if 1 < len(set(providers.values())) <= theme.MAX_COLOURS:
        return Palette("provider", providers, names_of(lookup))
    if len(lookup.configurations) <= theme.MAX_COLOURS:
        return Palette("configuration", {name: name for name in lookup.configurations}, names_of(lookup))
    return Palette("nothing", dict.fromkeys(lookup.configurations, "all"), names_of(lookup))
