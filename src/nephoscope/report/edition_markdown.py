"""The comparison of two studies as Markdown, for the summary of a CI run or a comment on a pull request."""

from nephoscope.analysis.edition_gate import Judged, reasons
from nephoscope.model.editions import EditionCard, Editions
from nephoscope.model.words import SIMULATED, capitalised, counted
from nephoscope.report import edition_words as words
from nephoscope.report.markdown import plain, point

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
        lines += [
            "| configuration | metric | change | interval | | before → after | n |",
            "|---|---|--:|---|---|---|--:|",
        ]
        lines += [_line(card) for card in found.cards[:MAX_ROWS]]
        more = len(found.cards) - MAX_ROWS
        lines += ["", f"And {more} more."] if more > 0 else []
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
