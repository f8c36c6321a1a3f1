"""What an account is asked before its first machine is made. It costs nothing, and changes nothing."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from nephoscope.model.errors import EnvironmentProblem


@dataclass(frozen=True)
class Question:
    """One question."""

    topic: str
    """'network'."""
    ask: Callable[[], Coroutine[Any, Any, str]]
    """What is the case, for people; raises a `NephoscopeError` if no machine can be made so."""
    account: str = ""
    """Name of the account as answers and errors repeat it; empty: its form tells what it is."""


def require_free(account: str, region: str, free: Mapping[str, float], needed: Mapping[str, float]) -> str:
    """What is free of each quota that is needed, for people; one that is not listed is not limited.

    Raises:
        EnvironmentProblem: too little of one is.
    """
    for name, amount in needed.items():
        if free.get(name, amount) < amount:
            raise EnvironmentProblem(
                f"the {account} has {free[name]:g} of {name} left in {region}, and {amount:g} are needed",
                hint=f"request more of {name} in the console, or try another --region and --zone",
            )
    return ", ".join(f"{free[name]:g} of {name}" for name in needed if name in free) + " free"
