"""An author's own texts on the main page: Markdown, in which each number comes from the tables by reference."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

from nephoscope.analysis.lookup import Lookup, headlines
from nephoscope.insights.predictors import order_of
from nephoscope.model import numbers as people
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import InputError
from nephoscope.model.publication import WRITTEN, Reference, reference, references
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Metric
from nephoscope.model.rows import ClaimRow
from nephoscope.model.written import OVERALL
from nephoscope.report.parts import Book

_HEADING = 3
"""Of the author's highest headings: those of the page's own parts are the second."""


@dataclass(frozen=True)
class Quoted:
    """A number in words, with the trials behind it."""

    text: str
    trials: Sequence[str] = ()


def texts(book: Book) -> Mapping[str, Markup]:
    """'before cpu' -> HTML of the author's texts there."""
    parser = _parser(lambda asked: _linked(book, asked))
    found: dict[str, Markup] = {}
    for text in book.lookup.study.publication.text:
        html = Markup(parser.render(text.markdown))  # noqa: S704  # made without the author's HTML
        found[text.place] = found.get(text.place, Markup()) + Markup('<div class="author">{}</div>').format(html)
    return found


def require_complete(study: AnalysedStudy) -> None:
    """All that the author's texts refer to is there, and every claim that they rest on holds.

    Raises:
        InputError: it is not; with everything that is missing.
    """
    missing = list(_missing(study)) if study.publication.text else []
    if missing:
        raise InputError(
            "the author's texts of this study cannot be published: " + "; ".join(missing),
            hint="change [[report.text]] in study.toml of the results folder, or measure what is missing",
        )


def _missing(study: AnalysedStudy) -> Iterator[str]:
    lookup = Lookup(study)
    holds = {row.claim: row.holds for row in study[ClaimRow]}
    for text in study.publication.text:
        for asked in references(text.markdown):
            try:
                quoted(lookup, asked)
            except LookupError as error:
                yield f"“{asked.text}” is not there: {error.args[0]}"
        for claim in text.claims:
            if claim not in holds:
                yield f"claims.toml has no claim {claim!r}"
            elif not holds[claim]:
                yield f"the claim {claim!r} does not hold"


def quoted(lookup: Lookup, asked: Reference) -> Quoted:
    """What a reference stands for.

    Raises:
        LookupError: there is no such number; its argument says why.
    """
    return _KINDS[asked.kind](lookup, asked)


def _level(lookup: Lookup, asked: Reference) -> Quoted:
    metric = _metric(lookup, asked)
    row = lookup.statistics.get((asked.benchmark or "", metric.name, asked.per_cpu), {}).get(asked.of or "")
    if row is None:
        raise LookupError(f"{asked.of} has no valid value of {metric.name}")
    scale = lookup.scale(asked.benchmark or "", metric, per_cpu=asked.per_cpu)
    return Quoted(f"{scale.text(row.compared)}{' per CPU' if asked.per_cpu else ''}", row.trials)


def _ratio(lookup: Lookup, asked: Reference) -> Quoted:
    metric = _metric(lookup, asked)
    for row in lookup.comparisons_of(asked.benchmark or "", metric.name, per_cpu=asked.per_cpu):
        if {row.left, row.right} == {asked.of, asked.against}:
            pair = row if row.left == asked.of else row.mirrored()
            return Quoted(people.ratio(people.interval(pair.ratio, pair.low, pair.high)), lookup.trials_of_pair(row))
    raise LookupError(f"{asked.of} and {asked.against} are not compared by {metric.name}")


def _best(lookup: Lookup, asked: Reference) -> Quoted:
    metric, view = _metric(lookup, asked), "per CPU" if asked.per_cpu else "plain"
    for row in lookup[BestRow]:
        if (row.benchmark, row.metric, row.view, row.scope) == (asked.benchmark, metric.name, view, OVERALL):
            return Quoted(" or ".join(row.best), row.trials)
    raise LookupError(f"no question asks for the best of {metric.name}")


def _price(lookup: Lookup, asked: Reference) -> Quoted:
    basis = asked.basis or lookup.basis
    row = lookup.cost_of(asked.of or "", basis)
    if row is None or row.month_usd is None:
        raise LookupError(f"{asked.of} has no price{f' at {basis}' if basis else ''}")
    return Quoted(f"{people.money(row.month_usd)} a month")


