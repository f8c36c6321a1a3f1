"""The base of every value of ours: frozen, and strict about keys it does not know."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A frozen value; unknown keys are errors, infinities and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
