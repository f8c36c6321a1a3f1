"""What reading a Parquet file would cost, by its own page headers: a few bytes can stand for a billion equal values.

The headers are structs in Thrift's compact protocol; numbers of fields are those of parquet.thrift in
https://github.com/apache/parquet-format. Footer and pages may contradict each other, so the largest number counts.
"""

from typing import Any, NamedTuple

_MAGIC = b"PAR1"
_END_BYTES = 8
"""Length of the footer, and the magic number."""
_LINEAR = frozenset({0, 2, 3, 5, 6, 8})
"""Encodings whose values are at most as long as page and dictionary: not DELTA_BYTE_ARRAY, where each value can repeat
the one before it."""
_DATA, _DICTIONARY, _DATA_V2 = 5, 7, 8
"""Fields of a page's header, of which it has one; in each, the first is the number of values and the second their
encoding, except that version 2 has nulls and rows in between."""
_ENCODING = {_DATA: 2, _DICTIONARY: 2, _DATA_V2: 4}
_SKIPPED = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of values that do not matter, by their kind: booleans, a byte, a double."""
_MOST_DEPTH = 8
"""Of structs in structs: the format has five."""


class Cost(NamedTuple):
    """An upper bound of what a reader makes of a file."""

    values: int
    """In all columns, elements of lists and nulls included."""
    uncompressed_bytes: int


def cost_of(content: bytes) -> Cost:
    """The cost of a whole file; takes time in proportion to its bytes.

    Raises:
        ValueError: it is not Parquet, or its headers contradict each other.
    """
    try:
        return _sum(content)
    except (IndexError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"its headers cannot be read: {error}") from error


def _sum(content: bytes) -> Cost:
    length = int.from_bytes(content[-_END_BYTES:-4], "little")
    if not content.startswith(_MAGIC) or not content.endswith(_MAGIC) or length > len(content) - 2 * _END_BYTES + 4:
        raise ValueError("it is not Parquet")
    footer, _ = _struct(content, len(content) - _END_BYTES - length)
    values = uncompressed = compressed = 0
    for group in footer.get(4, []):
        for column in group[1]:
            chunk = column[3]
            pages = _pages(content, chunk) if chunk[7] else Cost(0, 0)
            values += max(pages.values, chunk[5], group[3], 0)
            uncompressed += pages.uncompressed_bytes
            compressed += chunk[7]
            if compressed > len(content):
                raise ValueError("its columns overlap")
    return Cost(max(values, footer[3]), uncompressed)


def _pages(content: bytes, chunk: dict[int, Any]) -> Cost:
    """Of one column in one group of rows."""
    place = min(start for start in (chunk.get(9), chunk.get(11)) if start)
    end = place + chunk[7]
    if place < len(_MAGIC) or chunk[7] < 0 or end > len(content):
        raise ValueError("a column is outside of the file")
    values = uncompressed = 0
    while place < end:
        header, place = _struct(content, place)
        kind = next((field for field in _ENCODING if field in header), None)
        if kind is None:
            raise ValueError("a page holds no values")
        if header[kind][_ENCODING[kind]] not in _LINEAR:
            raise ValueError("a column has an encoding that nephoscope does not write")
        if header[2] < 0 or header[3] < 0 or header[kind][1] < 0:
            raise ValueError("a page has a negative size")
        values += header[kind][1]
        uncompressed += header[2]
        place += header[3]
    return Cost(values, uncompressed)


def _struct(content: bytes, place: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Field -> value of a struct, and the place after it."""
    if depth > _MOST_DEPTH:
        raise ValueError("its headers are nested too deeply")
    fields: dict[int, Any] = {}
    field = 0
    while head := content[place]:
        place += 1
        if head >> 4:
            field += head >> 4
        else:
            field, place = _integer(content, place)
        fields[field], place = _value(content, place, head & 15, depth)
    return fields, place + 1


def _value(content: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in _SKIPPED:
        return None, place + _SKIPPED[kind]
    if kind in {4, 5, 6}:
        return _integer(content, place)
    if kind == 8:
        length, place = _unsigned(content, place)
        return None, place + length
    if kind in {9, 10}:
        return _list(content, place, depth)
    if kind == 12:
        return _struct(content, place, depth + 1)
    raise ValueError(f"a header has a value of the unknown kind {kind}")


def _list(content: bytes, place: int, depth: int) -> tuple[list[Any], int]:
    length, kind = content[place] >> 4, content[place] & 15
    place += 1
    if length == 15:  # then the length follows
        length, place = _unsigned(content, place)
    found = []
    for _ in range(length):
        if kind in {1, 2}:
            element, place = None, place + 1  # elsewhere, a boolean is its field's kind
        else:
            element, place = _value(content, place, kind, depth + 1)
        if place > len(content):
            raise ValueError("its headers end too early")
        found.append(element)
    return found, place


def _integer(content: bytes, place: int) -> tuple[int, int]:
    """Zigzag: the sign is the lowest bit."""
    number, place = _unsigned(content, place)
    return number >> 1 ^ -(number & 1), place


def _unsigned(content: bytes, place: int) -> tuple[int, int]:
    """Seven bits in each byte, the lowest first."""
    number = shift = 0
    while content[place] & 128:
        number |= (content[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if shift > 63:  # more bits than any number has
            raise ValueError("its headers hold a number that is too large")
    return number | content[place] << shift, place + 1
