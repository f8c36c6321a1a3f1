"""JSON files that name their schema: read old ones, reject newer ones, say which file is damaged."""

import json
import os
import re
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from nephoscope.model.errors import DamagedFile, NewerSchema, StorageFailed
from nephoscope.store import atomic

Value = TypeVar("Value", bound=BaseModel)

_SCHEMA = re.compile(r"^nephoscope/(?P<kind>[a-z-]+)/(?P<version>[0-9]+)$")


def dump(value: BaseModel) -> str:
    """One value as JSON for people and machines: indented, keys in the order of the model."""
    return value.model_dump_json(by_alias=True, indent=1) + "\n"


def dump_line(value: BaseModel) -> str:
    """One value as one line of JSON."""
    return value.model_dump_json(by_alias=True) + "\n"


def write(path: Path, value: BaseModel) -> None:
    """Stores one value atomically."""
    atomic.write_text(path, dump(value))


def append_line(path: Path, value: BaseModel) -> None:
    """Appends one value to a file of one value per line, after removing a line that a crash or a full disk cut off.

    Raises:
        StorageFailed: it cannot be stored; what was there before can still be read.
    """
    try:
        with path.open("a+b") as file:
            file.truncate(_whole_lines(file))
            file.write(dump_line(value).encode())
    except OSError as error:
        raise StorageFailed.of(path, error) from error


def _whole_lines(file: BinaryIO) -> int:
    """Bytes up to the end of the last whole line."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read(1) in {b"\n", b""}:
        return size
    file.seek(0)
    return file.read().rfind(b"\n") + 1


def read(path: Path, model: type[Value], *, mend: str = "") -> Value:
    """Reads one value. The keyword argument replaces the hint for a damaged file, which is to delete the attempt.

    Raises:
        DamagedFile: not JSON, or not allowed by the model.
        NewerSchema: written by a newer nephoscope.
        FileNotFoundError: it is not there.
    """
    text = path.read_bytes()
    try:
        content = json.loads(text)
    except ValueError as error:
        raise DamagedFile(f"{path} is not JSON: {error}", hint=mend or _MEND) from error
    _refuse_newer(path, content, model)
    return _validate(path, content, model, mend)


def read_lines(path: Path, model: type[Value]) -> list[Value]:
    """Reads a file of one value per line, without a last line that a crash cut off before its newline."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    values = []
    for number, line in enumerate(text.split(b"\n")[:-1], start=1):
        try:
            content = json.loads(line)
        except ValueError as error:
            raise DamagedFile(f"{path}:{number} is not JSON: {error}", hint=_MEND) from error
        values.append(_validate(path, content, model))
    return values


_MEND = "restore the file from a copy, or delete its attempt folder and run the study again"


def _validate(path: Path, content: object, model: type[Value], mend: str = "") -> Value:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise DamagedFile(f"{path} is damaged: {where}: {first['msg']}", hint=mend or _MEND) from error


def _refuse_newer(path: Path, content: Any, model: type[BaseModel]) -> None:
    field = model.model_fields.get("schema_")
    if field is None:
        return
    named = content.get("schema") if isinstance(content, dict) else None
    ours = _SCHEMA.match(str(field.default))
    theirs = _SCHEMA.match(str(named))
    if ours is None:
        raise AssertionError(f"{model.__name__} names no schema")
    if theirs is None or theirs["kind"] != ours["kind"]:
        raise DamagedFile(f"{path} names the schema {named!r}, not {field.default!r}", hint=_MEND)
    if int(theirs["version"]) > int(ours["version"]):
        raise NewerSchema(
            f"{path} was written by a newer nephoscope ({named}; this one knows up to version {ours['version']})",
            hint="install that nephoscope or a later one; nothing was changed",
        )
