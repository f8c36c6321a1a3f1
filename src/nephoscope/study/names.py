"""Rules for names in a study."""

from typing import Annotated

from pydantic import Field

_IN_WORDS = "at most 63 lower-case letters, digits, dots and dashes, starting with a letter or a digit"
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$", json_schema_extra={"x-pattern-in-words": _IN_WORDS})]
"""Lower case, digits, dots and dashes: it is used as a folder name, a chart label and a database name."""
