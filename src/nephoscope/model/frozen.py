"""The base of all of nephoscope's values: frozen, and strict about unknown keys."""

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Frozen(BaseModel):
    """A frozen value; unknown keys are errors, infinities and NaN are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


CONFLICT = "parameters_do_not_fit"
"""Error kind for values that are valid one by one but contradict each other."""


def conflict(text: str) -> PydanticCustomError:
    """An error for a validator to raise: `text` as it is, without pydantic's prefix."""
    return PydanticCustomError(CONFLICT, "{text}", {"text": text})
