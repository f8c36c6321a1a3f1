"""What most machines of a configuration are, where a study demands equal ones."""

from typing import Literal

from pydantic import Field

from nephoscope.model.frozen import Frozen


class MachineKind(Frozen):
    """kind.json: what most database machines of a configuration are."""

    schema_: Literal["nephoscope/kind/1"] = Field(default="nephoscope/kind/1", alias="schema")
    facts: dict[str, str] = Field(description="fact -> its value, of those that are known")
    alike: int = Field(ge=2, description="machines of this kind")
    machines: int = Field(ge=2, description="machines of the configuration so far")
