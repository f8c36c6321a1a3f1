"""What importers share: a list's origin, their results, and clear errors for damaged files."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import without_kind
from nephoscope.prices.rows import Basis, Price, first_day, read_csv

HOURS_PER_YEAR = 8760
"""365 days: the divisor of AWS and Azure for a year's price."""
HOURS_PER_MONTH = 730


class Origin(Frozen):
    """What a list may not say about itself. A date given here overrides the list's own."""

    source: str
    licence: str = "not stated"
    date: str | None = None


@dataclass
class Imported:
    """Rows in the order of the list, and how many of its entries became none, by reason."""

    rows: list[Price] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        origin: Origin,
        *,
        usd: float,
        free: bool = False,
        listed: object = None,
        starts: object = None,
        ends: object = None,
        **values: Any,
    ) -> None:
        """Adds a row of that origin; a row that equals an earlier one in every column is added only once.

        The row holds from the day of the list on, or later where its price starts later. Without a day of the list it
        holds since its price started.

        Args:
            origin: where the list is from; its date overrides the list's own.
            usd: its price; 0 is none unless it is free.
            free: whether the source says so.
            listed: day of the list, as it says: '2020-07-09T22:30:13Z'.
            starts: first day of the price, as the list says.
            ends: last day of the price, as the list says.
            values: the other columns.

        Raises:
            InputError: neither the origin nor the list says a day.
        """
        start, until = _day(starts), _day(ends) or ""
        date = origin.date or _day(listed) or start
        if date is None:
            raise InputError(
                f"{origin.source}: the list does not state its date (found {listed or starts!r})",
                hint="give the date of the download with --date",
            )
        if until and first_day(until) < first_day(date):
            self.skip("price that had ended on the day of the list")
            return
        if usd == 0 and not free:
            self.skip("price of 0 that is not called free: lists write it for what is not sold")
            return
        if usd == 0:
            values["note"] = f"{values.get('note', '')}; free".removeprefix("; ")
        date = max(date, start or date, key=first_day)
        row = Price(source=origin.source, licence=origin.licence, usd=usd, date=date, until=until, **values)
        if row not in self._seen:
            self._seen.add(row)
            self.rows.append(row)
        else:
            self.skip("the same row again (for another zone or operation)")

    def skip(self, reason: str) -> None:
        """One entry that is no row of a price book."""
        self.skipped[reason] += 1

    _seen: set[Price] = field(default_factory=set, init=False, repr=False)


def own(path: Path, _origin: Origin) -> Imported:
    """Our own CSV names source, licence and date in every row; the origin says nothing new."""
    return Imported(rows=read_csv(path))


def read_bytes(path: Path) -> bytes:
    """The file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_json(path: Path) -> Any:
    """The file's JSON, with or without a byte order mark.

    Raises:
        InputError: it is not JSON; the message names the line.
    """
    try:
        return json.loads(read_bytes(path).decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: not JSON: {error.msg}", hint="the download may be incomplete: download it again"
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, nested too deeply
        raise InputError(f"{path}: not JSON: {error}") from error


@contextmanager
def shape_of(path: Path, what: str) -> Iterator[None]:
    """Turns 'a key is missing, a value has another type' into an error of the input.

    Raises:
        InputError: instead of what parsing raised.
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{path}: {where}: {without_kind(first['msg'])}, found {first['input']!r}", hint=f"expected {what}"
        ) from error
    except KeyError as error:
        raise InputError(f"{path}: no key {error}", hint=f"expected {what}") from error
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(f"{path}: unexpected format: {error}", hint=f"expected {what}") from error


_FREE = re.compile(r"\bfree\b", re.IGNORECASE)


def says_free(text: object) -> bool:
    """Whether a list calls something free."""
    return _FREE.search(str(text)) is not None


def _day(stated: object) -> str | None:
    """The day of a moment as a list states it; None: it states none."""
    day = str(stated)[:10]
    try:
        first_day(day)
    except ValueError:
        return None
    return day


def reserved(years: int) -> Basis | None:
    """The basis of a reservation of so many years; none for terms that a price book does not hold."""
    return {1: Basis.RESERVED_1Y, 3: Basis.RESERVED_3Y}.get(years)


def savings_plan(years: int) -> Basis | None:
    """The basis of a savings plan of so many years."""
    return {1: Basis.SAVINGS_PLAN_1Y, 3: Basis.SAVINGS_PLAN_3Y}.get(years)
