"""Files that a person names on the command line."""

from pathlib import Path

from nephoscope.model.bounded_toml import MAX_BYTES
from nephoscope.model.errors import InputError, StorageFailed


def read_text(file: Path) -> str:
    """A file's text, of a study or of claims.

    Raises:
        InputError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)  # it may be a pipe that never ends
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"cannot read {file}: {why}", hint="`nephoscope init` writes a starter study") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"{file}:1: larger than {MAX_BYTES >> 20} MiB", hint="check that it is the right file")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{file}:{line}: not UTF-8 text: byte {error.start:,} is 0x{content[error.start]:02x}",
            hint="save the file as UTF-8",
        ) from error


def write_new(file: Path, content: str) -> None:
    """Writes a file that must not exist yet.

    Raises:
        InputError: it exists.
        StorageFailed: it cannot be written.
    """
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(content)
    except FileExistsError as error:
        raise InputError(f"{file} already exists", hint="name another file; nothing was changed") from error
    except OSError as error:
        raise StorageFailed.of(file, error) from error
