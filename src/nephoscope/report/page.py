"""`render_html`: an analysed study as one self-contained HTML file. Equal input gives equal bytes; no clock is read."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import vl_convert
from markupsafe import Markup

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import Insight
from nephoscope.report import format as people
from nephoscope.report.evidence import EvidenceSet
from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import as_script, unchecked
from nephoscope.report.lookup import Lookup, unique
from nephoscope.report.parts import Book
from nephoscope.report.sections.benchmarks import benchmark_section, order_figures
from nephoscope.report.sections.claims import claims_table
from nephoscope.report.sections.comparisons import comparison_section
from nephoscope.report.sections.costs import cost_section
from nephoscope.report.sections.explorer import explorer_data
from nephoscope.report.sections.families import families_table, gate_table
from nephoscope.report.sections.glossary import TERMS
from nephoscope.report.sections.looks import looks_table
from nephoscope.report.sections.machine_numbers import machine_numbers
from nephoscope.report.sections.machines import machines_table
from nephoscope.report.sections.methods import methods_section
from nephoscope.report.sections.questions import best_table, contrasts_table
from nephoscope.report.sections.trials import checks_table, counted, evidence_table, exclusions_table, trials_table
from nephoscope.report.tables.html import folded_html, rows_html
from nephoscope.report.tables.statistics import leaderboard

TEMPLATES = Path(__file__).parent / "templates"
VEGA_LITE_VERSION = "6.4"
LIBRARY = "window.vegaEmbed = vegaEmbed;"


@dataclass(frozen=True)
class Sentence:
    """An insight with a link to its evidence."""

    text: str
    rule: str
    benchmark: str | None
    evidence: EvidenceSet | None


@dataclass(frozen=True)
class AnswerGroup:
    """Answers to one question; if there are many, only the first are visible at once."""

    title: str
    first: list[Sentence]
    folded: list[Sentence]


FIRST_ANSWERS = 5
QUESTIONS = {
    "answer": "Which is best",
    "leaders": "Which is best",
    "per_cpu": "Per CPU",
    "growth": "Scaling with machines",
    "price_leaders": "Per dollar",
    "storage": "Storage",
    "families": "Families of machine types",
    "predictors": "What predicts database performance",
}
"""Rule -> the question it answers."""


def render_html(study: AnalysedStudy) -> str:
    """The whole report."""
    with unchecked():
        return _render(Book(Lookup.of(study)))


def _render(book: Book) -> str:
    study = book.lookup.study
    sections = {
        "answers": _grouped(_sentences(book, "answer")),
        "sentences": {kind: _sentences(book, kind) for kind in ("warning", "note")},
        "leaderboard": leaderboard(book),
        "claims": claims_table(book),
        "costs": cost_section(book),
        "families": families_table(book),
        "gate": gate_table(book),
        "explorer": _explorer(book),
        "numbers": machine_numbers(book),
        "benchmarks": [benchmark_section(book, row) for row in study.benchmarks],
        "best": best_table(book),
        "contrasts": contrasts_table(book),
        "comparisons": comparison_section(book),
        "order": order_figures(book),
        "draws_values": book.lookup.draws_values,
        "machines": machines_table(book),
        "looks": looks_table(book),
        "exclusions": exclusions_table(book),
        "checks": checks_table(book),
        "methods": methods_section(book),
    }
    trials = {"counted": counted(study.trials), "trials": trials_table(book), "evidence": evidence_table(book)}
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            study=study,
            title=study.title or study.study,
            paragraphs=[part.strip() for part in study.description.split("\n\n") if part.strip()],
            key_facts=_key_facts(book),
            plan_notes=[*study.plan.warnings],
            terms=TERMS,
            config=Markup(as_script(theme.config())),  # noqa: S704  # as_script leaves no character that ends a script
            **sections,
            **trials,
            **_assets(),
        )
    )


def _explorer(book: Book) -> Markup | None:
    data = explorer_data(book.lookup)
    return None if data is None else Markup(as_script(data))  # noqa: S704  # see above


def _sentences(book: Book, kind: str) -> list[Sentence]:
    return [_sentence(book, insight) for insight in book.lookup.study.insights if insight.kind == kind]


def _grouped(answers: list[Sentence]) -> list[AnswerGroup]:
    groups: dict[str, list[Sentence]] = {}
    for sentence in answers:
        groups.setdefault(QUESTIONS.get(sentence.rule, "Other answers"), []).append(sentence)
    return [
        AnswerGroup(title, found[:FIRST_ANSWERS], found[FIRST_ANSWERS:])
        if len(found) > FIRST_ANSWERS + 1
        else AnswerGroup(title, found, [])
        for title, found in groups.items()
    ]


def _sentence(book: Book, insight: Insight) -> Sentence:
    evidence = book.evidence.cite(insight.trials, f"insight “{insight.rule}”")
    return Sentence(insight.text, insight.rule, insight.benchmark, evidence)


def _key_facts(book: Book) -> list[tuple[str, str]]:
    study, lookup = book.lookup.study, book.lookup
    models = unique(row.facts.cpu_model or "CPU model unknown" for row in study.machines)
    hosts = unique(row.facts.hostname or row.machine for row in study.machines)
    machines = f"{people.plural(len(hosts), 'machine')}: {'; '.join(models[:3])}" if hosts else "none observed"
    if len(models) > 3:
        machines += f" and {len(models) - 3} more models"
    when = people.moment(study.started_unix_ms)
    if study.ended_unix_ms is not None:
        when += f" to {people.moment(study.ended_unix_ms)}"
    conditions = unique(name for row in study.trials for name in row.conditions)
    names = lookup.configurations
    facts = [
        ("Configurations", ", ".join(names) if len(names) <= 4 else f"{len(names)}"),
        ("Machines", machines),
        ("Benchmarks", ", ".join(row.benchmark for row in study.benchmarks) or "none"),
        ("Trials", counted(study.trials)),
        ("Replicates", _replicates(study)),
        *_origin(study),
        ("Measured", when),
        ("Conditions", ", ".join(conditions)),
        ("Price", f"no prices: {'; '.join(study.plan.unpriced[:3])}" if study.plan.unpriced else ""),
        ("Seed", str(study.seed)),
        ("Version", f"nephoscope {study.nephoscope_version}"),
    ]
    return [(name, text) for name, text in facts if text]


def _replicates(study: AnalysedStudy) -> str:
    if study.source is not None:
        return "imported: all that the source has, in the order it gives"
    return f"{study.replicates} planned per benchmark and configuration, in randomised blocks"


def _origin(study: AnalysedStudy) -> list[tuple[str, str]]:
    """For an import: who measured it, and what was found but not read. The description says what is not known."""
    source = study.source
    if source is None:
        return []
    return [
        ("Measured by others", f"{source.source}; licence: {source.licence}"),
        ("Not imported", "; ".join(source.left_out[:5]) + (" and more" if len(source.left_out) > 5 else "")),
    ]


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
    return templates


@cache
def _assets() -> dict[str, Markup | str]:
    """Style, scripts and the content security policy that allows only these scripts."""
    libraries = f"(()=>{{{vl_convert.javascript_bundle(LIBRARY, vl_version=VEGA_LITE_VERSION)}}})();"
    early = (TEMPLATES / "theme.js").read_text(encoding="utf-8")
    behaviour = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    exploring = (TEMPLATES / "explorer.js").read_text(encoding="utf-8")
    scripts = {"libraries": libraries, "early": early, "behaviour": behaviour, "exploring": exploring}
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
