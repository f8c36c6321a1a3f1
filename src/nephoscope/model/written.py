"""Values that files hold as text, such as 'size: 8 vCPUs': each is written and read in one place, its class."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
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
_VCPUS = re.compile(r"(\d+)(?: to (\d+))? vCPUs")
_ONE_SIZE = 1.25
"""Sizes up to this many times the smallest of a class are one size: reports compare 30, 32 and 36 vCPUs."""


@dataclass(frozen=True)
class Scope(Written):
    """One scope."""

    kind: Literal["overall", "cloud", "size"]
    value: str | int | None = None
    """The provider of a cloud, the vCPUs of a size; None: overall."""
    most: int | None = None
    """The largest of a size that has several, such as 30, 32 and 36 vCPUs."""

    def __str__(self) -> str:
        """'overall', 'cloud: aws', 'size: 8 vCPUs', 'size: 30 to 36 vCPUs'."""
        if self.kind == _SIZE:
            return f"{_SIZE}: {self.value}{f' to {self.most}' if self.most else ''} vCPUs"
        return self.kind if self.value is None else f"{self.kind}: {self.value}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """See `Written`."""
        kind, _, value = stored.partition(": ")
        if stored == "overall":
            return cls("overall")
        if kind == "cloud" and value:
            return cls("cloud", value)
        if kind == _SIZE and (found := _VCPUS.fullmatch(value)):
            return cls(_SIZE, int(found[1]), int(found[2]) if found[2] else None)
        raise ValueError(f"{stored!r} is no scope")

    @classmethod
    def sizes(cls, vcpus: Iterable[int]) -> dict[int, Self]:
        """Every number of vCPUs -> its size, from small to large: machines of almost the same size are one."""
        classes: list[list[int]] = []
        for count in sorted(set(vcpus)):
            if classes and count <= _ONE_SIZE * classes[-1][0]:
                classes[-1].append(count)
            else:
                classes.append([count])
        return {count: cls(_SIZE, many[0], many[-1] if len(many) > 1 else None) for many in classes for count in many}

    @property
    def order(self) -> tuple[bool, str, str | int]:
        """For sorting: overall first, then clouds by name, then sizes by number."""
        return self != OVERALL, self.kind, self.value or 0


OVERALL = Scope("overall")
