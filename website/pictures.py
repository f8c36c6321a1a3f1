"""Takes the pictures of README and tutorial from a report: `python website/pictures.py REPORT`.

Beside the pictures a digest says what they were taken from, so that a test can ask for new ones.
"""

import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TAKEN_FROM = IMAGES / "pictures.json"
WIDTH = 1280
HEIGHTS = {"verdict": 715, "report": 1700}
"""Picture -> pixels from the top of the main page."""
_TEMPLATES = "src/nephoscope/report/templates"
SOURCES = (
    "docs/examples/laptop/results.tar.xz",
    f"{_TEMPLATES}/layout.html.j2",
    f"{_TEMPLATES}/main.html.j2",
    f"{_TEMPLATES}/verdict.html.j2",
    "website/pictures.py",
)
"""The study, and what decides the menu, the order and the cards. A picture may lag behind in what is smaller."""


def digests() -> dict[str, str]:
    """Source -> SHA-256."""
    return {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in SOURCES}


def take(report: Path) -> None:
    """Writes the pictures and the digests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, height in HEIGHTS.items():
            page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
            page.goto((report / "index.html").resolve().as_uri())
            page.wait_for_load_state("networkidle")
            page.wait_for_function(
                "[...document.querySelectorAll('.drawing')].slice(0, 1).every(e => e.children.length)"
            )
            page.wait_for_timeout(500)
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()
    TAKEN_FROM.write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    take(Path(sys.argv[1]))
