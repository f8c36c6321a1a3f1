"""The rule that a level must meet, as people write it: `p99(read) < 5 ms and errors < 0.1 %`.

    rule       = condition { "and" condition }
    condition  = quantity ( "<=" | "<" | ">=" | ">" | "≤" | "≥" ) number [ unit ]
    quantity   = statistic "(" operation ")" | "achieved" | "errors"
    statistic  = "mean" | "max" | "p50" ... "p9999"
    operation  = "all" | "read" | "write" | name of an operation of the workload
    unit       = "ns" | "us" | "µs" | "ms" | "s" for times; "%" for shares

`achieved` is completed over offered operations, `errors` is failed over attempted operations. If a rule does not limit
them, `ALWAYS` does. A rule may be stricter than `ALWAYS` but not laxer, because the checks of every trial require that
much. Every rule also requires that the backlog does not grow and that the client was not the limit.
"""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

from nephoscope.checks.thresholds import ERRORS, RATE_KEPT
from nephoscope.model.records import Relation, Requirement

DEFAULT = "mean(read) <= 1 ms and achieved >= 99 % and errors <= 0.1 %"
"""Of the Aerospike cloud qualification, with what it leaves unsaid: an overloaded client must not pass."""
ALWAYS = "achieved >= 99 % and errors <= 0.1 %"
SHARES = ("achieved", "errors")

_RELATIONS: dict[str, Relation] = {
    "<=": "at most", "≤": "at most", "<": "below", ">=": "at least", "≥": "at least", ">": "above",
}  # fmt: skip
_SIGNS: dict[Relation, str] = {"at most": "≤", "below": "<", "at least": "≥", "above": ">"}
_PER_UNIT = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01}
_CONDITION = re.compile(
    r"""\s*(?P<quantity>[A-Za-z_]\w*)\s*(?:\(\s*(?P<operation>[A-Za-z_][\w-]*)\s*\))?
        \s*(?P<sign><=|>=|≤|≥|<|>)\s*(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>[a-zµ%]*)\s*""",
    re.VERBOSE,
)
_PERCENTILE = re.compile(r"p([5-9]\d{1,3})")
"""From the median on. The digits after `p` are decimals (`p999` is 0.999), so `p100` would be the 10th percentile."""
_ROUNDING = 1e-9
"""Of a share that was written in percent."""
_WANTED = "expected a condition such as `p99(read) < 5 ms`, `achieved >= 99 %` or `errors < 0.1 %`"


class RuleError(ValueError):
    """A rule that cannot be read: what, and where."""


@dataclass(frozen=True)
class Condition:
    """One limit."""

    quantity: str
    """`mean`, `max`, `p99` and the like; or one of `SHARES`."""
    operation: str | None
    """None for shares."""
    relation: Relation
    limit: float
    """In seconds, or a share."""

    @property
    def subject(self) -> str:
        """'p99(read)', 'errors'."""
        return f"{self.quantity}({self.operation})" if self.operation else self.quantity

    @property
    def text(self) -> str:
        """'p99(read) < 5 ms'."""
        value = f"{self.limit * 100:g} %" if self.operation is None else f"{self.limit * 1000:g} ms"
        return f"{self.subject} {_SIGNS[self.relation]} {value}"

    def asked(self, observed: float | None) -> Requirement:
        """The condition beside what was observed."""
        unit = "s" if self.operation else "share"
        return Requirement(
            what=self.subject, observed=observed, relation=self.relation, limit=self.limit, unit=unit, source="rule"
        )


@dataclass(frozen=True)
class Rule:
    """Conditions that must all hold."""

    conditions: tuple[Condition, ...]

    @property
    def text(self) -> str:
        """As it is understood: complete, in one line."""
        return " and ".join(condition.text for condition in self.conditions)

    @property
    def operations(self) -> frozenset[str]:
        """Operations and classes of them that it names."""
        return frozenset(condition.operation for condition in self.conditions if condition.operation)

    def judge(self, observed: Callable[[Condition], float | None]) -> list[Requirement]:
        """Every condition beside what was observed; None where too few operations support it."""
        return [condition.asked(observed(condition)) for condition in self.conditions]


