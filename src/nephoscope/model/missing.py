"""Parts of an analysis or a report that raised: each costs itself, never the report."""

import traceback
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from pydantic import Field

from nephoscope.model.frozen import Frozen

Kind = Literal["insight", "section", "figure"]
MAX_MESSAGE = 300
"""Characters of a message that are kept: the traceback has all of it."""


class MissingPart(Frozen):
    """One part that is not there, because the code that makes it raised: a defect of nephoscope."""

    kind: Kind
    name: str = Field(description="of the rule, the section, or the function that draws the figure, with its benchmark")
    error: str = Field(description="class of the exception")
    message: str = Field(description=f"its message, at most {MAX_MESSAGE} characters")
    traceback: str = Field(description="where it was raised, as Python prints it")

    @property
    def text(self) -> str:
        """A line for a reader: what is missing, and what was raised."""
        return f"the {self.kind} “{self.name}”: {self.error}" + (f": {self.message}" if self.message else "")


@dataclass(frozen=True)
class contained:  # noqa: N801  # read as a word: `with contained(missing, "figure", name):`
    """Runs one part; if it raises, adds what is now missing to `missing`, and goes on after the block."""

    missing: list[MissingPart]
    kind: Kind
    name: str

    def __enter__(self) -> None:
        """Nothing needs to be prepared."""

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        """True, so that it goes on, unless somebody asked the program to stop or there is no memory left."""
        if not isinstance(error, Exception) or isinstance(error, MemoryError):
            return False
        self.missing.append(
            MissingPart(
                kind=self.kind,
                name=self.name,
                error=type(error).__name__,
                message=" ".join(str(error).split())[:MAX_MESSAGE],
                traceback="".join(traceback.format_exception(error)),
            )
        )
        return True
