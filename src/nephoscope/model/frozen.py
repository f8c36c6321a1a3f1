"""The base of all of nephoscope's values: frozen, and strict about unknown keys."""

from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError
from typing_extensions import override

MOST_INTEGER = 2**63 - 1
"""Of a column, and of most programs. JSON has integers of any length."""
MOST_NUMBER = 1e100
"""Sums, squares and products of two numbers below it are finite."""
_LIMITS = {"int": (-MOST_INTEGER, MOST_INTEGER), "float": (-MOST_NUMBER, MOST_NUMBER)}


class Frozen(BaseModel):
    """A frozen value; unknown keys are errors, and so are numbers that are infinite, no number, or far too large."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @override
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _limit(schema)
        return schema

    @override
    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        described = handler(schema)
        _leave_out_limits(described)
        return described


def _limit(schema: Any) -> None:
    """Gives every number a limit that has none of its own."""
    if isinstance(schema, list | tuple):
        for part in schema:
            _limit(part)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in ("int", "float"):
            lower, upper = _LIMITS[kind]
            schema |= {} if schema.keys() & {"ge", "gt"} else {"ge": lower}
            schema |= {} if schema.keys() & {"le", "lt"} else {"le": upper}
        for key, part in schema.items():
            if key == "fields":  # by their names, which may be any word
                _limit(list(part.values()) if isinstance(part, dict) else part)
            elif key not in {"metadata", "default", "serialization"}:
                _limit(part)


def _leave_out_limits(described: Any) -> None:
    """A schema for people and editors shows the limits of a field and not those of all numbers."""
    if isinstance(described, list):
        for part in described:
            _leave_out_limits(part)
    elif isinstance(described, dict):
        lower, upper = _LIMITS["int"] if described.get("type") == "integer" else _LIMITS["float"]
        for key, limit in (("minimum", lower), ("maximum", upper)):
            if described.get(key) == limit:
                del described[key]
        for part in described.values():
            _leave_out_limits(part)


CONFLICT = "parameters_do_not_fit"
"""Error kind for values that are valid one by one but contradict each other."""


def conflict(text: str) -> PydanticCustomError:
    """An error for a validator to raise: `text` as it is, without pydantic's prefix."""
    return PydanticCustomError(CONFLICT, "{text}", {"text": text})
