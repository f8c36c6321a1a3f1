"""How much a page holds. Beyond it rows stand in the files beside the page, and the page says where."""

FIRST_ROWS = 10
"""What a long table shows before a reader asks for all of it."""
FOLDED_FROM = 16
"""A table, or a group of one, with fewer rows is shown whole: a fold must be worth its click."""
MAX_TRIALS = 1_000
"""Rows of trials: those that do not count first, then by the plan. The others are linked to their folders."""
MAX_SETS = 1_000
"""Sets of trials behind numbers, in the order in which the page needs them; later numbers lead nowhere."""
MAX_LINKS = 100
"""Trials of one set, or of one reason, that are linked one by one."""
MAX_DRAWN_VALUES = 3_000
"""Of headline metrics: with more, charts show medians, intervals and extremes, and no sign for every trial."""
MAX_METRIC_ROWS = 600
"""Of one benchmark's table of all metrics."""
MAX_METRIC_ROWS_IN_ALL = 3_000
"""Of all benchmarks' tables together."""
MAX_FORMULAS = 200
"""Months that are spelled out."""
