"""JSON files that name their schema: read old ones, reject newer ones, say which file is damaged."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaValidator

from nephoscope.model.bounded_toml import load_toml
from nephoscope.model.errors import DamagedFile, NewerSchema, StorageFailed, not_read
from nephoscope.model.text import hidden, visible
from nephoscope.store import atomic, plain

Value = TypeVar("Value", bound=BaseModel)

_SCHEMA = re.compile(r"^nephoscope/(?P<kind>[a-z-]+)/(?P<version>[0-9]+)$")


def dump(value: BaseModel) -> str:
    """One value as JSON for people and machines: indented, keys in the order of the model."""
    return _json(value, indent=1)


def dump_line(value: BaseModel) -> str:
    """One value as one line of JSON."""
    return _json(value)


def _json(value: BaseModel, indent: int | None = None) -> str:
    try:
        return value.model_dump_json(by_alias=True, indent=indent) + "\n"
    except PydanticSerializationError:  # a lone surrogate, such as that of a file's name in another encoding
        encodable = type(value).model_validate(_made_plain(value.model_dump(by_alias=True)))
        return encodable.model_dump_json(by_alias=True, indent=indent) + "\n"


def write(path: Path, value: BaseModel, *, sync: bool = True) -> None:
    """Stores one value atomically; `sync` as in `atomic.write_bytes`."""
    atomic.write_text(path, dump(value), sync=sync)


def append_line(path: Path, value: BaseModel) -> None:
    """Appends one value to a file of one value per line, after removing a line that a crash or a full disk cut off.

    Raises:
        StorageFailed: it cannot be stored; what was there before can still be read.
    """
    try:
        with open(path, "a+b", opener=plain.open_itself) as file:  # Path.open has no opener
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


def read(path: Path | str, model: type[Value], *, mend: str = "") -> Value:
    """Reads one value. The keyword argument replaces the hint for a damaged file, which is to delete the attempt.

    Raises:
        DamagedFile: not JSON, or not allowed by the model.
        NewerSchema: written by a newer nephoscope.
        FileNotFoundError: it is not there.
    """
    return parsed(read_bytes(path, mend=mend or MEND), path, model, mend=mend)


def parsed(text: bytes, path: Path | str, model: type[Value], *, mend: str = "") -> Value:
    """What `read` makes of the content of a file."""
    try:
        valid: Value = reader(model).validate_json(made_plain(text))  # at once, as thousands of files are read
    except ValidationError:
        content = _decoded(made_plain(text), str(path), mend or MEND)  # what is wrong, and where
    else:
        return valid
    _refuse_newer(path, content, model)
    return _validate(path, content, model, mend)


def read_lines(path: Path | str, model: type[Value]) -> list[Value]:
    """Reads a file of one value per line, without a last line that a crash cut off before its newline."""
    try:
        text = read_bytes(path, mend=MEND)
    except FileNotFoundError:
        return []
    lines = text.split(b"\n")[:-1]
    if not _is_plain(text):
        lines = [made_plain(line) for line in lines]
    # At once, as with one value. A text of JSON holds no newline, so two halves of a value do not become a whole one.
    with suppress(ValidationError):
        found: list[Value] = reader(list[model]).validate_json(b"[%b]" % b",\n".join(lines))  # type: ignore[valid-type]
        if len(found) == len(lines):
            return found
    numbered = ((f"{path}:{number}", line) for number, line in enumerate(lines, start=1))  # what is wrong, and where
    return [_validate(where, _decoded(line, where, MEND), model) for where, line in numbered]


@cache
def reader(kind: Any) -> SchemaValidator:
    """What validates a stored value of a type, and stops at the first element of a list or mapping that is wrong.

    Pydantic describes each error in a kilobyte, and a stranger's file can have one in every second byte.
    """
    schema = _failing_fast(TypeAdapter(kind).core_schema)
    return SchemaValidator(schema, _use_prebuilt=False)  # those of the models themselves collect every error


def _failing_fast(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return type(schema)(map(_failing_fast, schema))
    if not isinstance(schema, Mapping):  # of a model that was not needed yet it is no dictionary
        return schema
    fast = {"fail_fast": True} if isinstance(schema.get("type"), str) and schema["type"] in _MANY else {}
    return {key: part if key in _NO_SCHEMA else _failing_fast(part) for key, part in schema.items()} | fast


_MANY = frozenset({"list", "tuple", "set", "frozenset", "dict"})
_NO_SCHEMA = frozenset({"metadata", "default", "expected"})


def made_plain(text: bytes) -> bytes:
    """JSON in whose texts everything can be seen, as it may come from anybody; what is no JSON stays as it is."""
    if _is_plain(text):
        return text
    try:
        return json.dumps(_made_plain(json.loads(text)), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text


def _is_plain(text: bytes) -> bool:
    """False: a text of this JSON may hold a character that nobody sees. A pattern takes longer than a model."""
    if text.isascii():
        return b"\x7f" not in text and (b"\\" not in text or _ESCAPED.search(text) is None)
    return _ESCAPED.search(text) is None and hidden(text.decode(errors="replace")) is None


_ESCAPED = re.compile(rb"\\[bfru]")


def _made_plain(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _made_plain(inner) for key, inner in value.items()}
    return [_made_plain(inner) for inner in value] if isinstance(value, list) else value


def read_bytes(path: Path | str, *, mend: str) -> bytes:
    """A stored file as it is; the keyword argument says what to do about a damaged one.

    Raises:
        DamagedFile: it is no plain file, or the disk cannot read it.
        FileNotFoundError: it is not there.
    """
    try:
        return plain.read(path)
    except FileNotFoundError:
        raise
    except IsADirectoryError as error:
        raise DamagedFile(f"{path} is a folder, but must be a file", hint=mend) from error
    except OSError as error:
        raise not_read(path, error, hint=mend) from error


def read_text(path: Path, *, mend: str) -> str:
    """As `read_bytes`, of a text file.

    Raises:
        DamagedFile: it is not there, is a folder, cannot be read, or is not UTF-8.
    """
    try:
        return read_bytes(path, mend=mend).decode()
    except FileNotFoundError as error:
        raise DamagedFile(f"{path} is missing", hint=mend) from error
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1}"
        raise DamagedFile(f"{path} is not UTF-8 text: {where} is invalid", hint=mend) from error


def read_toml(path: Path, *, mend: str) -> dict[str, Any]:
    """As `read_text`, of a TOML file."""
    try:
        return load_toml(read_text(path, mend=mend))
    except ValueError as error:
        raise DamagedFile(f"{path} is not TOML: {error}", hint=mend) from error


def _decoded(text: bytes, where: str, mend: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise DamagedFile(f"{where} is not JSON that nephoscope wrote: it is nested too deeply", hint=mend) from error
    except ValueError as error:
        raise DamagedFile(f"{where} is not JSON: {error}", hint=mend) from error


MEND = "restore the file from a copy, or delete its attempt folder and run the study again"
"""What to do about a damaged file of an attempt."""


def _validate(path: Path | str, content: object, model: type[Value], mend: str = "") -> Value:
    try:
        valid: Value = reader(model).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise DamagedFile(f"{path} is damaged: {where}: {first['msg']}", hint=mend or MEND) from error
    return valid


def _refuse_newer(path: Path | str, content: Any, model: type[BaseModel]) -> None:
    field = model.model_fields.get("schema_")
    if field is None:
        return
    named = content.get("schema") if isinstance(content, dict) else None
    ours = _SCHEMA.match(str(field.default))
    theirs = _SCHEMA.match(str(named))
    if ours is None:
        raise AssertionError(f"{model.__name__} names no schema")
    if theirs is None or theirs["kind"] != ours["kind"]:
        raise DamagedFile(f"{path} has the schema {named!r}, expected {field.default!r}", hint=MEND)
    if int(theirs["version"]) > int(ours["version"]):
        raise NewerSchema(
            f"{path} was written by a newer nephoscope ({named}; this one knows up to version {ours['version']})",
            hint="install that nephoscope or a later one; nothing was changed",
        )
