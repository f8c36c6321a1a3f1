"""The base of every value of ours: frozen, and strict about keys it does not know."""

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Frozen(BaseModel):
    """A frozen value; unknown keys are errors, infinities and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


CONFLICT = "parameters_do_not_fit"
"""Kind of the error of values that are right one by one, and wrong together."""


def conflict(text: str) -> PydanticCustomError:
    """For a validator to raise: `text` as it is, without pydantic's own words before it."""
    return PydanticCustomError(CONFLICT, "{text}", {"text": text})
