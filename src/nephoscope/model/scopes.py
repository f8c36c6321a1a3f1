"""Scopes in which a best configuration is sought: all configurations, those of one cloud, or those of one size."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer

_SIZE: Literal["size"] = "size"
_UNIT = " vCPUs"


@dataclass(frozen=True)
class Scope:
    """One scope. Files hold it as `str` writes it and `scope_of` reads it."""

    kind: Literal["overall", "cloud", "size"]
    value: str | int | None = None
    """The provider of a cloud, the vCPUs of a size; None: overall."""

    def __str__(self) -> str:
        """'overall', 'cloud: aws', 'size: 8 vCPUs'."""
        return self.kind if self.value is None else f"{self.kind}: {self.value}{_UNIT if self.kind == _SIZE else ''}"

    @property
    def order(self) -> tuple[bool, str, str | int]:
        """For sorting: overall first, then clouds by name, then sizes by number."""
        return self != OVERALL, self.kind, self.value or 0


OVERALL = Scope("overall")


def scope_of(stored: str) -> Scope:
    """The scope that `str` wrote.

    Raises:
        ValueError: it is none.
    """
    kind, _, value = stored.partition(": ")
    if stored == str(OVERALL):
        return OVERALL
    if kind == "cloud" and value:
        return Scope("cloud", value)
    vcpus, unit, rest = value.partition(_UNIT)
    if kind == _SIZE and vcpus.isdecimal() and unit and not rest:
        return Scope(_SIZE, int(vcpus))
    raise ValueError(f"{stored!r} is no scope")


def _validated(stored: Any) -> Any:
    return scope_of(stored) if isinstance(stored, str) else stored


ScopeField = Annotated[Scope, BeforeValidator(_validated), PlainSerializer(str, return_type=str)]
"""The scope of a row."""
