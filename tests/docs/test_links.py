"""Links lead somewhere, and pages name no place of a machine."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.docs import pages

TEXTS = {page: page.read_text(encoding="utf-8") for page in pages.PAGES}


@cache
def anchors(page: Path) -> set[str]:
    return pages.anchors(page.read_text(encoding="utf-8"))


def broken(page: Path) -> Iterator[str]:
    for target in pages.links(TEXTS[page]):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (page.parent / file).resolve() if file else page
        if not place.is_relative_to(pages.ROOT):
            yield f"{target}: outside the repository"
        elif not place.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(place):
            yield f"{target}: no such heading"


def on_pages(found: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """Page -> what is found on it, of pages where there is something."""
    return {pages.name_of(page): lines for page in pages.PAGES if (lines := [*found(page)])}


def test_internal_links_resolve() -> None:
    assert on_pages(broken) == {}


def test_no_page_names_a_place_of_a_machine() -> None:
    allowed = r"/(?:usr/lib/postgresql|var/run/postgresql|proc|socket|mnt/data|etc/os-release)"
    place = re.compile(r"(?<![\w.<>*})\]-])/(?:home|root|tmp|work|opt|srv|mnt|var|usr|Users)/[\w./-]*")
    assert on_pages(lambda page: [one for one in place.findall(TEXTS[page]) if not re.match(allowed, one)]) == {}


def long_lines(page: Path) -> list[str]:
    by_hand = pages.with_generated(TEXTS[page], dict.fromkeys(pages.generated_names(TEXTS[page]), ""))
    text = re.sub(r"^ *```.*?^ *```$", "", by_hand, flags=re.MULTILINE | re.DOTALL)
    prose = [  # headings of tables are generated
        line for line in text.splitlines() if not line.startswith(("|", "A study is a [TOML]", "## `["))
    ]
    return [line for line in prose if len(line) > 120]


def test_lines_are_short_enough_to_read_in_a_diff() -> None:
    assert on_pages(long_lines) == {}


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [pages.ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page not in TEXTS:
            continue
        reached.add(page)
        files = (target.partition("#")[0] for target in pages.links(TEXTS[page]))
        waiting += [(page.parent / file).resolve() for file in files if file.endswith(".md")]
    assert set(pages.PAGES) == reached


def test_each_page_is_the_first_link_of_an_entry_of_the_menu() -> None:
    """The site's menu is the list in docs/index.md, and the site is refused when a page is not in it."""
    docs = pages.ROOT / "docs"
    entries = re.findall(r"^- .*?\[[^\]]+\]\(([\w/-]+\.md)\)", TEXTS[docs / "index.md"], re.MULTILINE)
    written = {str(page.relative_to(docs)) for page in docs.rglob("*.md") if page != docs / "index.md"}
    assert written - set(entries) == set()


def test_anchors_are_those_of_github() -> None:
    assert pages.anchors("# One `two`: three\n\n```sh\n# four\n```\n## Kill -9!\n") == {"one-two-three", "kill--9"}
