"""The author's logo, inlined, as the pages load nothing."""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import PurePath

from nephoscope.model.errors import InputError

MAX_BYTES = 200_000
_KINDS: Mapping[str, tuple[str, tuple[bytes, ...]]] = {
    ".svg": ("image/svg+xml", (b"<svg", b"<?xml")),
    ".png": ("image/png", (b"\x89PNG\r\n\x1a\n",)),
    ".jpg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
}
"""End of a file's name -> its media type, and how such a file begins."""


def inlined(name: str, content: bytes) -> str:
    """The `data:` address of a picture.

    Args:
        name: of its file, with one of the ends that `Publication.logo` allows.
        content: of its file. Scripts in an SVG do not run, as a page shows it in an `img`.

    Raises:
        InputError: it is too large, or is no picture of this kind.
    """
    media_type, beginnings = _KINDS[PurePath(name).suffix]
    if len(content) > MAX_BYTES:
        raise InputError(
            f"the logo {name} has {len(content):,} bytes, but every page carries it, so {MAX_BYTES:,} are the most",
            hint="make the picture smaller, or take an SVG",
        )
    if not content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(beginnings):
        raise InputError(
            f"the logo {name} does not begin as a file of the type {media_type} does",
            hint="give it the name of its kind: .svg, .png, .jpg",
        )
    return f"data:{media_type};base64,{b64encode(content).decode()}"
