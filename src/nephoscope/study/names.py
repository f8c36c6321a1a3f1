"""Rules for names in a study."""

from typing import Annotated

from pydantic import Field

_IN_WORDS = "at most 63 lower-case letters, digits, dots and dashes, starting with a letter or a digit"
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$", json_schema_extra={"x-pattern-in-words": _IN_WORDS})]
"""Lower case, digits, dots and dashes: it is used as a folder name, a chart label and a database name."""

_LABEL_IN_WORDS = "at most 30 lower-case letters, digits and dashes, starting with a letter"
LabelName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]{0,29}$", json_schema_extra={"x-pattern-in-words": _LABEL_IN_WORDS})
]
"""The name of a label: a column of tables and a filter of the report."""
