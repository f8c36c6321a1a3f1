"""The databases that nephoscope makes on a server of the user's: what it recorded there of each."""

from nephoscope.model.frozen import Frozen
from nephoscope.model.words import counted

MARK = "made by nephoscope: "
DATA_SET = "a data set, kept for later trials"
COPY = "the copy that a trial works on"
PREFIX = "nephoscope_"


class MadeDatabase(Frozen):
    """A database that nephoscope made, or whose name looks so."""

    name: str
    comment: str | None
    size_bytes: int | None
    """None: the role may not ask."""
    template: bool
    """PostgreSQL drops no template."""
    connections: int
    """Sessions that use it now."""

    @property
    def recorded(self) -> bool:
        """Only then nephoscope made it: a dump that was restored under another name has the record, too."""
        return self.name.startswith(PREFIX) and (self.comment or "").startswith(MARK)

    @property
    def what(self) -> str:
        """What it is for."""
        return (self.comment or "").removeprefix(MARK) if self.recorded else "not recorded as made by nephoscope"

    def require_recorded(self) -> None:
        """Lets nobody drop another's database.

        Raises:
            ValueError: nephoscope did not record it.
        """
        if not self.recorded:
            raise ValueError(f"nephoscope did not make {self.name}")

    @property
    def in_use(self) -> str:
        """Why it stays as it is; empty: nobody uses it."""
        if not self.connections:
            return ""
        use = "uses" if self.connections == 1 else "use"
        return f"{counted(self.connections, 'connection')} {use} it: a study may be running"
