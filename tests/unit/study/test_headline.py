"""`[report]`: its headline and its author's texts name what the study has."""

import pytest

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import StudyError
from nephoscope.study.load import load_study

STUDY = """
name = "headlines"
[report]
headline = {{ {headline} }}
[[configurations]]
name = "one"
database_machine = {{ cpus = 1 }}
[[configurations]]
name = "all"
[[benchmarks]]
uses = "tpcc"
name = "orders"
[[benchmarks]]
uses = "fio"
parameters = {{ jobs = [{{ name = "reads", mode = "randread", block_size_kib = 4 }}] }}
"""


def _load(headline: str) -> None:
    load_study(STUDY.format(headline=headline), "study.toml", BENCHMARKS)


@pytest.mark.parametrize(
    "headline",
    [
        'benchmark = "orders"',
        'benchmark = "orders", view = "per CPU"',
        'benchmark = "orders", metric = "new_orders_per_minute", scope = "overall"',
    ],
)
def test_a_question_that_the_study_asks_is_taken(headline: str) -> None:
    _load(headline)


@pytest.mark.parametrize(
    ("headline", "problem"),
    [
        (
            'benchmark = "order"',
            'report.headline.benchmark: the study has no benchmark "order"; there are: orders, fio',
        ),
        ('benchmark = "tpcc"', "there are: orders, fio"),
        (
            'benchmark = "orders", metric = "new_orders"',
            'no metric "new_orders"; did you mean "new_orders_per_minute"?',
        ),
        ('benchmark = "orders", metric = "transactions_per_s"', "is no metric that machines are ranked by"),
        ('benchmark = "orders", scope = "cloud: aws"', 'no scope "cloud: aws"; there are: overall'),
        ('benchmark = "orders", view = "per dollar"', "report.headline.view"),
        ("metric = 1", "report.headline"),
    ],
)
def test_what_the_study_does_not_have_is_said_with_what_it_has(headline: str, problem: str) -> None:
    with pytest.raises(StudyError) as caught:
        _load(headline)
    assert problem in str(caught.value)


def test_a_rate_with_wait_times_means_nothing_per_cpu() -> None:
    waits = STUDY.replace('name = "orders"', 'name = "orders"\nparameters = {{ wait = "spec", ramp_s = 60 }}')
    with pytest.raises(StudyError, match="tpmc means nothing per CPU"):
        load_study(waits.format(headline='benchmark = "orders", view = "per CPU"'), "study.toml", BENCHMARKS)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("order of one", '“order of one”: the study has no benchmark "order"'),
        ("orders of al", '“orders of al”: the study has no configuration "al"; there are: one, all'),
        ("orders", "“orders” is no reference to a number"),
    ],
)
def test_a_text_that_names_what_the_study_does_not_have_is_told(asked: str, said: str) -> None:
    text = f'\n[[report.text]]\nafter = "verdict"\nmarkdown = "See {{{{ {asked} }}}}."\n'
    with pytest.raises(StudyError) as caught:
        load_study(STUDY.format(headline='benchmark = "orders"') + text, "study.toml", BENCHMARKS)
    assert said in str(caught.value)
