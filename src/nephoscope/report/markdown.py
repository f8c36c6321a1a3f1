"""Foreign text in Markdown: GitHub and GitLab show it as the text that it is."""

import re

from nephoscope.model.text import line

MOST = 500
"""Characters of a cell or of a point of a list."""
_SPECIAL = re.compile(
    r"(?P<html>[&<>$])|(?P<mark>[\\`*_\[\]|~])|(?P<link>@|[#!%^](?=\w)|:(?=//)|www(?=\.)|GH(?=-\d))", re.IGNORECASE
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
_NO_LINK = "&#8203;"
"""A space of no width: nothing else keeps `@name`, `#1` and a bare address from becoming a link."""
_BEGINS_BLOCK = re.compile(r"^(?P<before>\d*)(?=[#+=:.)-])")


def plain(text: str) -> str:
    """One line of text for a cell or a heading: no emphasis, code, HTML, formula, link, mention or image."""
    return _SPECIAL.sub(_as_text, line(text, MOST).strip())


def point(text: str) -> str:
    """The same for a point of a list, where it begins no heading, list or rule either."""
    return _BEGINS_BLOCK.sub(r"\g<before>\\", plain(text))


def _as_text(found: re.Match[str]) -> str:
    if found["html"]:
        return _ENTITIES[found[0]]
    return f"\\{found[0]}" if found["mark"] else f"{found[0]}{_NO_LINK}"
