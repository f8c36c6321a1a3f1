"""The pages of a report as PDF, printed by an installed browser, whose rules for paper the style sheet has."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from nephoscope.model.errors import EnvironmentProblem, ToolMissing
from nephoscope.report.parts import Page

PDF = "report.pdf"
FILES: Mapping[str, str] = {Page.MAIN: PDF, Page.EVIDENCE: "evidence.pdf"}
"""Page -> its PDF."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_PATIENCE_S = 300
_CHARTS_MS = 60_000
"""For the scripts of a page, in time that passes as fast as they need none."""


def installed_browser() -> Path:
    """The first of `BROWSERS` that is installed.

    Raises:
        ToolMissing: none is.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ToolMissing(
            f"a PDF is printed by a browser, and none of {', '.join(BROWSERS)} is installed",
            hint="apt install chromium, or open index.html in any browser and print it",
        )
    return Path(found)


def printed(pages: Mapping[str, bytes], browser: Path, beside: Path) -> dict[str, bytes]:
    """File name -> PDF of each page.

    Args:
        pages: HTML by file name; other files are left alone.
        browser: a Chromium of any brand.
        beside: a folder in which a temporary one is made; one that comes as a snap sees no other.

    Raises:
        EnvironmentProblem: the browser did not print a page.
    """
    with TemporaryDirectory(prefix="printing-", dir=beside) as folder:
        for page in FILES:
            (Path(folder) / page).write_bytes(pages[page])
        return {pdf: _printed(browser, Path(folder) / page) for page, pdf in FILES.items()}


def _printed(browser: Path, page: Path) -> bytes:
    pdf = page.with_suffix(".pdf")
    argv = [
        str(browser),
        "--headless",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),  # with its sandbox, Chromium refuses to run as root
        f"--user-data-dir={page.parent / 'profile'}",
        "--no-pdf-header-footer",
        f"--virtual-time-budget={_CHARTS_MS}",
        f"--print-to-pdf={pdf}",
        page.as_uri(),
    ]
    hint = f"open {page.name} in a browser and print it"
    try:
        done = subprocess.run(argv, capture_output=True, check=False, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentProblem(f"{browser} did not print {page.name} within {_PATIENCE_S} s", hint=hint) from error
    if not pdf.is_file():
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise EnvironmentProblem(
            f"{browser} did not print {page.name} (exit code {done.returncode}): {last}", hint=hint
        )
    return pdf.read_bytes()
