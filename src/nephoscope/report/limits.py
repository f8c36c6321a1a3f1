"""How much a page shows. Further rows are in the files beside the page, and the page says where."""

FIRST_ROWS = 10
"""Visible rows of a long table before a reader unfolds it."""
FOLDED_FROM = 16
"""A table or group with fewer rows is shown in full: folding it would not be worth a click."""
MAX_TRIALS = 1_000
"""Listed trials: excluded ones first, then in plan order. The others link to their folders."""
MAX_SETS = 1_000
"""Sets of trials behind numbers, in the order in which the page uses them; later numbers have no link."""
MAX_LINKS = 100
"""Trials of one set or with one reason that get a link each."""
MAX_DRAWN_VALUES = 3_000
"""Values of headline metrics; with more, charts show medians, intervals and extremes instead of every trial."""
MAX_METRIC_ROWS = 600
"""Rows of one benchmark's table of all metrics."""
MAX_METRIC_ROWS_IN_ALL = 3_000
"""Rows of these tables of all benchmarks together."""
MAX_FORMULAS = 200
"""Monthly costs whose formula the page shows."""
