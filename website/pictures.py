"""Takes the pictures of the pages from example reports: `python website/pictures.py build/examples`.

Beside the pictures a digest says what they were taken from, so that a test can ask for new ones.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TAKEN_FROM = IMAGES / "pictures.json"
WIDTH = 1280
HEIGHTS = {"verdict": 715, "report": 1700, "postgres-gcp-2026": 830, "postgresbench-2026": 930}
"""Picture -> pixels from the top of the main page."""
OF_THE_LAPTOP = ("verdict", "report")
"""The others have the name of their example."""
STORED = ROOT / "docs" / "examples"
MAIN_PAGE = ROOT / "src" / "nephoscope" / "report" / "templates" / "main.html.j2"


def digests() -> dict[str, str]:
    """What the pictures show -> its SHA-256: the study, the menu and order of the page, the size of the pictures.

    A picture may lag behind in smaller things, so that not every change of the page asks for new ones.
    """
    outline = [
        line for line in MAIN_PAGE.read_text(encoding="utf-8").splitlines() if re.search("<li|<h2|include", line)
    ]
    reports = [file for name in HEIGHTS for file in sorted((STORED / name).rglob("*")) if file.is_file()]
    shown = {
        "study": (STORED / "laptop" / "results.tar.xz").read_bytes(),
        "reports": b"".join(file.read_bytes() for file in reports),
        "menu and sections": "\n".join(outline).encode(),
        "size": json.dumps([WIDTH, HEIGHTS]).encode(),
    }
    return {name: hashlib.sha256(content).hexdigest() for name, content in shown.items()}


def take(examples: Path) -> None:
    """Writes the pictures and the digests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, height in HEIGHTS.items():
            page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
            report = examples / ("laptop" if name in OF_THE_LAPTOP else name) / "report"
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
