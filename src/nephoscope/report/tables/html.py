"""Table rows as HTML. A large report has a hundred thousand cells, for which a template engine is too slow."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from nephoscope.report.figures.spec import pack
from nephoscope.report.parts import Badge, Cell, Column, Link, Row

MAX_PLAIN_ROWS = 32_768
"""Folded rows of up to this many characters are not packed; pages of a few configurations stay below it."""


def rows_html(columns: Sequence[Column], rows: Iterable[Row]) -> Markup:
    """Table rows; all text is escaped."""
    return Markup("\n").join(Markup(_group(columns, row) if row.group else _row(columns, row)) for row in rows)  # noqa: S704  # escaped below


def folded_html(columns: Sequence[Column], rows: Iterable[Row]) -> Markup:
    """The table body that a reader can unfold; packed when it is long."""
    html = rows_html(columns, rows)
    if len(html) <= MAX_PLAIN_ROWS:
        return Markup('<tbody class="more">\n{}\n</tbody>').format(html)
    return Markup('<tbody class="more" data-rows="{}"></tbody>').format(pack(html))


def _row(columns: Sequence[Column], row: Row) -> str:
    anchor = f' id="{escape(row.anchor)}"' if row.anchor else ""
    cells = (
        _cell(cell, "td" if index else "th", column)
        for index, (cell, column) in enumerate(zip(row.cells, columns, strict=False))
    )
    return f"<tr{anchor}>{''.join(cells)}</tr>"


def _group(columns: Sequence[Column], row: Row) -> str:
    head = _link(row.group) if row.group else ""
    note = f" <small>{escape(row.group_note)}</small>" if row.group_note else ""
    return (
        f'<tr class="group"><th scope="rowgroup" colspan="{len(columns)}">'
        f'<span class="pinned">{head}{note}</span></th></tr>'
    )


def _cell(cell: Cell, tag: str, column: Column) -> str:
    kinds = " ".join(filter(None, (column.kinds, cell.tone)))
    attributes = "".join(
        (
            ' scope="row"' if tag == "th" else "",
            f' class="{kinds}"' if kinds else "",
            f' title="{escape(cell.title)}"' if cell.title else "",
        )
    )
    return f"<{tag}{attributes}>{_inner(cell)}</{tag}>"


def _inner(cell: Cell) -> str:
    parts = [f'<span class="line">{escape(line)}</span>' for line in cell.lines]
    parts += [_badge(badge) for badge in cell.badges]
    parts.append(" ".join(_link(link, "id") for link in cell.links))
    if cell.folded:
        first, _, rest = cell.folded.partition("\n")
        parts.append(f"<details><summary>{escape(first)}</summary>{escape(rest)}</details>")
    if cell.text:
        text = _link(Link(cell.text, cell.href))
        parts.append(f"<code>{text}</code>" if cell.code else text)
    if cell.note:
        parts.append(f"<small>{escape(cell.note)}</small>")
    return "".join(parts)


def _link(link: Link, kind: str = "") -> str:
    text = escape(link.text)
    named = f' class="{kind}"' if kind else ""
    if link.href:
        return f'<a{named} href="{escape(link.href)}">{text}</a>'
    return f"<span{named}>{text}</span>" if kind else str(text)


def _badge(badge: Badge) -> str:
    sign = f'<span class="sign" aria-hidden="true">{badge.sign}</span>'
    return f'<span class="badge {badge.tone}">{sign} {escape(badge.word)}</span>'
