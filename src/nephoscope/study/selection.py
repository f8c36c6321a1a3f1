"""`for = "aws and not vcpus:8"`: configurations chosen by what they are instead of by a list of names."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from nephoscope.study.machine_names import machine_name
from nephoscope.study.suggest import hint_among, shown

_TOKEN = re.compile(r"""\s*(?:(?P<sign>[()])|(?P<word>(?:[^\s()"']|"[^"]*"|'[^']*')+))""")
_OPERATORS = {"or": 1, "and": 2, "not": 3}
"""Operator -> how tightly it binds."""
_BY_WORD = ("provider", "family", "volume")
"""A word alone names one of these, or the value of a label."""
_BY_KEY = (*_BY_WORD, "name", "region", "type", "vcpus")
LOCAL_SSD = "local-ssd"
"""How a selection calls local SSDs; volumes go by their kind in the price book."""
_HOW = (
    "write words (a provider, a machine family, a kind of volume, the value of a label) or key:value, joined by and, "
    "or, not and parentheses"
)

MOST_LOOKS = 2_000_000
"""Of words of all selections of a study at configurations: some ten seconds."""

Facts = Mapping[str, frozenset[str]]
"""Key -> values of one configuration, in lower case."""


class NotASelection(Exception):
    """A selection that cannot be read, or that names what no configuration has."""


def facts_of(configuration: Mapping[str, Any]) -> Facts:
    """What a configuration can be chosen by; takes raw values of a study file, whatever they are."""
    machine = _table(configuration.get("database_machine"))
    sold = _table(configuration.get("priced_as"))
    provider = configuration.get("provider", "local")
    seller, machine_type = provider, machine.get("type")
    if machine_type is None:
        seller, machine_type = sold.get("provider"), sold.get("type")
    said = machine_name(str(seller), str(machine_type)) if machine_type is not None else None
    volumes = machine.get("volumes", sold.get("volumes"))
    kinds = [_table(volume).get("kind") for volume in (volumes if isinstance(volumes, list) else [])]
    own = {
        "name": [configuration.get("name")],
        "provider": [provider],
        "region": [configuration.get("region", sold.get("region"))],
        "type": [machine_type],
        "family": [said and said.family],
        "vcpus": [said and said.vcpus],
        "volume": [*kinds, LOCAL_SSD if "local_ssds" in machine else None],
    }
    labels = {str(key): [value] for key, value in _table(configuration.get("labels")).items() if key not in own}
    return {
        key: frozenset(str(value).lower() for value in values if isinstance(value, str | int))
        for key, values in {**labels, **own}.items()
    }


def chosen(selection: str, configurations: Sequence[Facts]) -> list[int]:
    """Places of the configurations that a selection chooses.

    `not` binds tighter than `and`, and `and` tighter than `or`. Words take * and ?, and case does not matter.

    Raises:
        NotASelection: it cannot be read, a word of it fits no configuration, or nothing is left.
    """
    stacks = _Stacks(frozenset(range(len(configurations))))
    for token in _tokens(selection):
        word = token.lower()
        stacks.expect(token, starts=word not in {"and", "or", ")"})
        if word in {"not", "("}:
            stacks.operators.append(word)
        elif word == ")":
            stacks.close()
        elif word in _OPERATORS:
            stacks.join(word)
        else:
            stacks.values.append(_having(token, configurations))
            stacks.starting = False
    found = stacks.result()
    if not found:
        raise NotASelection("no configuration matches it")
    return sorted(found)


def words_of(selection: Any) -> int:
    """At least as many as it has."""
    return len(re.split(r"[\s()]+", selection)) if isinstance(selection, str) else 0


class _Stacks:
    """Dijkstra's shunting yard over sets: without recursion, so that no nesting is too deep."""

    def __init__(self, everyone: frozenset[int]) -> None:
        self._everyone = everyone
        self.values: list[frozenset[int]] = []
        self.operators: list[str] = []
        self.starting = True
        """Whether a word, `not` or an opening parenthesis comes next."""

    def expect(self, token: str, *, starts: bool) -> None:
        if starts != self.starting:
            raise NotASelection(f"{shown(token)} is not allowed there; {_HOW}")

    def join(self, word: str) -> None:
        """`and` or `or`, after everything that binds as tightly."""
        while self.operators and _OPERATORS.get(self.operators[-1], 0) >= _OPERATORS[word]:
            self._apply()
        self.operators.append(word)
        self.starting = True

    def close(self) -> None:
        while self.operators and self.operators[-1] != "(":
            self._apply()
        if not self.operators:
            raise NotASelection("a closing parenthesis has no opening one")
        self.operators.pop()

    def result(self) -> frozenset[int]:
        if self.starting:
            raise NotASelection(f"{'a word is missing at the end' if self.values else 'it is empty'}; {_HOW}")
        if "(" in self.operators:
            raise NotASelection("an opening parenthesis has no closing one")
        while self.operators:
            self._apply()
        return self.values[0]

    def _apply(self) -> None:
        operator, last = self.operators.pop(), self.values.pop()
        if operator == "not":
            self.values.append(self._everyone - last)
        else:
            first = self.values.pop()
            self.values.append(first & last if operator == "and" else first | last)


def _tokens(selection: str) -> list[str]:
    tokens: list[str] = []
    place, text = 0, selection.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise NotASelection("a closing quote is missing")
        tokens.append(found["sign"] or found["word"])
        place = found.end()
    return tokens


def _having(token: str, configurations: Sequence[Facts]) -> frozenset[int]:
    """Places of the configurations that a word or key:value fits."""
    key, separator, rest = re.sub(r"[\"']", "", token).partition(":")
    labels = {label for facts in configurations for label in facts if label not in _BY_KEY}
    if separator and key.lower() not in {*_BY_KEY, *labels}:
        raise NotASelection(f"{shown(key)} is not a key; {hint_among(key, [*_BY_KEY, *sorted(labels)], '`{}`')}")
    keys = [key.lower()] if separator else [*_BY_WORD, *sorted(labels)]
    wanted = (rest if separator else key).lower()
    fits = frozenset(
        place
        for place, facts in enumerate(configurations)
        if any(fnmatchcase(value, wanted) for one in keys for value in facts.get(one, ()))
    )
    if not fits:
        values = sorted({value for facts in configurations for one in keys for value in facts.get(one, ())})
        raise NotASelection(f"{shown(token)} matches no configuration; {hint_among(wanted, values)}")
    return fits


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
