"""A claims file: what somebody says in public, in a form that numbers can decide."""

import tomllib
from typing import Literal

from pydantic import Field, ValidationError

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen

Kind = Literal["better", "tie", "first", "last"]
Verdict = Literal["supported", "refuted", "not decided"]
MatchedBy = Literal["provider", "vcpus", "family", "threads_per_core", "cpu_vendor", "cpu_design"]


class Selector(Frozen):
    """Which configurations are meant; every key given must fit. Names may hold `*` and `?`."""

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
    """One sentence and how it is decided."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    text: str = Field(min_length=1, description="as it was said")
    source: str = Field(min_length=1, description="where, with the page")
    kind: Kind = Field(
        description="better: left than right; tie: left and right; first, last: left is best or worst of all others"
    )
    left: Selector
    right: Selector | None = Field(default=None, description="of better and tie; first and last have all others")
    benchmark: str = Field(description="the study's name of it; may hold * and ?")
    metric: str = Field(default="*", description="its headline metrics of that name; may hold * and ?")
    per: Literal["", "cpu", "dollar"] = Field(default="", description="per CPU, per dollar of a month, or as it is")
    basis: str = Field(default="on-demand", description="of prices, per dollar")
    matched_by: list[MatchedBy] = Field(
        default=["provider", "vcpus", "threads_per_core"],
        description="of groups: only configurations equal in these are compared",
    )
    expected: Verdict | None = Field(
        default=None, description="what these data are known to say: then any other verdict fails; default: not refuted"
    )


class Claims(Frozen):
    """A claims file."""

    schema_: Literal["nephoscope/claims/1"] = Field(default="nephoscope/claims/1", alias="schema")
    claims: list[Claim] = Field(min_length=1)


def load_claims(text: str, name: str) -> Claims:
    """Claims from a file's text; `name` stands in messages.

    Raises:
        InputError: not TOML, or not such a file; one line for each problem.
    """
    try:
        found = Claims.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: not TOML: {error}") from error
    except ValidationError as error:
        lines = [
            f"{name}: {'.'.join(str(part) for part in one['loc'])}: {one['msg']}"
            for one in error.errors(include_url=False)
        ]
        raise InputError("\n".join(lines), hint="docs/how-to/claims.md lists the keys") from error
    ids = [claim.id for claim in found.claims]
    problems = [f"{name}: claim {one!r} stands twice" for one in sorted({one for one in ids if ids.count(one) > 1})]
    for claim in found.claims:
        pair = claim.kind in {"better", "tie"}
        if pair != (claim.right is not None):
            what = "needs a right side" if pair else "is against all others and has no right side"
            problems.append(f"{name}: claim {claim.id!r} of kind {claim.kind!r} {what}")
    if problems:
        raise InputError("\n".join(problems), hint="docs/how-to/claims.md lists the keys")
    return found
