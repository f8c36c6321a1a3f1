"""Charts drawn beforehand as SVG: what a page shows until its scripts draw them, and what paper shows."""

import vl_convert

from nephoscope.report.figures import theme
from nephoscope.report.figures.library import VEGA_LITE_VERSION
from nephoscope.report.figures.spec import Spec

WIDTHS_PX = {1: 620, 2: 460, 3: 310}
"""Of a chart, by how many share the width of a page of 1,280 pixels: letters keep their size."""


def svg_of(spec: Spec, columns: int = 1) -> str:
    """The chart as SVG, in the colours of the style sheet's custom properties.

    Args:
        spec: as wide as its container, unless it is faceted.
        columns: charts that stand side by side.
    """
    sized = spec if "facet" in spec else {**spec, "width": WIDTHS_PX[min(columns, max(WIDTHS_PX))]}
    return vl_convert.vegalite_to_svg(sized, vl_version=VEGA_LITE_VERSION, config=theme.config())
