"""Scopes in which a best configuration is sought: all configurations, those of one cloud, or those of one size."""

from dataclasses import dataclass
from typing import Literal, Self

from nephoscope.model.written import Written

_SIZE: Literal["size"] = "size"
_UNIT = " vCPUs"


@dataclass(frozen=True)
class Scope(Written):
    """One scope."""

    kind: Literal["overall", "cloud", "size"]
    value: str | int | None = None
    """The provider of a cloud, the vCPUs of a size; None: overall."""

    def __str__(self) -> str:
        """'overall', 'cloud: aws', 'size: 8 vCPUs'."""
        return self.kind if self.value is None else f"{self.kind}: {self.value}{_UNIT if self.kind == _SIZE else ''}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        kind, _, value = stored.partition(": ")
        vcpus, unit, rest = value.partition(_UNIT)
        if stored == "overall":
            return cls("overall")
        if kind == "cloud" and value:
            return cls("cloud", value)
        if kind == _SIZE and vcpus.isdecimal() and unit and not rest:
            return cls(_SIZE, int(vcpus))
        raise ValueError(f"{stored!r} is no scope")

    @property
    def order(self) -> tuple[bool, str, str | int]:
        """For sorting: overall first, then clouds by name, then sizes by number."""
        return self != OVERALL, self.kind, self.value or 0


OVERALL = Scope("overall")
