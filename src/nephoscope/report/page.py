"""`render_pages`: an analysed study as two self-contained HTML files. Equal input gives equal bytes."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.text import visible
from nephoscope.model.words import SIMULATED
from nephoscope.report.figures import theme
from nephoscope.report.figures.drawn import svg_of
from nephoscope.report.figures.library import chart_library
from nephoscope.report.figures.spec import as_script, packed, unchecked, unpacked
from nephoscope.report.lookup import Lookup
from nephoscope.report.main.chapters import chapters
from nephoscope.report.main.doubts import doubts, plan_notes
from nephoscope.report.main.measured import measured
from nephoscope.report.main.money import price_and_performance
from nephoscope.report.main.names import compared, design
from nephoscope.report.main.part import part_words
from nephoscope.report.main.repair import repair
from nephoscope.report.main.standing import why_not
from nephoscope.report.main.verdict import verdict
from nephoscope.report.parts import Book, Link, Page
from nephoscope.report.sections.benchmarks import benchmark_section, order_figures
from nephoscope.report.sections.claims import claims_table
from nephoscope.report.sections.comparisons import comparison_section
from nephoscope.report.sections.costs import cost_section
from nephoscope.report.sections.database_numbers import database_numbers
from nephoscope.report.sections.explorer import explorer_data
from nephoscope.report.sections.families import families_table, gate_table
from nephoscope.report.sections.glossary import TERMS
from nephoscope.report.sections.looks import looks_table
from nephoscope.report.sections.machine_numbers import machine_numbers
from nephoscope.report.sections.machines import machines_table
from nephoscope.report.sections.methods import methods_section
from nephoscope.report.sections.opening import grouped, key_facts, sentences
from nephoscope.report.sections.questions import best_table, contrasts_table
from nephoscope.report.sections.trial_records import trial_records
from nephoscope.report.sections.trials import checks_table, evidence_table, exclusions_table, outcomes, trials_table
from nephoscope.report.tables.html import folded_html, rows_html
from nephoscope.report.tables.statistics import leaderboard

TEMPLATES = Path(__file__).parent / "templates"
EXPLORER = ("model", "address", "numbers", "table", "pinned", "download", "controls")
"""Scripts of the explorer, in the order in which they build on each other; one script element."""


def render_pages(study: AnalysedStudy, *, changes: Link | None = None, mark: str = "") -> dict[Page, str]:
    """Both pages of the report. The main page comes first, so that its figures have the first numbers.

    Args:
        study: what the report is about.
        changes: an earlier study, with the page that compares it with this one.
        mark: what every figure says before its subtitle; a rehearsal says by itself that it is simulated.
    """
    with unchecked():
        book = Book(Lookup.of(study), mark=mark or (SIMULATED if study.plan.simulated else ""))
        main = _printed(book, Page.MAIN, {**_main(book.turned_to(Page.MAIN)), "changes": changes})
        return {Page.MAIN: main, Page.EVIDENCE: _printed(book, Page.EVIDENCE, _evidence(book))}


def _main(book: Book) -> dict[str, Any]:
    answers = verdict(book)
    return {
        "part": part_words(book.lookup.study.part),
        "compared": compared(book.lookup),
        "measured": measured(book.lookup),
        "repair": repair(book.lookup),
        "verdict": answers,
        "money": price_and_performance(book),
        "explorer": _explorer(book),
        "chapters": chapters(book, answers.drawn),
        "doubts": doubts(book),
        "not_placed": why_not(book.lookup.study),
    }


def _evidence(book: Book) -> dict[str, Any]:
    study = book.lookup.study
    sections = {
        "answers": grouped(sentences(book, "answer")),
        "sentences": {kind: sentences(book, kind) for kind in ("warning", "note")},
        "leaderboard": leaderboard(book),
        "claims": claims_table(book),
        "costs": cost_section(book),
        "families": families_table(book),
        "gate": gate_table(book),
        "numbers": machine_numbers(book),
        "databases": database_numbers(book),
        "benchmarks": [benchmark_section(book, row) for row in study.benchmarks],
        "best": best_table(book),
        "contrasts": contrasts_table(book),
        "comparisons": comparison_section(book),
        "order": order_figures(book),
        "drifted": any(insight.rule == "order" for insight in study.insights),
        "draws_values": book.lookup.draws_values,
        "machines": machines_table(book),
        "exchanged": [one for one in sentences(book, "note") if one.rule == "exchanged"],
        "looks": looks_table(book),
        "exclusions": exclusions_table(book),
        "checks": checks_table(book),
        "methods": methods_section(book),
    }
    # The table of evidence comes last, as every section before it may cite trials.
    trials = {"trials": trials_table(book), "evidence": evidence_table(book), "records": trial_records(book.lookup)}
    facts = {"key_facts": key_facts(book), "plan_notes": plan_notes(study.plan.warnings), "terms": TERMS}
    return {**sections, **facts, **trials}


def _printed(book: Book, page: Page, sections: Mapping[str, Any]) -> str:
    study = book.lookup.study
    return visible(
        environment()
        .get_template(f"{'main' if page is Page.MAIN else 'evidence'}.html.j2")
        .render(
            study=study,
            title=study.title or study.study,
            paragraphs=[part.strip() for part in study.description.split("\n\n") if part.strip()],
            counted=outcomes(study.trials),
            page=page,
            design=design(book.lookup),
            config=Markup(as_script(theme.config())),  # noqa: S704  # as_script leaves no character that ends a script
            **sections,
            **_assets(),
        )
    )


def _explorer(book: Book) -> Markup | None:
    data = explorer_data(book)
    return None if data is None else Markup(packed(data))  # noqa: S704  # see above; base64 where it is long


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
    templates.globals["rows_html"] = rows_html
    templates.globals["folded_html"] = folded_html
    templates.globals["drawn"] = _drawn
    return templates


def _drawn(script: str, columns: int) -> Markup:
    """A chart as SVG, so that it is there before the scripts have run."""
    return Markup(svg_of(unpacked(script), columns))  # noqa: S704  # SVG by Vega, which escapes text


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
