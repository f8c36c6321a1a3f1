"""[choices]: placeholders of a whole study, with several sets of values of which one is chosen. Pure.

`nephoscope plan --choose database=cockroachdb` edits the key `is` of a choice, so that the stored study says what was
chosen.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ConfigDict, Field

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.study.explain import Problem
from nephoscope.study.locate import line_of, locate
from nephoscope.study.nodes import Node, node
from nephoscope.study.placeholders import VARIABLE
from nephoscope.study.suggest import nearest, shown

_IS = "is"
_IN_LINE = re.compile(r'(\bis\s*=\s*)("[^"\\]*"|\'[^\']*\')')
_FORM = "expected: NAME=OPTION, as database=cockroachdb"


class Choice(Frozen):
    """One choice. Its other keys are the options: tables of placeholders and their values."""

    model_config = ConfigDict(extra="allow")

    is_: str = Field(alias="is", description="the option that is chosen; `plan` and `run` change it by --choose")


def chosen_values(choices: Mapping[str, Any]) -> tuple[dict[str, Node], list[Problem]]:
    """Placeholder -> its value by the options that are chosen, and what is wrong; each choice fits `Choice`."""
    problems = list(_wrong(choices))
    if problems:
        return {}, problems
    values: dict[str, Node] = {}
    for name, choice in choices.items():
        given = node(choice[choice[_IS]], ("choices", name, choice[_IS])).value
        problems += [
            Problem(value.at, f"another choice gives a value to `{one}`; rename it")
            for one, value in given.items()
            if one in values
        ]
        values |= given
    return values, problems


def _wrong(choices: Mapping[str, Any]) -> Iterator[Problem]:
    for name, choice in choices.items():
        options = _options(choice)
        for option, given in options.items():
            path = ("choices", name, option)
            if not isinstance(given, Mapping):
                yield Problem(
                    path, f"{shown(given)} is not allowed; expected: a table of placeholders and their values"
                )
                continue
            for one in given:
                if not VARIABLE.fullmatch(one):
                    text = "the name of a placeholder has lower-case letters, digits and _, and starts with a letter"
                    yield Problem((*path, one), text)
        if choice[_IS] not in options:
            yield Problem(("choices", name, _IS), _no_option(choice[_IS], options))


def _options(choice: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in choice.items() if key != _IS}


def _no_option(option: str, options: Mapping[str, Any]) -> str:
    near = nearest(option, options)
    return f"there is no option {shown(option)}; " + (
        f'did you mean "{near}"?' if near else f"there are: {', '.join(options)}"
    )


def with_chosen(text: str, chosen: Sequence[str]) -> str:
    """A study's text in which other options are chosen; nothing else of it changes.

    Args:
        text: of the file.
        chosen: 'database=cockroachdb', one for each choice.

    Raises:
        InputError: the study has no such choice or option, or does not say what is chosen on a line of its own.
    """
    for one in chosen:
        name, equals, option = one.partition("=")
        if not equals:
            raise InputError(f"--choose {one}: not a choice", hint=_FORM)
        text = _with_one(text, name.strip(), option.strip())
    return text


def _with_one(text: str, name: str, option: str) -> str:
    try:
        choices = tomllib.loads(text.removeprefix("\ufeff")).get("choices", {})
    except ValueError:
        return text  # whoever reads the study says what is wrong with it, and where
    choice = choices.get(name) if isinstance(choices, Mapping) else None
    if not isinstance(choice, Mapping):
        there = f"it has: {', '.join(choices)}" if choices else "it has no [choices]"
        raise InputError(f"the study has no choice {shown(name)}; {there}", hint=_FORM)
    options = _options(choice)
    if option not in options:
        raise InputError(f"--choose {name}={option}: {_no_option(option, options)}", hint=_FORM)
    lines = text.split("\n")
    place = line_of(("choices", name, _IS), locate(text.removeprefix("\ufeff"))) - 1
    lines[place], changed = _IN_LINE.subn(rf'\g<1>"{option}"', lines[place], count=1)
    if not changed:
        raise InputError(
            f"the study must say on a separate line which option of {shown(name)} is chosen",
            hint=f'write `is = "{option}"` below [choices.{name}]',
        )
    return "\n".join(lines)
