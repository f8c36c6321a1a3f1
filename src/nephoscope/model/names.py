"""The rules for names, the same in a study file and in what is stored."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from nephoscope.model.frozen import conflict

MOST_CHARACTERS = 63
_IN_WORDS = f"at most {MOST_CHARACTERS} lower-case letters, digits, dots and dashes, starting with a letter or a digit"
NAME = rf"[a-z0-9][a-z0-9.-]{{0,{MOST_CHARACTERS - 1}}}"
_NAME = re.compile(NAME)
Name = Annotated[str, Field(pattern=rf"^{_NAME.pattern}$", json_schema_extra={"x-pattern-in-words": _IN_WORDS})]
"""Lower case, digits, dots and dashes: it is used as a folder name, a chart label and a database name."""

_LABEL_IN_WORDS = "at most 30 lower-case letters, digits and dashes, starting with a letter"
LabelName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]{0,29}$", json_schema_extra={"x-pattern-in-words": _LABEL_IN_WORDS})
]
"""The name of a label: a column of tables and a filter of the report."""

MachineName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
"""The name of a machine, which its provider or its host chose: it is used as a file name."""


def _with_a_name(table: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(name := table.get("name"), str):
        raise conflict("there is no name")
    if not _NAME.fullmatch(name):
        raise conflict(f"the name {name[:_SHOWN]!r} must be {_IN_WORDS}")
    return table


_SHOWN = 80
Named = Annotated[dict[str, Any], AfterValidator(_with_a_name)]
"""A table with a name, whatever else is in it."""
