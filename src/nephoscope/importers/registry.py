"""Every importer of results by the name that the command line uses. To add one: its file, and its line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nephoscope.importers import spare_cores, spare_cores_words
from nephoscope.importers.imported import ImportedStudy


@dataclass(frozen=True)
class Importer:
    """How to read one kind of other people's results."""

    what: str
    """One line for `nephoscope import --help`."""
    path: str
    """What PATH must be."""
    read: Callable[[Path], ImportedStudy]


IMPORTERS: Mapping[str, Importer] = {
    spare_cores_words.FORMAT: Importer(
        "Spare Cores: stress-ng by number of workers, and Redis, of cloud machine types.",
        "the folder that holds PROVIDER/TYPE/{lscpu,stressngfull,redis}/, or the SQLite file",
        spare_cores.read,
    ),
}
