"""What a cloud's error codes mean for a study, as rules on their names; pure.

No list of codes is complete: clouds add codes, and a family of them shares a part of its names. A code that no rule
knows is taken for a failure of the cloud once; if it comes again, the user sees it whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from nephoscope.model.errors import NephoscopeError

CHECK_STUDY = "check image, type, zone, subnet and volumes in the study"
"""The hint where the cloud calls a request wrong."""


@dataclass(frozen=True)
class Rule:
    """Codes that mean the same."""

    codes: str
    """Patterns such as `Insufficient*`, with upper and lower case and spaces between them."""
    meaning: type[NephoscopeError]
    source: str
    """Address of the page that documents them."""
    hint: str = ""

    def error(self, said: str) -> NephoscopeError:
        """The typed error for an answer."""
        return self.meaning(said, hint=self.hint)


def rule_of(rules: Sequence[Rule], *codes: str) -> Rule | None:
    """The first rule that fits one of the codes; None: none does."""
    return next((rule for rule in rules if _fits(rule, codes)), None)


def _fits(rule: Rule, codes: Sequence[str]) -> bool:
    return any(fnmatchcase(code, pattern) for code in codes for pattern in rule.codes.split())
