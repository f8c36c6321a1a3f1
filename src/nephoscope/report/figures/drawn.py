"""Charts drawn beforehand as SVG: what a page shows until its scripts draw them, and what paper shows."""

import vl_convert

from nephoscope.report.figures import theme
from nephoscope.report.figures.library import VEGA_LITE_VERSION
from nephoscope.report.figures.spec import Spec

WIDTH_PX = 620
"""Of a whole figure; two panels side by side share it. A third of it has no room for names and bars."""


def svg_of(spec: Spec, columns: int = 1) -> str:
    """The chart as SVG, in the colours of the style sheet's custom properties.

    Args:
        spec: as wide as its container, unless it is faceted.
        columns: panels of its figure that stand side by side.
    """
    sized = spec if "facet" in spec else {**spec, "width": WIDTH_PX // min(columns, 2)}
    return vl_convert.vegalite_to_svg(sized, vl_version=VEGA_LITE_VERSION, config=theme.config())
