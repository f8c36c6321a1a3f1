"""Every figure of a report as files that stand alone."""

import csv
import xml.etree.ElementTree as ET
from functools import cache

from nephoscope.model.publication import Publication
from nephoscope.report.figure_files import figure_files, source_line
from nephoscope.report.files import Report, report_files
from tests.unit.report.numbers_example import every_chapter

PUBLISHED = Publication(authors=["Ada Lovelace"], licence="CC BY 4.0", address="https://example.org/report/")
SVG = "{http://www.w3.org/2000/svg}"


@cache
def written() -> Report:
    return report_files(every_chapter().model_copy(update={"publication": PUBLISHED}), mark="Simulated, not measured")


@cache
def files() -> dict[str, bytes]:
    return figure_files(written().figures[:12], every_chapter().model_copy(update={"publication": PUBLISHED}))


def test_a_figure_is_a_drawing_a_picture_and_its_rows() -> None:
    kinds = {name.rpartition(".")[2] for name in files()}
    assert kinds == {"svg", "png", "csv", "md"}
    assert len(files()) == 12 * 3 + 1
    assert all(content.startswith(b"\x89PNG") for name, content in files().items() if name.endswith(".png"))
    rows = list(csv.DictReader(files()["figure-01.csv"].decode().splitlines()))
    assert {row["configuration"] for row in rows} == {"n2-small", "m6i-small"}
    assert all(float(row["low"]) < float(row["level"]) < float(row["high"]) for row in rows)


def test_a_drawing_needs_neither_the_page_nor_its_style_sheet() -> None:
    for figure in written().figures[:12]:
        text = files()[f"figure-{figure.number:02d}.svg"].decode()
        words = " ".join(part.text or "" for part in ET.fromstring(text).findall(f"{SVG}text"))  # noqa: S314  # ours
        assert "var(--" not in text
        assert figure.title.split()[0] in words
        assert "Simulated, not measured" in words
        assert "CC BY 4.0" in words
        assert text.count("<svg") == 1 + len(figure.panels)


def test_the_source_names_author_terms_and_address() -> None:
    said = source_line(every_chapter().model_copy(update={"publication": PUBLISHED}))
    assert said.startswith("Source: “Two machines of two clouds”. Ada Lovelace. https://example.org/report/. Text and")
    assert source_line(every_chapter()) == "Source: “Two machines of two clouds”. Made with nephoscope 0."


def test_a_link_to_a_published_report_shows_its_first_figure() -> None:
    assert written().files["preview.png"].startswith(b"\x89PNG")
    assert (
        b'<meta property="og:image" content="https://example.org/report/preview.png">' in written().files["index.html"]
    )
    unpublished = report_files(every_chapter()).files
    assert "preview.png" not in unpublished
    assert b"og:image" not in unpublished["index.html"]
