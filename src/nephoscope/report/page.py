"""`render_pages`: an analysed study as two self-contained HTML files. Equal input gives equal bytes."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from nephoscope.analysis.lookup import Lookup
from nephoscope.analysis.usable import DIR
from nephoscope.insights.standing import why_not
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.missing import MissingPart, contained
from nephoscope.model.rows import TrialRow
from nephoscope.model.text import line, visible
from nephoscope.model.words import SIMULATED
from nephoscope.report.author import texts
from nephoscope.report.figure_files import PREVIEW, svg_of
from nephoscope.report.figures import theme
from nephoscope.report.figures.library import chart_library
from nephoscope.report.figures.spec import as_script, packed, unchecked, unpacked
from nephoscope.report.main.chapters import chapters
from nephoscope.report.main.doubts import doubts
from nephoscope.report.main.measured import compared, design, measured, part_words
from nephoscope.report.main.money import price_and_performance
from nephoscope.report.main.progress import Running, progress
from nephoscope.report.main.verdict import repair, verdict
from nephoscope.report.parts import Book, Figure, Link, Page, Panel
from nephoscope.report.sections import tables
from nephoscope.report.sections.benchmarks import BenchmarkSection, benchmark_section, compared_headlines, order_figures
from nephoscope.report.sections.costs import cost_figures, tables_per_unit
from nephoscope.report.sections.explorer import explorer_data
from nephoscope.report.sections.machine_numbers import database_numbers, machine_numbers
from nephoscope.report.sections.machines import machines_table
from nephoscope.report.sections.opening import key_facts, methods, reproduce
from nephoscope.report.sections.trials import evidence_table, exclusions_table, outcomes, trial_records
from nephoscope.report.tables.html import folded_html, rows_html

TEMPLATES = Path(__file__).parent / "templates"
EXPLORER = ("model", "address", "numbers", "table", "pinned", "download", "controls")
"""Scripts of the explorer, in the order in which they build on each other; one script element."""


MAX_SUMMARY = 200
"""Characters of the description in a preview."""
ABSENT = jinja2.ChainableUndefined(name="a section that raised")
"""In place of such a section: a template prints it as nothing, or asks whether it `is absent`."""
Section = Callable[[Book], Any]
Sections = dict[str, Section]


@dataclass(frozen=True)
class Pages:
    """Both pages, and what is missing on them."""

    html: Mapping[Page, str]
    missing: tuple[MissingPart, ...]
    """Insights, sections and figures that raised; the pages name them."""
    figures: tuple[Figure, ...]
    """Of both pages, by their numbers."""


def render_pages(
    study: AnalysedStudy,
    *,
    changes: Link | None = None,
    mark: str = "",
    running: Running | None = None,
    logo: str = "",
    folder: str = DIR,
) -> Pages:
    """Both pages of the report. The main page comes first, so that its figures have the first numbers.

    Args:
        study: what the report is about.
        changes: an earlier study, with the page that compares it with this one.
        mark: what every figure says before its subtitle; a rehearsal says by itself that it is simulated.
        running: of a study that runs: when this is written, and how much is left.
        logo: the `data:` address of the author's picture; empty: there is none.
        folder: the results folder as a command names it; 'DIR' where readers need not know.
    """
    with unchecked():
        book = Book(Lookup(study), mark=mark or (SIMULATED if study.plan.simulated else ""), folder=folder)
        book.missing.extend(study.missing)
        main = _main(book.turned_to(Page.MAIN))
        main |= {"changes": changes, "progress": progress(study, running), "logo": logo}
        evidence = _evidence(book)
        html = _printed(book, {Page.MAIN: main, Page.EVIDENCE: evidence})
        return Pages(html, tuple(book.missing), tuple(book.drawn))


def _main(book: Book) -> dict[str, Any]:
    opening = _made(book, OPENING)
    on_cards = opening["verdict"].drawn or ()
    return opening | _made(book, {"chapters": partial(chapters, on_cards=on_cards)}) | _made(book, CLOSING)


def _evidence(book: Book) -> dict[str, Any]:
    facts = {
        "drifted": any(insight.rule == "order" for insight in book.lookup.study.insights),
        "draws_values": book.draws_values,
    }
    return _made(book, EVIDENCE) | facts


def _benchmarks(book: Book) -> list[BenchmarkSection]:
    rows = book.lookup.study.benchmarks
    made = [book.section(f"benchmark {row.benchmark}", benchmark_section, row) for row in rows]
    return [section for section in made if section is not None]


def _made(book: Book, sections: Sections) -> dict[str, Any]:
    """The values that templates print; ABSENT in place of one that raised."""
    made: dict[str, Any] = {}
    for name, make in sections.items():
        made[name] = ABSENT
        with contained(book.missing, "section", name):
            made[name] = make(book)
    return made


def _printed(book: Book, pages: Mapping[Page, Mapping[str, Any]]) -> dict[Page, str]:
    """The pages; printed again if a part could not be printed, as all that is missing stands at the top of both."""
    html: dict[Page, str] = {}
    count = -1
    while count < len(book.missing):
        count = len(book.missing)
        html = {page: _rendered(book, page, sections) for page, sections in pages.items()}
    return html


def _rendered(book: Book, page: Page, sections: Mapping[str, Any]) -> str:
    study = book.lookup.study
    paragraphs = [part.strip() for part in study.description.split("\n\n") if part.strip()]
    return visible(
        environment()
        .get_template(f"{'main' if page is Page.MAIN else 'evidence'}.html.j2")
        .render(
            study=study,
            title=study.title or study.study,
            paragraphs=paragraphs,
            summary=line(next(iter(paragraphs), ""), most=MAX_SUMMARY),
            counted=outcomes(study[TrialRow]),
            page=page,
            missing=book.missing,
            preview=PREVIEW if book.drawn else None,
            design=design(book.lookup),
            config=Markup(as_script(theme.config())),  # noqa: S704  # as_script leaves no character that ends a script
            **sections,
            **_assets(),
        )
    )


def _explorer(book: Book) -> Markup | None:
    data = explorer_data(book)
    return None if data is None else Markup(packed(data))  # noqa: S704  # see above; base64 where it is long


OPENING: Sections = {
    "part": lambda book: part_words(book.lookup.study.part),
    "compared": lambda book: compared(book.lookup),
    "measured": lambda book: measured(book.lookup),
    "repair": lambda book: repair(book.lookup, book.folder),
    "verdict": verdict,
    "money": lambda book: book.figures(price_and_performance),
    "explorer": _explorer,
}
"""The main page, before its chapters."""
CLOSING: Sections = {"texts": texts, "doubts": doubts, "not_placed": lambda book: why_not(book.lookup.study)}
"""The main page, after its chapters."""
EVIDENCE: Sections = {
    "answers": lambda book: tables.insights(book, "answer"),
    "warnings": tables.warnings,
    "notes": lambda book: tables.insights(book, "note"),
    "leaderboard": tables.leaderboards,
    "families": tables.families,
    "claims": tables.claims,
    "costs": lambda book: [*tables.costs(book), *tables_per_unit(book)],
    "cost_figures": cost_figures,
    "numbers": machine_numbers,
    "databases": database_numbers,
    "benchmarks": _benchmarks,
    "questions": tables.questions,
    "comparison_figures": compared_headlines,
    "comparisons": tables.comparisons,
    "order": order_figures,
    "machines": machines_table,
    "exchanged": lambda book: tables.insights(book, "note", "exchanged"),
    "exclusions": exclusions_table,
    "judged": tables.judged,
    "methods": methods,
    # The table of evidence comes last, as every section before it may cite trials.
    "trials": tables.trials,
    "evidence": evidence_table,
    "records": trial_records,
    "key_facts": key_facts,
    "reproduce": reproduce,
}
"""The page of evidence."""


_UNITS = r"%|[nµm]?s|min|h|[KMGT]i?B(?:/s)?|[kMGT]?B(?:/s)?|[kMG]?bit/s|IO/s|[kMG]?Hz|vCPUs?|months?|days?"
_SPACE = re.compile(rf"(?<=\d) (?=(?:{_UNITS})(?![\w/]))")


def bound(html: str) -> Markup:
    """The same with numbers that no line parts from their units: '5 %', '10 Gbit/s'."""
    return Markup(_SPACE.sub("\N{NO-BREAK SPACE}", escape(html)))  # noqa: S704  # escaped, or made by a template


@cache
def environment() -> jinja2.Environment:
    """The page templates; everything that they print is escaped."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["bound"] = bound
    templates.globals["rows_html"] = rows_html
    templates.globals["folded_html"] = folded_html
    templates.globals["drawn"] = _drawn
    templates.globals["printed"] = _section_printed
    templates.tests["absent"] = lambda value: value is ABSENT
    return templates


