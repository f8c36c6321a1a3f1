"""Values that files hold as text, such as 'size: 8 vCPUs': each is written and read in one place, its class."""

from abc import ABC, abstractmethod
from typing import Any, Self

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
