"""Long parts of a page, packed to a tenth of their size: gzip in base64, which `report.js` unpacks offline."""

import base64
import gzip

MAX_PLAIN = 4096
"""Characters up to which a part stands in the page as it is."""
LEVEL = 6


def pack(text: str) -> str:
    """ASCII without a character that means anything in HTML; equal texts, equal bytes."""
    return base64.b64encode(gzip.compress(text.encode(), LEVEL, mtime=0)).decode()


def unpack(text: str) -> str:
    """The text of `pack`."""
    return gzip.decompress(base64.b64decode(text)).decode()
