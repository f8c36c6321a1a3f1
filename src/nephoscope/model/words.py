"""Numbers and names in sentences, where several packages say them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nephoscope.model.numbers import duration
from nephoscope.model.sentence import Sentence

if TYPE_CHECKING:
    from nephoscope.model.written import Scope

SIMULATED = "Simulated, not measured"
"""What the title and every figure of a rehearsal say."""
NOBODY_MEASURED = (
    "Nobody measured this: no machine exists, and a program drew every number. It shows what a report of this study "
    "would look like, and nothing about real machines."
)
"""The first paragraph of its report."""
PROVIDERS: Mapping[str, str] = {
    "aws": "AWS",
    "azure": "Azure",
    "gcp": "Google Cloud",
    "local": "this machine",
    "ssh": "own machines",
}
"""Provider as a study file names it -> its name for a reader, the same everywhere in a report."""


NOT_DECIDED = "not decided"
"""What every text calls a question without an answer; stored verdicts are `unresolved`."""


def provider_name(provider: str) -> str:
    """'Google Cloud' for gcp; other providers as a study names them."""
    return PROVIDERS.get(provider, provider)


def scope_name(scope: "Scope") -> str:
    """'Google Cloud', '8 vCPUs', '30 to 36 vCPUs', 'overall'."""
    if isinstance(scope.value, int):
        return f"{scope.value} to {counted(scope.most, 'vCPU')}" if scope.most else counted(scope.value, "vCPU")
    return scope.kind if scope.value is None else provider_name(scope.value)


def verdict_name(verdict: str) -> str:
    """A stored verdict as readers see it: 'better', 'worse', 'tie', 'not decided'."""
    return NOT_DECIDED if verdict == "unresolved" else verdict


def without_kind(message: str) -> str:
    """What a validator says, without the words that Pydantic puts before it."""
    return message.replace("Value error, ", "", 1)


def capitalised(text: Sentence | str) -> str:
    """The text with a capital at its start."""
    return f"{str(text)[:1].upper()}{str(text)[1:]}"


def counted(count: float, noun: str, nouns: str = "") -> str:
    """'1 row', '3,102 rows', '1.5 CPUs'; `nouns` is for a plural that is not the noun with an s: '2 replies'."""
    number = f"{count:,g}" if isinstance(count, float) else f"{count:,}"
    return f"{number} {noun if count == 1 else nouns or noun + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """'a, b', or 'a, b and 3 more' where there are more than `most`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def enumeration(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def named_or_counted(names: Sequence[str], most: int, noun: str = "configuration") -> str:
    """'a, b and c', or '12 configurations' where there are more than `most`."""
    return enumeration(names) if len(names) <= most else counted(len(names), noun)


def left_in_words(seconds: float, *, may_stop: bool = False) -> str:
    """'about 3 min 20 s left'; of a study that may stop before its last block, 'at most 3 min 20 s left'."""
    return f"{'at most' if may_stop else 'about'} {duration(round(seconds))} left"


LOCAL, GENERAL, HIGH = "local SSD", "general purpose", "high performance"
_HIGH = ("io1", "io2", "pd-extreme", "hyperdisk-extreme", "Ultra Disk")
"""Kinds that are sold for their IOPS; all others in the price book are general-purpose."""


def storage_class(kind: str) -> str:
    """'local SSD', 'general purpose' or 'high performance'."""
    return LOCAL if kind == LOCAL else HIGH if kind in _HIGH else GENERAL
