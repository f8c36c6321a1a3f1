"""The comparison of two studies as Markdown, for the summary of a CI run or a comment on a pull request."""

import re

from nephoscope.analysis.edition_gate import Judged, reasons
from nephoscope.model.editions import EditionCard, Editions
from nephoscope.model.text import line
from nephoscope.model.words import SIMULATED, capitalised, counted
from nephoscope.report import edition_words as words

MAX_ROWS = 100
_HEAD = ("| configuration | metric | change | interval | | before → after | n |", "|---|---|--:|---|---|---|--:|")


def render_markdown(found: Editions, judged: Judged | None, names: tuple[str, str]) -> str:
    """A heading, the verdict of the gate if there is one, a table of the headline metrics, and what was left out.

    Args:
        found: the comparison.
        judged: what the gate says; None: no gate was asked for.
        names: of the earlier and the later study.
    """
    before, after = names
    lines = [f"## {plain(after)} against {plain(before)}", ""]
    if found.simulated:
        lines += [f"**{SIMULATED}:** both studies are rehearsals.", ""]
    if judged is not None:
        lines += [*_verdict(judged), ""]
    if found.cards:
        rows = [_line(row) for card in found.cards for row in (card, *found.apart(card))]
        more = len(rows) - MAX_ROWS
        lines += [*_HEAD, *rows[:MAX_ROWS], *(["", f"And {more} more."] if more > 0 else [])]
        lines += ["", words.sure(len(found.cards))]
    else:
        lines += ["Nothing in the two studies can be compared."]
    for title, texts in (("Not compared", reasons(found.left_out)), ("Also different", found.also_different)):
        if texts:
            lines += ["", f"{title}:", "", *(f"- {point(text)}" for text in texts)]
    return "\n".join(lines) + "\n"


def _verdict(judged: Judged) -> list[str]:
    verdict = words.worse(judged) if judged.worse else words.nothing_worse(judged)
    said = [f"**{plain(capitalised(verdict))}.**"]
    open_results = len(judged.undecided) + len(judged.missing)
    accepted = len(judged.accepted)
    total = accepted + len(judged.worse) + open_results
    if open_results:
        are = "is" if accepted == 1 else "are"
        results = f"{accepted:,} of {counted(total, 'result')}"
        open_are = "is" if open_results == 1 else "are"
        said.append(f"{results} {are} certainly not worse{judged.by()}; {open_results:,} {open_are} not known.")
    return said


def _line(card: EditionCard) -> str:
    notes = "; ".join(filter(None, (words.word(card), words.certainty(card), words.direction(card), *card.differs)))
    cells = (
        words.who(card),
        f"{card.benchmark}: {card.title}",
        words.change(card.ratio),
        words.interval(card.low, card.high),
        notes,
        words.levels(card),
        words.counts(card),
    )
    return "| " + " | ".join(plain(cell) for cell in cells) + " |"


MOST = 500
"""Characters of a cell or of a point of a list."""
_SPECIAL = re.compile(
    r"(?P<html>[&<>$])|(?P<mark>[\\`*_\[\]|~])|(?P<link>@|[#!%^](?=\w)|:(?=//)|www(?=\.)|GH(?=-\d))", re.IGNORECASE
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
_NO_LINK = "&#8203;"
"""A space of no width: nothing else keeps `@name`, `#1` and a bare address from becoming a link."""
_BEGINS_BLOCK = re.compile(r"^(?P<before>\d*)(?=[#+=:.)-])")


def plain(text: str) -> str:
    """One line of text for a cell or a heading: no emphasis, code, HTML, formula, link, mention or image."""
    return _SPECIAL.sub(_as_text, line(text, MOST).strip())


def point(text: str) -> str:
    """The same for a point of a list, where it begins no heading, list or rule either."""
    return _BEGINS_BLOCK.sub(r"\g<before>\\", plain(text))


def _as_text(found: re.Match[str]) -> str:
    if found["html"]:
        return _ENTITIES[found[0]]
    return f"\\{found[0]}" if found["mark"] else f"{found[0]}{_NO_LINK}"
