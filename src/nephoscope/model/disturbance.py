"""What a study says about CPU time that the hypervisor took."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator


def named_today(disturbance: Any) -> Any:
    """The value of a study or a stored file that calls "reject" by its earlier name."""
    return "reject" if disturbance == "refuse" else disturbance


Disturbance = Annotated[Literal["reject", "record"], BeforeValidator(named_today)]
"""What happens to a trial from which the hypervisor took CPU time: it is rejected, or it counts and the loss is
recorded."""
