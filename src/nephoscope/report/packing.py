"""Packs long parts of a page to a tenth of their size: gzip in base64, which `report.js` unpacks offline."""

import base64
import gzip

from nephoscope.model.text import visible

MAX_PLAIN = 4096
"""Parts of up to this many characters are not packed."""
LEVEL = 6


def pack(text: str) -> str:
    """ASCII text without HTML special characters, of text in which all can be seen; equal texts give equal bytes."""
    return base64.b64encode(gzip.compress(visible(text).encode(), LEVEL, mtime=0)).decode()


def unpack(text: str) -> str:
    """The text that was packed."""
    return gzip.decompress(base64.b64decode(text)).decode()
