"""An author's own texts: Markdown on the main page, with numbers from the tables."""

import re

import pytest
from pydantic import ValidationError

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import InputError
from nephoscope.model.publication import AuthorText, Publication, reference
from nephoscope.report.author import quoted, require_complete, texts
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Book, Page
from tests.unit.report.numbers_example import every_chapter


def written(markdown: str, **more: object) -> AnalysedStudy:
    text = AuthorText.model_validate({"after": "verdict", "markdown": markdown, **more})
    return every_chapter().model_copy(update={"publication": Publication(text=[text])})


def authored(markdown: str, **more: object) -> str:
    page = render_pages(written(markdown, **more)).html[Page.MAIN]
    (found,) = re.findall(r'<div class="author">(.*?)</div>', page, re.DOTALL)
    return str(found)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("tpcc of n2-small", "9,754/min"),
        ("tpcc of  n2-small\nper CPU", "1,219/min per CPU"),
        ("tpcc new_order.service_p99 of m6i-small", "ms"),
        ("tpcc of n2-small against m6i-small", "1.080"),
        ("tpcc of m6i-small against n2-small", "0.926"),
        ("price of n2-small", "$412.88 a month"),
        ("best of tpcc", "n2-small"),
        ("price of n2-small at reserved-3y", "a month"),
    ],
)
def test_a_number_is_the_one_of_the_tables(asked: str, said: str) -> None:
    assert said in quoted(Lookup(every_chapter()), reference(asked)).text


def test_numbers_stand_in_the_text_with_their_evidence() -> None:
    html = authored("# Why\n\nThe *larger* one does {{ tpcc of n2-small }} & costs {{price of n2-small}}.")
    assert "<h3>Why</h3>" in html
    assert re.search(
        r'does <a class="number" href="evidence.html#[^"]+">9,754/min</a> &amp; costs \$412.88 a month', html
    )


def test_an_author_writes_no_html_scripts_or_pictures() -> None:
    html = authored("<script>alert(1)</script> [x](javascript:alert(1)) ![p](https://e.org/p.png) <b>{{")
    assert "<script" not in html
    assert 'href="java' not in html
    assert "<img" not in html
    assert "&lt;b&gt;{{" in html


@pytest.mark.parametrize("place", [{"before": "verdict"}, {"after": "oltp"}, {"before": "doubts"}])
def test_a_text_stands_where_it_should(place: dict[str, str]) -> None:
    text = AuthorText.model_validate({**place, "markdown": "Here."})
    page = render_pages(every_chapter().model_copy(update={"publication": Publication(text=[text])})).html[Page.MAIN]
    anchors = {"verdict": 'id="verdict"', "oltp": 'id="chapter-oltp"', "doubts": 'id="doubts"'}
    (part,) = place.values()
    assert (page.index("<p>Here.</p>") < page.index(anchors[part])) == ("before" in place)


@pytest.mark.parametrize(
    ("markdown", "said"),
    [
        ("{{ tpcc of nobody }}", "“tpcc of nobody” is not there: nobody has no valid value"),
        ("{{ nothing of n2-small }}", "no trial of nothing has ended"),
        ("{{ tpcc nothing of n2-small }}", "tpcc has no metric nothing"),
        ("{{ price of n2-small at spot }}", "n2-small has no price at spot"),
        ("{{ tpcc of n2-small against n2-small }}", "are not compared"),
        ("{{ best of tpcc new_order.service_p99 }}", "no question asks for the best"),
        ("{{ claim nobody-made }}", "claims.toml has no claim nobody-made"),
        ("{{ order of tpcc by tpcc nothing }}", "tpcc has no metric nothing"),
        ("{{ order of tpcc by tpcc new_order.service_p99 }}", "too few configurations in common"),
    ],
)
def test_what_is_not_there_fails_the_report_and_is_marked_while_a_study_runs(markdown: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        require_complete(written(markdown))
    (html,) = texts(Book(Lookup(written(markdown))).turned_to(Page.MAIN)).values()
    assert ">not measured</em>" in html


def test_a_claim_that_does_not_hold_fails_the_report() -> None:
    with pytest.raises(InputError, match=r"claims.toml has no claim 'x'"):
        require_complete(written("As claimed.", claims=["x"]))
    require_complete(written("{{ tpcc of n2-small }}"))


@pytest.mark.parametrize("markdown", ["{{ tpcc }}", "{{ }}", "{{ of }}", "{{ tpcc of A }}"])
def test_a_reference_of_no_known_form_is_refused_in_the_study(markdown: str) -> None:
    with pytest.raises(ValidationError, match="is no reference to a number: write 'BENCHMARK"):
        AuthorText(after="verdict", markdown=markdown)