def _claim(lookup: Lookup, asked: Reference) -> Quoted:
    """What the data say of a claim: '1.82× (95 % interval 1.79× to 1.86×, n = 11 and 9 configurations)'."""
    rows = [row for row in lookup[ClaimRow] if row.claim == asked.claim]
    if len(rows) != 1:
        raise LookupError(
            f"claims.toml has {'no claim' if not rows else 'a claim about several metrics'} {asked.claim}"
        )
    (row,) = rows
    if row.ratio is None:
        raise LookupError(f"the claim {asked.claim} has no ratio: {row.reason}")
    ratio, ends = people.interval(row.ratio, row.low, row.high), "too few for an interval"
    if row.low is not None and row.high is not None:
        low, high = people.ratio(row.low), people.ratio(row.high)
        ends = f"{people.coverage(row.coverage)} interval {low} to {high}"
    return Quoted(f"{people.ratio(ratio)} ({ends}, n = {row.n_left} and {row.n_right} {row.unit_of_n})", row.trials)


def _order(lookup: Lookup, asked: Reference) -> Quoted:
    """'rank correlation 0.61 (95 % interval 0.50 to 0.70, n = 159)'; better first on both sides."""
    target = _metric(lookup, asked)
    by = _metric(lookup, Reference(asked.text, "order", benchmark=asked.by, metric=asked.by_metric))
    found = order_of(lookup, (asked.benchmark or "", target), (asked.by or "", by), per_cpu=asked.per_cpu)
    if found is None:
        raise LookupError(f"{asked.benchmark} and {asked.by} have too few configurations in common")
    correlation, trials = found
    low, high = people.signed(correlation.low), people.signed(correlation.high)
    ends = f"{people.coverage(correlation.confidence)} interval {low} to {high}"
    return Quoted(f"{people.signed(correlation.rho)} ({ends}, n = {correlation.n})", trials)


_KINDS: Mapping[str, Callable[[Lookup, Reference], Quoted]] = {
    "level": _level,
    "ratio": _ratio,
    "best": _best,
    "price": _price,
    "claim": _claim,
    "order": _order,
}


def _metric(lookup: Lookup, asked: Reference) -> Metric:
    row = next((row for row in lookup.study.benchmarks if row.benchmark == asked.benchmark), None)
    if row is None:
        raise LookupError(f"no trial of {asked.benchmark} has ended")
    if asked.metric is None:
        return headlines(row)[0]
    metric = next((metric for metric in row.metrics if metric.name == asked.metric), None)
    if metric is None:
        raise LookupError(f"{asked.benchmark} has no metric {asked.metric}")
    return metric


def _linked(book: Book, asked: Reference) -> Markup:
    """The number with a link to its trials. While a study runs, it may not be there yet."""
    try:
        number = quoted(book.lookup, asked)
    except LookupError as error:
        return Markup('<em title="{}">not measured</em>').format(error.args[0])
    evidence = book.evidence.cite(number.trials, asked.text)
    if evidence is None:
        return escape(number.text)
    return Markup('<a class="number" href="{}">{}</a>').format(book.href(evidence.anchor), number.text)


def _parser(fill: Callable[[Reference], Markup]) -> MarkdownIt:
    """Markdown without HTML and pictures, so that a text of a stranger's cannot do more than be read."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.inline.ruler.before("escape", "reference", _reference_rule)

    def number(_renderer: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
        return str(fill(reference(tokens[place].content)))

    def heading(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        tokens[place].tag = f"h{min(6, int(tokens[place].tag[1:]) + _HEADING - 1)}"
        return renderer.renderToken(tokens, place, options, env)

    parser.add_render_rule("reference", number)
    parser.add_render_rule("heading_open", heading)
    parser.add_render_rule("heading_close", heading)
    return parser


def _reference_rule(state: StateInline, silent: bool) -> bool:  # as the parser calls it
    match = WRITTEN.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.push("reference", "", 0).content = match[1]
    state.pos = match.end()
    return True


MAX_BYTES = 200_000
_PICTURE_KINDS: Mapping[str, tuple[str, tuple[bytes, ...]]] = {
    ".svg": ("image/svg+xml", (b"<svg", b"<?xml")),
    ".png": ("image/png", (b"\x89PNG\r\n\x1a\n",)),
    ".jpg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
}
"""End of a file's name -> its media type, and how such a file begins."""


def inlined(name: str, content: bytes) -> str:
    """The `data:` address of a picture.

    Args:
        name: of its file, with one of the ends that `Publication.logo` allows.
        content: of its file. Scripts in an SVG do not run, as a page shows it in an `img`.

    Raises:
        InputError: it is too large, or is no picture of this kind.
    """
    media_type, beginnings = _PICTURE_KINDS[PurePath(name).suffix]
    if len(content) > MAX_BYTES:
        raise InputError(
            f"the logo {name} has {len(content):,} bytes, but every page carries it, so {MAX_BYTES:,} are the most",
            hint="make the picture smaller, or take an SVG",
        )
    if not content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(beginnings):
        raise InputError(
            f"the logo {name} does not begin as a file of the type {media_type} does",
            hint="give it the name of its kind: .svg, .png, .jpg",
        )
    return f"data:{media_type};base64,{b64encode(content).decode()}"
