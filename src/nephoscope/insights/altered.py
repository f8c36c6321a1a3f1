"""Trials whose stored files were changed after they had ended, and how many could not be checked for that."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import enumeration

NAME = "altered"
MAX_NAMED = 3
"""Trials whose files a sentence names; `status` and the table of excluded trials name all."""


def altered(lookup: Lookup) -> list[Draft]:
    """A warning about all altered trials with their files, and a note about trials without digests."""
    return [*_changed(lookup), *_unchecked(lookup)]


def _changed(lookup: Lookup) -> list[Draft]:
    found = [row for row in lookup.study.trials if row.state == "altered"]
    if not found:
        return []
    named, more = [_named(row) for row in found[:MAX_NAMED]], len(found) - MAX_NAMED
    return [
        say(
            NAME,
            "warning",
            "{altered:count} "
            + plural(len(found), "trial")
            + plural(len(found), " is", " are")
            + " left out because stored files changed after the measurement: {named}"
            + (" and {more:count} more" if more > 0 else "")
            + ". Restore the files from a copy; `nephoscope verify` lists them all.",
            numbers={"altered": len(found), **({"more": more} if more > 0 else {})},
            trials=[row.trial for row in found],
            named=enumeration(named) if more <= 0 else ", ".join(named),
        )
    ]


def _named(row: TrialRow) -> str:
    return f"{row.trial} ({'; '.join(map(str, row.reasons))})"


def _unchecked(lookup: Lookup) -> list[Draft]:
    ended = [row for row in lookup.study.trials if row.has_digests is not None]
    without = [row.trial for row in ended if not row.has_digests]
    if not without:
        return []
    return [
        say(
            NAME,
            "note",
            "{without:count} of {ended:count} "
            + plural(len(ended), "trial")
            + plural(len(without), " was", " were")
            + " stored without digests: later changes of "
            + plural(len(without), "its", "their")
            + " files would go unnoticed.",
            numbers={"without": len(without), "ended": len(ended)},
            trials=without,
        )
    ]
