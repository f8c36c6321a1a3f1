"""A study of one configuration of somebody's study: what was asked for, without its author and their questions."""

from collections.abc import Mapping
from typing import Any

from nephoscope.model.names import MOST_CHARACTERS
from nephoscope.study.load import study_and_values
from nephoscope.study.model import KnownBenchmark
from nephoscope.study.toml_text import toml_text

_OF_ITS_AUTHOR = ("report", "contrasts", "stop", "description")
"""What they say about many configurations, which one alone does not answer."""


def study_of_one(
    text: str,
    configuration: str,
    benchmarks: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, KnownBenchmark],
) -> str:
    """The text of a study that measures one configuration as another study did.

    Args:
        text: the other study.
        configuration: its name there, which it keeps, so that both are compared.
        benchmarks: parameters of each that it was measured with, by its name there; these count, and not the text's:
            a plan may be a part of its study, and smaller.
        known: all benchmarks, by the value of `uses`.

    Raises:
        StudyError: the text is no study.
    """
    declared, values = study_and_values(text, "study.toml", known)
    data = {key: value for key, value in values.items() if key not in _OF_ITS_AUTHOR}
    entries = [
        _entry(raw, entry.parameters, benchmarks[entry.label])
        for raw, entry in zip(data["benchmarks"], declared.benchmarks, strict=True)
        if entry.label in benchmarks
    ]
    whole = {
        **data,
        "name": f"{data['name']}-{configuration}"[:MOST_CHARACTERS].rstrip("-."),
        "title": f"{configuration}, as in “{declared.title or declared.name}”",
        "configurations": [one for one in data["configurations"] if one["name"] == configuration],
        "benchmarks": entries,
    }
    return toml_text(whole)


def _entry(raw: Mapping[str, Any], declared: Mapping[str, Any], used: Mapping[str, Any]) -> dict[str, Any]:
    """A benchmark for all configurations, as it is written if that is how it ran."""
    kept = {key: value for key, value in raw.items() if key != "configurations"}
    if declared == used:
        return kept
    return {**kept, "parameters": {key: value for key, value in used.items() if value is not None}}
