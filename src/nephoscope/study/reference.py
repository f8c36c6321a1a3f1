"""The reference of the study file, generated from its models. To regenerate: `python -m nephoscope.study.reference`.

`section` also serves other models, for example the parameters of a benchmark.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nephoscope.frozen import Frozen
from nephoscope.study import wanted
from nephoscope.study.model import Study
from nephoscope.study.wanted import Schema

_HEAD = """\
# The study file

<!-- Generated from src/nephoscope/study/model.py by `python -m nephoscope.study.reference docs/reference/study.md`. -->

A study is a [TOML](https://toml.io) file: what is compared, how it is measured, how often. `nephoscope init` writes \
one with every key explained. A key that is not listed here is an error, never ignored. Units stand at the end of a key: \
`duration_s` is in seconds, `file_size_mib` in MiB. Parameters of benchmarks: the `parameters` of each benchmark.
"""


def study_reference() -> str:
    """Markdown: one table of keys for each table of the study file."""
    return "\n".join([_HEAD, *sections(Study)])


def sections(model: type[Frozen], heading: str = "The top of the file") -> list[str]:
    """Markdown sections of a model and of the tables inside it; a table that stands in two places gets one section."""
    root = model.model_json_schema()
    places: dict[str, list[str]] = {}
    tables: dict[str, Schema] = {}
    for place, table in _tables(root, root, ""):
        title = str(table.get("title"))
        places.setdefault(title, []).append(place)
        tables[title] = table
    return [
        _section(root, table, " and ".join(f"`{place}`" for place in places[title] if place) or heading)
        for title, table in tables.items()
    ]


def _tables(root: Schema, schema: Schema, place: str) -> Iterator[tuple[str, Schema]]:
    """Every table with the name it has in TOML, from the outside in."""
    for choice in wanted.variants(root, schema):
        if choice.get("type") == "array":
            yield from _tables(root, choice["items"], f"[{place}]")
        elif "properties" in choice:
            yield place, choice
            for key, below in choice["properties"].items():
                inside = place.strip("[]")
                yield from _tables(root, below, f"[{inside}.{key}]" if inside else f"[{key}]")


def _section(root: Schema, table: Schema, heading: str) -> str:
    required = table.get("required", [])
    rows = [
        f"| `{key}` | {'required' if key in required else _default(rules)} | {_cell(wanted.in_words(root, rules, key))} "
        f"| {_cell(_meaning(root, rules))} |"
        for key, rules in table["properties"].items()
    ]
    text = str(table.get("description", "")).split("\n", maxsplit=1)[0]
    lines = [f"## {heading}", "", text, "", "| key | default | allowed | meaning |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _meaning(root: Schema, rules: Schema) -> str:
    """The key's own description, else that of the table it holds."""
    found = [rules, *wanted.variants(root, rules)]
    return next((str(schema["description"]) for schema in found if "description" in schema), "")


def _default(rules: Schema) -> str:
    default: Any = rules.get("default")
    if default is None:
        return "none"
    if isinstance(default, Mapping):
        return "as below" if default else "empty"
    return f"`{json.dumps(default)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main(arguments: list[str] | None = None) -> int:
    """Writes the reference to a file."""
    parser = argparse.ArgumentParser(prog="python -m nephoscope.study.reference", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=Path("docs/reference/study.md"))
    parser.parse_args(arguments).file.write_text(study_reference(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