@jinja2.pass_context
def _section_printed(context: jinja2.runtime.Context, name: str) -> Markup:
    """A template in the place of this call; a line in its stead if it cannot be printed."""
    missing: list[MissingPart] = []
    with contained(missing, "section", f"printing {name}"):
        return Markup(environment().get_template(f"{name}.html.j2").render(context.get_all()))  # noqa: S704  # ours
    context["missing"].extend(part for part in missing if part not in context["missing"])
    return Markup(environment().get_template("absent.html.j2").render())  # noqa: S704  # has no values


@jinja2.pass_context
def _drawn(context: jinja2.runtime.Context, panel: Panel, columns: int) -> Markup:
    """A chart as SVG, so that it is there before the scripts have run; nothing if it cannot be drawn."""
    missing: list[MissingPart] = []
    with contained(missing, "figure", f"picture of {panel.title or panel.anchor}"):
        return Markup(svg_of(unpacked(panel.script), columns))  # noqa: S704  # SVG by Vega, which escapes text
    context["missing"].extend(part for part in missing if part not in context["missing"])
    return Markup("")


@cache
def _assets() -> dict[str, Markup | str]:
    """Style, scripts and the content security policy that allows only these scripts."""
    libraries = chart_library()
    early = (TEMPLATES / "theme.js").read_text(encoding="utf-8")
    behaviour = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    exploring = "".join((TEMPLATES / f"explorer-{name}.js").read_text(encoding="utf-8") for name in EXPLORER)
    scripts = {"libraries": libraries, "early": early, "behaviour": behaviour, "exploring": exploring}
    # The library is text until a chart needs it: a browser takes long to run it.
    sources = " ".join(f"'sha256-{_digest(text)}'" for text in scripts.values())
    policy = f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data:"
    policy += "; base-uri 'none'; form-action 'none'"
    trusted = {name: Markup(text) for name, text in scripts.items()}  # noqa: S704  # our own files
    return {**trusted, "style": style(), "policy": policy}


@cache
def style() -> Markup:
    """The style sheet of all pages."""
    return Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))  # noqa: S704  # our own file


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
