"""The whole page: complete, deterministic, offline, escaped, in any size."""

import csv
import io
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import altair as alt
import pytest
from pydantic import ValidationError

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.numbers import MISSING
from nephoscope.model.rows import ConfigurationRow, ErrorRow, MachineRow, RawFileRow, Statistic, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures.spec import as_script, unpacked
from nephoscope.report.files import bundle
from nephoscope.report.page import bound, render_pages
from nephoscope.report.parts import Book, Page
from nephoscope.report.sections import tables
from tests.support.drawings import drawn_anew
from tests.support.reader import with_rows
from tests.support.report_folder import evidence_page
from tests.support.some_tables import with_tables
from tests.unit.report import report_example as example

MAX_BYTES = 3_000_000


@pytest.fixture(scope="module")
def laptop() -> AnalysedStudy:
    return example.laptop()


@pytest.fixture(scope="module")
def laptop_html() -> str:
    return with_rows(rendered("laptop")[Page.EVIDENCE])


class Outline(HTMLParser):
    """Ids, links, loads, headings and scripts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.levels: list[int] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found.get("href", ""))
        elif "href" in found or "src" in found:
            self.loads.append(found.get("href") or found["src"])
        if re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))


def outline(html: str) -> Outline:
    found = Outline()
    found.feed(html)
    return found


STUDIES: dict[str, Callable[[], AnalysedStudy]] = {
    "laptop": example.laptop,
    "one configuration, fio not installed": example.not_run,
    "every trial failed": example.all_failed,
    "nothing at all": example.empty,
    "twenty configurations": lambda: example.many(20),
}


@cache
def rendered(name: str) -> Mapping[Page, str]:
    return render_pages(STUDIES[name]()).html


@pytest.fixture(scope="module", params=STUDIES)
def pages(request: pytest.FixtureRequest) -> dict[Page, str]:
    return {page: with_rows(html) for page, html in rendered(request.param).items()}


@pytest.fixture(params=list(Page))
def html(request: pytest.FixtureRequest, pages: dict[Page, str]) -> str:
    return pages[request.param]


def test_no_line_parts_a_number_from_its_unit() -> None:
    said = bound("at most 5 % of 10 Gbit/s for 3 min, in 12 trials & 5 sets").replace("\N{NO-BREAK SPACE}", "_")
    assert said == "at most 5_% of 10_Gbit/s for 3_min, in 12 trials &amp; 5 sets"


def test_ids_are_unique_and_links_resolve_on_both_pages(pages: dict[Page, str]) -> None:
    found = {page: outline(html) for page, html in pages.items()}
    for page, one in found.items():
        assert len(one.ids) == len(set(one.ids))
        for link in one.links:
            file, _, anchor = link.partition("#")
            if anchor:
                assert anchor in found[Page(file or page)].ids, link


def test_loads_nothing(html: str) -> None:
    found = outline(html)
    assert found.loads == []
    assert not [link for link in found.links if link.startswith(("http:", "https:", "//"))]
    assert "default-src &#39;none&#39;" in html
    assert html.count("vegaEmbed=") == 1


def test_headings_descend_one_step_at_a_time(html: str) -> None:
    levels = outline(html).levels
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_equal_input_gives_equal_bytes(laptop_html: str) -> None:
    drawn_anew()
    assert with_rows(evidence_page(example.laptop())) == laptop_html


def test_size_is_bounded(laptop_html: str) -> None:
    assert len(laptop_html.encode()) < MAX_BYTES


@pytest.mark.slow
def test_a_hundred_configurations_by_all_benchmarks_of_an_edition_stay_under_five_megabytes() -> None:
    study = example.full_edition(100)
    html = evidence_page(study)
    assert len(html.encode()) < 5_000_000
    whole = outline(with_rows(html))
    assert {link[1:] for link in whole.links if link.startswith("#")} <= set(whole.ids), "evidence is there, if packed"
    assert sum(link.startswith("#evidence-") for link in whole.links) > 3000
    assert html.count('class="drawing"') > 100


def test_long_rows_are_packed_and_come_back() -> None:
    study, packed = example.many(20), rendered("twenty configurations")[Page.EVIDENCE]
    whole = with_rows(packed)
    assert packed.count("data-rows=") > 3
    assert "data-rows=" not in whole
    assert len(packed) < len(whole) - 500_000
    assert {f"trial-{row.trial}" for row in study[TrialRow]} <= set(outline(whole).ids)


def test_hostile_text_is_only_ever_text(laptop_html: str) -> None:
    assert "alert(&#39;fio&#39;)" in laptop_html
    assert "<script>alert" not in laptop_html
    assert "img" not in outline(laptop_html).tags
    scripts = re.findall(r"<script[^>]*>", laptop_html)
    assert len([script for script in scripts if script == "<script>"]) == 2


def test_hostile_names_are_refused_and_hostile_texts_do_not_break_out() -> None:
    study = example.laptop()
    hostile = "\"'><script>alert(1)</script>"
    text = study.model_dump_json(by_alias=True, exclude={"tables"})
    with pytest.raises(ValidationError):
        AnalysedStudy.model_validate_json(text.replace("local-1cpu", hostile.replace('"', '\\"')))
    texts = {"title": hostile, "description": hostile, "study_toml": hostile}
    insights = [row.model_copy(update={"text": hostile}) for row in study.insights]
    machines = [row.model_copy(update={"cpu_model": hostile}) for row in study[MachineRow]]
    shown = with_tables(study.model_copy(update={**texts, "insights": insights}), {MachineRow: machines})
    for html in render_pages(shown).html.values():
        assert "<script>alert" not in html
        assert len(outline(html).ids) == len(set(outline(html).ids))


def test_every_trial_has_a_row_and_a_record_although_only_the_report_is_published(laptop: AnalysedStudy) -> None:
    files = [RawFileRow(trial=row.trial, file="out.json", size_bytes=7, sha256="ab" * 32) for row in laptop[TrialRow]]
    html = with_rows(evidence_page(with_tables(laptop, {RawFileRow: files})))
    found = outline(html)
    assert {f"trial-{row.trial}" for row in laptop[TrialRow]} <= set(found.ids)
    assert not [link for link in found.links if link.startswith("..")]
    (script,) = re.findall(r'id="trial-records">([^<]*)</script>', html)
    records = unpacked(script)
    valid, rejected = (next(row for row in laptop[TrialRow] if row.counts is counts) for counts in (True, False))
    assert records["trials"][valid.trial]["files"] == [["out.json", 7, "ab" * 32]]
    place, text = records["trials"][valid.trial]["numbers"][0]
    assert records["metrics"][place]
    assert re.match(r"[\d,.]+", text)
    assert records["machines"][records["trials"][valid.trial]["machines"][0]][0][0] == "Machine"
    assert records["trials"][rejected.trial]["verdict"] == rejected.reasons


@pytest.mark.parametrize("study", [example.laptop(), example.all_failed()])
def test_labels_are_columns_of_the_tables_and_of_the_bundle(study: AnalysedStudy) -> None:
    name = study[TrialRow][0].configuration
    keys = dict.fromkeys(ConfigurationRow.model_fields)
    fast = ConfigurationRow.model_validate(
        {**keys, "configuration": name, "provider": "local", "labels": {"tier": "fast"}}
    )
    labelled = with_tables(study, {ConfigurationRow: [fast]})
    with zipfile.ZipFile(io.BytesIO(bundle(labelled, {}))) as archive:
        header, *rows = csv.reader(archive.read(f"{study.study}/configurations.csv").decode().splitlines())
    assert [dict(zip(header, row, strict=True))["label_tier"] for row in rows] == ["fast"]
    book = Book(Lookup(labelled))
    for table in (*tables.leaderboards(book), *tables.trials(book)):
        titles = [column.title for column in table.columns]
        for row in table.rows:
            if row.group is None:
                assert len(row.cells) == len(titles)
                texts = [cell.text for cell in row.cells]
                label = texts[titles.index("Label: tier")]
                assert label == ("fast" if texts[titles.index("Configuration")] == name else MISSING), texts


def test_every_chart_has_words_and_a_table(laptop_html: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", laptop_html, re.DOTALL)
    assert len(figures) > 15
    for figure in figures:
        assert "<figcaption>" in figure
        assert 'role="img" aria-label="' in figure
    assert sum("<table>" not in figure for figure in figures) <= 1, "the comparison chart stands above its table"


def test_reasons_and_hints_are_shown() -> None:
    html = rendered("one configuration, fio not installed")[Page.EVIDENCE]
    assert "fio is not installed; hint: apt install fio" in html
    assert "It was not run" in html


def test_all_failed_says_so_first() -> None:
    html = rendered("every trial failed")[Page.EVIDENCE]
    _, _, answers = html.partition('id="answers"')
    assert "0 of 48 trials usable, 48 failed." in answers.partition("</section>")[0]


def test_a_coverage_of_too_few_replicates_is_marked(laptop_html: str) -> None:
    assert '<td class="n warn">87.5 %</td>' in laptop_html
    assert ">More replicates needed</th>" in laptop_html


def test_pairs_of_many_configurations_that_have_no_row_are_in_the_file() -> None:
    assert "more rows: comparisons.csv" in rendered("twenty configurations")[Page.EVIDENCE]


def test_times_of_different_clocks_never_share_a_figure(laptop: AnalysedStudy) -> None:
    tpcc = next(row for row in laptop.benchmarks if row.benchmark == "tpcc")
    other = [
        m.model_copy(update={"clock": "the queue alone"}) if m.name.startswith("payment") else m for m in tpcc.metrics
    ]
    rows = [row.model_copy(update={"metrics": other}) if row is tpcc else row for row in laptop.benchmarks]
    html = evidence_page(laptop.model_copy(update={"benchmarks": rows}))
    assert html.count("</span> Latency by operation in tpcc") == 2
    assert "Clock: the queue alone" in html


def test_notes_errors_and_round_trips_of_a_benchmark_are_printed(laptop: AnalysedStudy, laptop_html: str) -> None:
    note = "cr2022, with duration_s 60 instead of 1800: not comparable with published numbers."
    noted = [row.model_copy(update={"notes": [note] * (row.benchmark == "tpcc")}) for row in laptop.benchmarks]
    first = next(row for row in laptop[Statistic] if row.benchmark == "tpcc")
    trips = first.model_copy(
        update={"metric": "round_trips_per_transaction", "unit": "1", "level": None, "median": 8.394}
    )
    error = ErrorRow(
        configuration=first.configuration,
        benchmark="tpcc",
        subject=Subject.DATABASE,
        operation="new_order",
        sqlstate="40001",
        kind="retried",
        count=1234,
        trials=first.trials,
    )
    html = evidence_page(
        with_tables(
            laptop.model_copy(update={"benchmarks": noted}), {Statistic: [*laptop[Statistic], trips], ErrorRow: [error]}
        )
    )
    assert html.count(note) == 1
    assert "8.39 round trips per transaction" in html
    (table,) = re.findall(r"<table>(?:(?!</table>).)*SQLSTATE(?:(?!</table>).)*</table>", html, re.DOTALL)
    for text in ("new_order", "40001", "serialization failure", "retried", "1,234"):
        assert text in table
    assert "SQLSTATE" not in laptop_html


def test_a_figure_holds_trials_of_one_benchmark(laptop: AnalysedStudy) -> None:
    """Profiles, waits, paces and editions are benchmarks of their own, so they share no chart."""
    of = {row.trial: row.benchmark for row in laptop[TrialRow]}
    scripts = re.findall(
        r"<script type=\"[^\"]+\" data-for=[^>]*>(.*?)</script>", rendered("laptop")[Page.EVIDENCE], re.DOTALL
    )
    texts = [as_script(unpacked(script)) for script in scripts]
    shown = [{of[found] for found in re.findall(r'"trial":"([^"]+)"', text)} for text in texts]
    assert sum(len(benchmarks) == 1 for benchmarks in shown) > 10
    assert max(map(len, shown)) == 1


def test_every_chart_is_what_the_schema_of_vega_lite_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report itself does not ask the schema, as that takes most of the time of a large one."""
    plain, checked = alt.Chart.to_dict, []

    def validated(chart: Any, **options: Any) -> Any:
        checked.append(chart)
        return plain(chart, **{**options, "validate": True})

    monkeypatch.setattr(alt.Chart, "to_dict", validated)
    evidence_page(example.laptop())
    assert len(checked) > 5
