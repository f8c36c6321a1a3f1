"""A study file with everything that a person may write in it: the keys of a study, and shorthands for many of them."""

from typing import Any

from pydantic import ConfigDict, Field

from nephoscope.model.frozen import Frozen
from nephoscope.study.choices import Choice
from nephoscope.study.matrix import Matrix
from nephoscope.study.model import BenchmarkEntry, Configuration, Study

_DEFAULTS = (
    "keys of [[configurations]] for all of them, merged by key below what each one says; placeholders as in [[matrix]]"
)
_CHOICES = (
    "name of a choice -> which option `is` chosen, and the options: tables of placeholders and their values, for "
    "[defaults], [[matrix]] and [[benchmarks]]"
)
_MATRIX = "many configurations (or benchmarks) at once; `plan --expanded` prints what it makes"


class Shorthands(Frozen):
    """What stands for several configurations or benchmarks; `study/expanded.py` replaces it."""

    model_config = ConfigDict(extra="ignore")

    choices: dict[str, Choice] = Field(default={}, description=_CHOICES)
    defaults: dict[str, Any] = Field(default={}, description=_DEFAULTS)
    matrix: list[Matrix] = Field(default=[], description=_MATRIX)


class BenchmarkInFile(BenchmarkEntry):
    """One benchmark of a study."""

    for_: str | None = Field(
        default=None,
        alias="for",
        description="instead of `configurations`: a selection such as 'aws and not vcpus:8', see "
        "docs/how-to/study-of-many-machines.md",
    )


class StudyFile(Study):
    """A study file."""

    configurations: list[Configuration] = Field(
        default=[], min_length=1, description="what to compare; or use [[matrix]]"
    )
    benchmarks: list[BenchmarkInFile] = Field(  # type: ignore[assignment]
        default=[], min_length=1, description="how to measure it"
    )
    choices: dict[str, Choice] = Field(default={}, description=_CHOICES)
    defaults: dict[str, Any] = Field(default={}, description=_DEFAULTS)
    matrix: list[Matrix] = Field(default=[], description=_MATRIX)
