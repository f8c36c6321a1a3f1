"""Texts that somebody else could have put wherever a file or a server has a text, and what must not come of them."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from nephoscope.model.errors import DamagedFile
from nephoscope.model.records import FactsRecord, Measurement, Plan, SourceRecord, StartedRecord, Status, TrialIntent
from nephoscope.model.text import hidden
from nephoscope.store import files

BEFORE = "=cmd|' /C calc'!A0;=1+1 "
AFTER = (
    "\x1b[2J\x1b]0;title\x07\x00\x85\u202e\u200b\ufffe\ud800 <script>alert(1)</script> ##[error]forged "
    "\n::error file=x::forged\r\n# forged\n```\n| forged |\n@everyone [x](javascript:alert(1)) ##vso[task.x]"
)
_MODELS: Mapping[str, type[BaseModel]] = {
    "plan.json": Plan,
    "source.json": SourceRecord,
    "trial.json": TrialIntent,
    "started.json": StartedRecord,
    "status.json": Status,
    "measurements.jsonl": Measurement,
}


def poison(folder: Path) -> set[str]:
    """Makes every text of a results folder hostile that its files may hold at all, the same text in the same way.

    Returns:
        The texts that are hostile now, as they were before.
    """
    documents = {path: _read(path) for path in sorted(folder.rglob("*.json*")) if "raw" not in path.parts}
    hostile: set[str] = set()
    for text in sorted({text for rows in documents.values() for text in _texts(rows)}):
        concerned = [path for path, rows in documents.items() if text in _texts(rows)]
        changed = {path: _replaced(documents[path], text) for path in concerned}
        if all(_allowed(path, rows) for path, rows in changed.items()):
            documents |= changed
            hostile.add(text)
    for path, rows in documents.items():
        path.write_text(_written(path, rows), encoding="utf-8")
    return hostile


def problems(name: str, text: str) -> Iterator[str]:
    """What a reader, a terminal, a spreadsheet or a CI run would make of hostile texts in an output."""
    if character := hidden(text.replace("\n", "")):
        yield f"{name}: U+{ord(character):04X}"
    if name.endswith(".html"):
        if "<script>alert" in text or '="javascript:' in text:
            yield f"{name}: a script"
        return
    for row in text.split("\n"):
        if row.lstrip().startswith(("::error", "# forged", "```", "| forged")):
            yield f"{name}: a line begins with {row[:40]!r}"
        if not name.endswith((".csv", ".json")) and ("##[" in row or "##vso[" in row):
            yield f"{name}: a command to a CI run"
    if name.endswith(".csv"):
        cells = [cell for row in csv.reader(io.StringIO(text)) for part in row for cell in part.split(";")]
        yield from (f"{name}: a formula: {cell[:40]!r}" for cell in cells if cell.startswith("=cmd"))


def _read(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def _written(path: Path, rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows) if path.suffix == ".jsonl" else json.dumps(rows[0])


def _allowed(path: Path, rows: list[Any]) -> bool:
    model = FactsRecord if path.parent.name == "facts" else _MODELS.get(path.name)
    if model is None:
        return path.name == "verdict.json"
    try:
        for row in rows:
            files.parsed(json.dumps(row).encode(), path, model)
    except DamagedFile:
        return False
    return True


_BY_NAME = {"schema", "id", "uses", "check", "verdict", "state"}
"""Keys whose texts nephoscope looks up."""


def _texts(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {text for key, inner in value.items() if key not in _BY_NAME for text in _texts(inner)}
    return {text for inner in value for text in _texts(inner)} if isinstance(value, list) else set()


def _replaced(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return f"{BEFORE}{value}{AFTER}" if value == text else value
    if isinstance(value, dict):
        return {key: inner if key in _BY_NAME else _replaced(inner, text) for key, inner in value.items()}
    return [_replaced(inner, text) for inner in value] if isinstance(value, list) else value