def parse_rule(text: str) -> Rule:
    """Reads a rule, and completes it by `ALWAYS`.

    Raises:
        RuleError: it is not a rule; the message says what is wrong at which column, and what was wanted.
    """
    conditions, start = [], 0
    for part in re.split(r"\band\b", text, flags=re.IGNORECASE):
        conditions.append(_condition(part, start))
        start += len(part) + len("and")
    subjects = [condition.subject for condition in conditions]
    twice = next((subject for subject in subjects if subjects.count(subject) > 1), None)
    if twice:
        raise RuleError(f"`{twice}` appears twice in the rule `{text.strip()}`")
    if all(condition.operation is None for condition in conditions):
        raise RuleError(f"the rule `{text.strip()}` limits no response time; add one, such as `p99(read) < 5 ms`")
    if text != ALWAYS:
        conditions += [one for one in _always() if one.subject not in subjects]
    return Rule(tuple(conditions))


def quantile_of(quantity: str) -> float | None:
    """0.99 of `p99`, 0.999 of `p999`; None if it is not a percentile."""
    found = _PERCENTILE.fullmatch(quantity)
    return float(f"0.{found[1]}") if found else None


def _always() -> list[Condition]:
    return [_condition(part, 0) for part in ALWAYS.split("and")]


def _condition(part: str, start: int) -> Condition:
    found = _CONDITION.fullmatch(part)
    if found is None:
        said = f"`{part.strip()}` at column {start + _indent(part) + 1}" if part.strip() else "nothing"
        raise RuleError(f"{said} is not a condition; {_WANTED}")
    quantity, operation = found["quantity"].lower(), found["operation"]
    is_share = quantity in SHARES
    _require_quantity(quantity, start + _indent(part) + 1)
    if is_share == (operation is not None):
        wrong = (
            f"`{quantity}` takes no operation" if is_share else f"`{quantity}` needs an operation: `{quantity}(read)`"
        )
        raise RuleError(f"{wrong}; {_WANTED}")
    unit = found["unit"]
    units = ("%",) if is_share else ("ns", "us", "µs", "ms", "s")
    if unit not in units:
        said = f"has the unit {unit!r}" if unit else "has no unit"
        raise RuleError(f"`{part.strip()}` {said}; wanted: {', '.join(units)}")
    relation, limit = _RELATIONS[found["sign"]], float(found["number"]) * _PER_UNIT[unit]
    upwards = relation in ("at least", "above")
    if upwards != (quantity == "achieved"):
        raise RuleError(f"every overload meets `{part.strip()}`; reverse its sign")
    if is_share:
        _require_strict(part.strip(), quantity, limit)
    return Condition(quantity, operation, relation, limit)


def _require_strict(said: str, quantity: str, limit: float) -> None:
    """With a rule laxer than the checks, the search would find a level that the checks then always reject."""
    if quantity == "errors" and limit > ERRORS.value + _ROUNDING:
        raise RuleError(f"`{said}` is laxer than the check `errors`, which rejects more than {ERRORS.percent} failed")
    if quantity == "achieved" and limit < RATE_KEPT.value - _ROUNDING:
        raise RuleError(f"`{said}` is laxer than the check `rate-kept`, which rejects less than {RATE_KEPT.percent}")


def _indent(part: str) -> int:
    return len(part) - len(part.lstrip())


def _require_quantity(quantity: str, column: int) -> None:
    if quantity in ("mean", "max", *SHARES):
        return
    if _PERCENTILE.fullmatch(quantity):
        return
    if re.fullmatch(r"p\d+", quantity):
        hint = "; did you mean `max`?" if quantity == "p100" else ""
        raise RuleError(f"`{quantity}` at column {column} is not a percentile from `p50` to `p9999`{hint}")
    near = difflib.get_close_matches(quantity, ["mean", "max", "p50", "p90", "p95", "p99", "p999", *SHARES], 1)
    hint = f"; did you mean `{near[0]}`?" if near else f"; {_WANTED}"
    raise RuleError(f"`{quantity}` at column {column} is not a known quantity{hint}")
