"""The JavaScript that draws charts in a browser: Vega and Vega-Lite as one script, from vl-convert.

Building it takes seconds of CPU, so the wheel carries it built; a source tree builds it when a report needs it.
`hatch_build.py` runs this file by its path, so it imports nothing of nephoscope.
"""

from importlib import metadata
from pathlib import Path

import vl_convert

VEGA_LITE_VERSION = "6.4"
BUILT = f"built/vega-lite-{VEGA_LITE_VERSION}-by-vl-convert-{metadata.version('vl-convert-python')}.js"
"""Where the wheel keeps it, from this folder. Another vl-convert has other versions of the libraries."""


def build() -> str:
    """The script, which sets `window.vegaEmbed`; equal versions give equal text."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE_VERSION)
    return f"(()=>{{{bundle}}})();"


def chart_library() -> str:
    """The script as the wheel carries it, or built now."""
    built = Path(__file__).parent / BUILT
    return built.read_text(encoding="utf-8") if built.is_file() else build()
