"""A claims file: public statements in a form that numbers can decide."""

from collections import Counter
from typing import Literal

from pydantic import Field, ValidationError

from nephoscope.model.bounded_toml import load_toml
from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import without_kind

Kind = Literal["better", "tie", "not-worse", "first", "last"]
_OF_TWO = frozenset({"better", "tie"})
"""Kinds that compare left with right; `first` and `last` compare it with all others, and `not-worse` may."""
Verdict = Literal["supported", "refuted", "not decided"]
MatchedBy = Literal["provider", "vcpus", "family", "threads_per_core", "memory", "cpu_vendor", "cpu_design"]


class Selector(Frozen):
    """Selects configurations: every given key must match. Names may hold `*` and `?`."""

    configuration: str | None = None
    provider: str | None = None
    machine_type: str | None = None
    family: str | None = None
    cpu_vendor: str | None = None
    cpu_design: str | None = None
    cpu_model: str | None = None
    least_vcpus: int | None = None
    most_vcpus: int | None = None


class Claim(Frozen):
    """One statement and how to decide it."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    text: str = Field(min_length=1, description="the statement as published")
    source: str = Field(min_length=1, description="where it was published, with the page")
    kind: Kind = Field(
        description="better: left beats right; tie: they differ by less than the equivalence margin; not-worse: left "
        "is not worse than right by the margin or more; first, last: left is best or worst of all"
    )
    left: Selector
    right: Selector | None = Field(
        default=None,
        description="for better, tie and not-worse; first and last compare with all others; not-worse without it "
        "compares one configuration with the median of all others",
    )
    benchmark: str = Field(description="the benchmark's name in the study; may hold * and ?")
    metric: str = Field(default="*", description="name of its headline metrics; may hold * and ?")
    per: Literal["", "cpu", "dollar"] = Field(default="", description="per CPU, per dollar per month, or as measured")
    basis: str = Field(default="on-demand", description="basis of the prices, for statements per dollar")
    matched_by: list[MatchedBy] = Field(
        default=["provider", "vcpus", "threads_per_core"],
        description="for groups: compare only configurations that are equal in these keys",
    )
    expected: Verdict | None = Field(
        default=None,
        description="the verdict expected from these data: any other verdict fails; default: anything but refuted",
    )


class Claims(Frozen):
    """A claims file."""

    schema_: Literal["nephoscope/claims/1"] = Field(default="nephoscope/claims/1", alias="schema")
    claims: list[Claim] = Field(min_length=1)


def load_claims(text: str, name: str) -> Claims:
    """Claims from a file's text; messages use `name`.

    Raises:
        InputError: not TOML, or not a claims file; one line for each problem.
    """
    try:
        found = Claims.model_validate(load_toml(text))
    except ValidationError as error:
        lines = [
            f"{name}: {'.'.join(str(part) for part in one['loc'])}: {without_kind(one['msg'])}"
            for one in error.errors(include_url=False)
        ]
        raise InputError(lines, hint="docs/how-to/claims.md lists the keys") from error
    except ValueError as error:
        raise InputError(f"{name}: not TOML: {error}") from error
    counts = Counter(claim.id for claim in found.claims)
    problems = [f"{name}: claim {one!r} appears twice" for one, count in sorted(counts.items()) if count > 1]
    for claim in found.claims:
        pair = claim.kind in _OF_TWO
        if claim.kind == "not-worse":
            if claim.right is None and claim.per == "dollar":
                problems.append(f"{name}: claim {claim.id!r} of kind 'not-worse' needs a right side per dollar")
        elif pair != (claim.right is not None):
            what = "needs a right side" if pair else "compares with all others and has no right side"
            problems.append(f"{name}: claim {claim.id!r} of kind {claim.kind!r} {what}")
    if problems:
        raise InputError(problems, hint="docs/how-to/claims.md lists the keys")
    return found
