"""What the queue's database may hold: text, numbers, lists and tables of them, and errors as words.

DBOS pickles by default, and reading a pickle runs whatever its author wrote in it. A results folder is copied between
people and a queue's server may be shared, so nothing that is read from a queue may ever become code.
"""

import json
from typing import Any, NoReturn

from dbos import Serializer
from dbos._serialization import DefaultSerializer
from typing_extensions import override

MAX_CHARACTERS = 10_000
"""Of one stored value: ids are below 200, and the words of an error are cut."""
_ERROR = "error"


class ForeignQueue(Exception):
    """A queue holds something that nephoscope never writes there."""


class StoredError(Exception):
    """An error of an earlier controller: the name of its class, and its words."""


class PlainValues(Serializer):
    """JSON of plain values. An error becomes its class name and text, and comes back as `StoredError`."""

    @override
    def name(self) -> str:
        return "nephoscope_json"

    @override
    def serialize(self, data: Any) -> str:
        """Raises TypeError for any other object."""
        if isinstance(data, BaseException):
            data = {_ERROR: f"{type(data).__name__}: {str(data)[: MAX_CHARACTERS // 10]}"}
        return json.dumps(data, allow_nan=False)

    @override
    def deserialize(self, serialized_data: str) -> Any:
        """Raises ForeignQueue if it is not JSON, or far too long."""
        if len(serialized_data) > MAX_CHARACTERS:
            raise ForeignQueue(f"a value of {len(serialized_data):,} characters")
        try:
            value = json.loads(serialized_data)
        except (ValueError, RecursionError) as error:
            raise ForeignQueue("a value that is not JSON") from error
        if isinstance(value, dict) and value.keys() == {_ERROR}:
            return StoredError(value[_ERROR])
        return value


def never_unpickle() -> None:
    """From here on DBOS cannot read a pickle in this process.

    A serializer of one's own is not enough: DBOS unpickles each row that is marked as a pickle.
    """
    DefaultSerializer.deserialize = _refuse  # type: ignore[assignment, method-assign]


def _refuse(*_: object) -> NoReturn:
    raise ForeignQueue("a pickled object")
