"""Values that files hold as text, such as 'size: 8 vCPUs': each is written and read in one place, its class."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Written(ABC):
    """A frozen value whose `str` is what a file holds."""

    @classmethod
    @abstractmethod
    def read(cls, stored: str) -> Self:
        """The value that `str` wrote.

        Raises:
            ValueError: no such value is written like this.
        """

    @classmethod
    def _validated(cls, stored: Any) -> Any:
        return cls.read(stored) if isinstance(stored, str) else stored

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read from text, written as text."""
        return core_schema.no_info_before_validator_function(
            cls._validated,
            core_schema.is_instance_schema(cls),
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Text."""
        return {"type": "string"}


_SIZE: Literal["size"] = "size"
_UNIT = " vCPUs"


@dataclass(frozen=True)
class Scope(Written):
    """One scope."""

    kind: Literal["overall", "cloud", "size"]
    value: str | int | None = None
    """The provider of a cloud, the vCPUs of a size; None: overall."""

    def __str__(self) -> str:
        """'overall', 'cloud: aws', 'size: 8 vCPUs'."""
        return self.kind if self.value is None else f"{self.kind}: {self.value}{_UNIT if self.kind == _SIZE else ''}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        kind, _, value = stored.partition(": ")
        vcpus, unit, rest = value.partition(_UNIT)
        if stored == "overall":
            return cls("overall")
        if kind == "cloud" and value:
            return cls("cloud", value)
        if kind == _SIZE and vcpus.isdecimal() and unit and not rest:
            return cls(_SIZE, int(vcpus))
        raise ValueError(f"{stored!r} is no scope")

    @property
    def order(self) -> tuple[bool, str, str | int]:
        """For sorting: overall first, then clouds by name, then sizes by number."""
        return self != OVERALL, self.kind, self.value or 0


OVERALL = Scope("overall")
