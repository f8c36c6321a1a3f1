"""Charts that Vega draws, each once in a process: they take most of the time of a page, and tests share studies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_DRAWN: dict[str, str] = {}
"""What Vega was given, as JSON -> SVG."""


def drawn_anew() -> None:
    """From here on everything is drawn again."""
    _DRAWN.clear()


@contextmanager
def drawn_once() -> Iterator[None]:
    """Equal charts are one drawing."""
    import vl_convert

    draw = vl_convert.vegalite_to_svg

    def kept(spec: Any, **how: Any) -> str:
        key = json.dumps([spec, how], sort_keys=True)
        if key not in _DRAWN:
            _DRAWN[key] = draw(spec, **how)
        return _DRAWN[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", kept)
        yield
