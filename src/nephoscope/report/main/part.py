"""One line for a study of which the folder holds only a part, whose title speaks of all of it."""

from nephoscope.insights.names import enumerated
from nephoscope.model.analysed import PartOfStudy
from nephoscope.model.words import counted, provider_name
from nephoscope.report.main.chapters import TITLES


def part_words(part: PartOfStudy | None) -> str:
    """'26 of 234 configurations, 4 of 9 benchmarks; left out: Google Cloud, network'; empty: it is all of the study."""
    if part is None:
        return ""
    counts = [
        (part.configurations, part.of_configurations, "configuration"),
        (part.benchmarks, part.of_benchmarks, "benchmark"),
    ]
    fewer = [f"{some:,} of {counted(whole, noun)}" for some, whole, noun in counts if some < whole]
    if not fewer:
        fewer = [f"each benchmark on some of its configurations ({part.cells:,} of {part.of_cells:,} combinations)"]
    left_out = [*map(provider_name, part.providers), *map(_chapter, part.chapters)]
    return ", ".join(fewer) + (f"; left out: {enumerated(left_out)}" if left_out else "")


def _chapter(name: str) -> str:
    """As it is called in the middle of a sentence."""
    title = TITLES.get(name, name)
    return title if title.isupper() else title.lower()
