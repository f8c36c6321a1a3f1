"""The one rule for what imported results are results of: a benchmark is everything that describes it, and so is a name.

Whatever differs makes another benchmark: results are replicates only where tool, workload, version, parameters and unit
are equal. Where a file says nothing of its parameters, the file itself stands for them, until the user says that such
files are the same. A name is readable, depends on nothing but what it names, and differs where that differs.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Self

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.sentence import Sentence
from nephoscope.model.words import counted

CLOUDS = ("aws", "azure", "gcp")
_MOST = 63
_UNSAFE = re.compile(r"[^a-z0-9.]+")
_MARKED = re.compile(r".*-[0-9a-f]{8}")
_MARK = 8
_DIGITS = tuple("0123456789.")
_VERSION = re.compile(r"[0-9.]+")
_AZURE = re.compile(r"Standard_[A-Z]+[0-9]+(?:-[0-9]+)?[a-z]*(?:_(?!V[0-9])[A-Z][A-Z0-9]*)?(?:_v[0-9]+)?")
"""How Azure spells its types: no two of these differ in case and underscores only."""


class BenchmarkIdentity(Frozen):
    """Everything that describes an imported benchmark, as far as its source says it."""

    tool: str
    workload: str = Field(default="", description="in words that begin its name: 'test 4k randread'")
    version: str = Field(default="", description="of the tool or test; empty: not said")
    parameters: dict[str, str] = {}
    unit: str = Field(default="", description="of its result, where the source chooses it")
    file: str = Field(
        default="",
        description="path below its machine, where nothing else tells its parameters; empty: they are described",
    )

    @cached_property
    def name(self) -> str:
        """The benchmark's name: equal for equal identities only."""
        words = "-".join(part for part in (self.tool, self.workload, self.version, self.file) if part)
        told_by_words = not (self.parameters or self.unit or self.file or self.workload[-1:] in _DIGITS)
        plain = told_by_words and (not self.version or _VERSION.fullmatch(self.version))
        return readable_name(words, None if plain else json.dumps(self.model_dump(), sort_keys=True))

    def but(self, **changes: Any) -> Self:
        """The same with other fields."""
        return self.model_validate(self.model_dump() | changes)  # a copy would keep its name

    @property
    def described(self) -> dict[str, str]:
        """What tells it from others of its tool, for people."""
        whole = {"tool": self.tool, "version": self.version, "unit": self.unit, "file": self.file}
        return {**self.parameters, **{key: text for key, text in whole.items() if text}}


def readable_name(text: str, whole: str | None = None) -> str:
    """Text as the name of a configuration or a benchmark; with a digest where it cannot be read back from the name.

    Args:
        text: what people call it: 'node_a'.
        whole: everything that it stands for, where that is more than the text.
    """
    slug = _UNSAFE.sub("-", text.casefold()).strip("-.")
    if whole is None and slug == text and slug and len(slug) <= _MOST and not _MARKED.fullmatch(slug):
        return slug
    digest = hashlib.sha256((text if whole is None else whole).encode(errors="surrogatepass")).hexdigest()[:_MARK]
    return f"{slug[: _MOST - _MARK - 1].rstrip('-.')}-{digest}".lstrip("-")


def type_name(provider: str, machine_type: str, disks: str = "") -> str:
    """The name of a machine of a cloud: 'azure-standard-d8as-v5', 'gcp-n2-standard-8-pd-ssd'."""
    as_azure_spells = provider == "azure" and _AZURE.fullmatch(machine_type)
    spelt = machine_type.casefold().replace("_", "-") if as_azure_spells else machine_type
    plain = "-" not in provider and (provider != "azure" or as_azure_spells)
    text = "-".join(part for part in (provider, spelt, disks) if part)
    return readable_name(text, None if plain else json.dumps([provider, machine_type, disks]))


def title_of(title: str, own: Mapping[str, str], others: Iterable[Mapping[str, str]]) -> str:
    """A title that people can tell from those of other benchmarks: it ends with the parameters that differ."""
    different = sorted({key for other in others for key in other.keys() | own.keys() if other.get(key) != own.get(key)})
    words = [f"{key} {own[key]}" for key in different if key in own]
    return f"{title} ({', '.join(words)[:200]})" if words else title


def rule_of(undescribed: int, *, same: bool) -> Sentence:
    """What was taken as replicates of one benchmark, and by which rule.

    Args:
        undescribed: results whose files say nothing of their parameters.
        same: whether the user said that such files are the same.
    """
    rule = "results are replicates where tool, version, workload, parameters and unit are equal"
    if not undescribed:
        return Sentence(rule)
    silent = f"{counted(undescribed, 'result')} whose files do not say their parameters"
    return Sentence(f"{rule}; {silent}: {'the same, as --same says' if same else 'one benchmark for each file'}")
