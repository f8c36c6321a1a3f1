"""One dated price with its source and licence, and our own CSV of them: read with line numbers, written the same way.

A price keeps the unit of its source. Nothing is converted here, and what a source does not say stays empty.
"""

import csv
import datetime
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.model.text import as_written, inert, line
from nephoscope.model.words import counted, without_kind


class Kind(StrEnum):
    """What is paid for."""

    MACHINE = "machine"
    STORAGE = "storage"
    TRANSFER = "transfer"
    MANAGED = "managed"
    """An instance of a database service, or its storage."""


class Unit(StrEnum):
    """What one price buys."""

    HOUR = "hour"
    GB_MONTH = "GB-month"
    GIB_MONTH = "GiB-month"
    GIB_HOUR = "GiB-hour"
    IOPS_MONTH = "IOPS-month"
    IOPS_HOUR = "IOPS-hour"
    MB_PER_S_MONTH = "MB/s-month"
    MB_PER_S_HOUR = "MB/s-hour"
    MIB_PER_S_MONTH = "MiB/s-month"
    VCPU_HOUR = "vCPU-hour"
    DISK_MONTH = "disk-month"
    GB = "GB"
    GIB = "GiB"


class Basis(StrEnum):
    """The terms of purchase. One column never mixes prices of two bases."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED_1Y = "reserved-1y"
    RESERVED_3Y = "reserved-3y"
    SAVINGS_PLAN_1Y = "savings-plan-1y"
    SAVINGS_PLAN_3Y = "savings-plan-3y"
    SUSTAINED_USE = "sustained-use"
    NOT_STATED = "not-stated"


DISPUTED = "disputed: "
"""How the note of a price begins that another source contradicts while neither is known to be wrong."""

_PARTIAL_DATE = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")


def first_day(text: str) -> datetime.date:
    """First day of '2022-03-07', '2022-03' or '2022': a source may say no more than the year.

    Raises:
        ValueError: it is none of these.
    """
    found = _PARTIAL_DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a date, month or year: {text!r}")
    year, month, day = found.groups()
    return datetime.date(int(year), int(month or 1), int(day or 1))


Line = Annotated[str, AfterValidator(line)]
Text = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$"), AfterValidator(line)]


class Price(Frozen):
    """One row of a price book."""

    provider: Text = Field(description="'aws', 'gcp', 'azure' or any other name")
    region: Text = Field(description="the provider's name of it; 'any' for all of its regions")
    kind: Kind
    item: Text = Field(description="machine type, kind of volume, path of the bytes, or product of a database service")
    unit: Unit
    above: float = Field(default=0, ge=0, description="start of the tier: the price applies above this many units")
    up_to: float | None = Field(default=None, gt=0, description="end of the tier; none: unknown")
    basis: Basis
    terms: Line = Field(
        default="", description="payment of a commitment, as far as the source says: 'no upfront, standard'"
    )
    usd: float = Field(ge=0, description="US dollars per unit, without taxes")
    source: Text
    licence: Text = Field(description="licence of the source; 'not stated' if it names none")
    date: Text = Field(
        description="date of the price in the source: a day, or a month or a year if the source gives no more"
    )
    disputed: Line = Field(
        default="", description="why this row is considered wrong; such a row is shown but never used"
    )
    note: Line = ""
    until: Line = Field(default="", description="last day on which the price holds; empty: it has no end yet")

    @field_validator("date", "until")
    @classmethod
    def _is_a_date(cls, text: str) -> str:
        if text:
            first_day(text)
        return text

    @model_validator(mode="after")
    def _tier_has_a_width(self) -> "Price":
        if self.up_to is not None and self.up_to <= self.above:
            raise ValueError(f"the tier ends at {self.up_to:g}, before it starts at {self.above:g}")
        return self

    @property
    def since(self) -> datetime.date:
        """From which day on the row counts: the first day of its date."""
        return first_day(self.date)

    def ended(self, on: datetime.date) -> bool:
        """Whether it no longer holds on a day."""
        return self.until != "" and first_day(self.until) < on

    @property
    def unexplained_zero(self) -> bool:
        """A price of 0 that does not say 'free': lists write 0 for what is not sold."""
        return self.usd == 0 and "free" not in self.note

    @property
    def other_price(self) -> str | None:
        """What another source says, where neither is known to be wrong; None: nobody contradicts."""
        return self.note.removeprefix(DISPUTED) if self.note.startswith(DISPUTED) else None

    @property
    def id(self) -> str:
        """12 hexadecimal digits of the SHA-256 of its cells: what evidence names it by."""
        columns = COLUMNS if self.until else COLUMNS[:-1]  # as before prices had an end
        cells = "\x1f".join(_cell(getattr(self, column)) for column in columns)
        return hashlib.sha256(cells.encode()).hexdigest()[:12]

    @property
    def place(self) -> str:
        """'aws us-east-1 gp3': what it is, for messages."""
        return f"{self.provider} {self.region} {self.item}"


COLUMNS = tuple(Price.model_fields)


def read_csv(path: Path) -> list[Price]:
    """The rows of one of our own files.

    Raises:
        InputError: it cannot be read, or a line is wrong; the message has a line with `file:line` for each problem.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read: {why}", hint="name a CSV file in UTF-8") from error
    return parse_csv(text, str(path))


def parse_csv(text: str, name: str) -> list[Price]:
    """The rows of a CSV's text; messages call it `name`. Optional columns may be missing."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Price] = []
    problems: list[str] = []
    try:
        columns = [column.strip() for column in next(reader, [])]
        _check_columns(columns, name)
        for cells in reader:
            if cells:
                problems += _add(rows, columns, [*map(as_written, cells)], f"{name}:{reader.line_num}")
    except csv.Error as error:
        problems.append(f"{name}:{reader.line_num}: not CSV: {error}")
    if problems:
        raise InputError(problems, hint="docs/how-to/prices.md lists the columns")
    return rows


def to_csv(rows: Iterable[Price]) -> str:
    """The rows as CSV; reading it back gives equal rows."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([inert(_cell(getattr(row, column))) for column in COLUMNS])
    return out.getvalue()


def _check_columns(columns: list[str], name: str) -> None:
    required = [key for key, field in Price.model_fields.items() if field.is_required()]
    problems = [f"no column {key!r}" for key in required if key not in columns]
    problems += [f"unknown column {column!r}" for column in columns if column not in COLUMNS]
    problems += [f"column {column!r} appears twice" for column in sorted(set(columns)) if columns.count(column) > 1]
    if problems:
        raise InputError(f"{name}:1: {'; '.join(problems)}", hint=f"columns are: {', '.join(COLUMNS)}")


def _add(rows: list[Price], columns: list[str], cells: list[str], place: str) -> Iterator[str]:
    if len(cells) != len(columns):
        yield f"{place}: {counted(len(cells), 'cell')}, but {len(columns)} columns"
        return
    given = {column: cell.strip() for column, cell in zip(columns, cells, strict=True) if cell.strip()}
    try:
        rows.append(Price.model_validate(given))
    except ValidationError as error:
        for one in error.errors(include_url=False):
            where = ".".join(str(part) for part in one["loc"])
            found = "" if one["type"] == "missing" or not where else f", found {one['input']!r}"
            yield f"{place}: {where + ': ' if where else ''}{without_kind(one['msg'])}{found}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value)
