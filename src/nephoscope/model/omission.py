"""A configuration that is left out, and why."""

from dataclasses import dataclass
from typing import Self

from nephoscope.model.sentence import Sentence
from nephoscope.model.written import Written


@dataclass(frozen=True, order=True)
class Omission(Written):
    """A configuration that has no price, or does not compete; no name of a configuration has a colon."""

    configuration: str
    why: Sentence

    def __str__(self) -> str:
        """'a: no price given'."""
        return f"{self.configuration}: {self.why}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        configuration, _, why = stored.partition(": ")
        return cls(configuration, Sentence(why))
