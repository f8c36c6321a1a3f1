"""A number of a study is written in one form, whoever prints it: pages, charts, sentences."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.rows import Comparison, Statistic
from nephoscope.report.page import render_pages
from tests.support.reader import Reader
from tests.unit.report import priced_example, report_example

STUDIES: dict[str, Callable[[], AnalysedStudy]] = {"clouds": priced_example.priced, "laptop": report_example.laptop}
NUMBER = re.compile(r"(?<![\w.,$-])\$?(\d[\d,]*(?:\.\d+)?)(?=[×%/) ]|$)", re.MULTILINE)
DIVISORS = {"s": (1.0, 1e-3, 1e-6, 1e-9), "share": (0.01,), "bit/s": (1e6, 1e9), "B/s": (1024.0**2, 1024.0**3)}
"""By unit; those of others are written as they are."""
MIN_DIGITS = 4
CLOSE = 2e-3
"""Stored numbers that are nearer than this share of them cannot be told apart by what is printed."""


def written(study: AnalysedStudy) -> Iterator[str]:
    """The text of both pages, and every sentence of the terminal."""
    yield from (Reader(html).text for html in render_pages(study).html.values())
    yield from (str(insight.text) for insight in study.insights)


def stored(study: AnalysedStudy) -> dict[float, str]:
    """Levels, medians, ratios and what a month costs, as far as no other number is close; with their units."""
    every = {value: row.unit for row in study[Statistic] for value in (row.compared.value, row.median)}
    every |= {row.ratio: "" for row in study[Comparison]} | {row.month_usd: "" for row in study[PricePerformance]}
    ordered = sorted(value for value in every if value > 0)
    gaps = zip(ordered, [0.0, *ordered], [*ordered[1:], float("inf")], strict=False)
    return {
        value: every[value]
        for value, below, above in gaps
        if above - value > CLOSE * value and value - below > CLOSE * value
    }


def forms_of(study: AnalysedStudy) -> dict[float, set[str]]:
    """Stored number -> its forms, as far as they have enough digits to tell it."""
    texts = {text.replace(",", ""): text for page in written(study) for text in NUMBER.findall(page)}
    exact = {bare: text for bare, text in texts.items() if len(bare.replace(".", "").lstrip("0")) >= MIN_DIGITS}
    forms: dict[float, set[str]] = defaultdict(set)
    for value, unit in stored(study).items():
        for bare, text in exact.items():
            room = 0.501 * 10.0 ** -len(bare.partition(".")[2])
            if any(abs(value / divisor - float(bare)) <= room for divisor in DIVISORS.get(unit, (1.0,))):
                forms[value].add(text)
    return forms


@pytest.mark.parametrize("name", STUDIES)
def test_each_stored_number_has_one_form(name: str) -> None:
    forms = forms_of(STUDIES[name]())
    assert forms, "nothing that is stored is printed"
    assert {value: many for value, many in forms.items() if len(many) > 1} == {}
