"""Files that a person names on the command line."""

from pathlib import Path

from nephoscope.model.errors import InputError, StorageFailed


def read_text(file: Path) -> str:
    """A file's text.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {file}: {why}", hint="`nephoscope init` writes a starter study") from error


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
