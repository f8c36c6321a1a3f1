"""What MkDocs does beyond its configuration: the menu, pages for linked sources, the example reports.

The menu is the list of docs/index.md. Pages link to sources beside docs/, as GitHub shows them; here each linked source
becomes a page, and each linked folder a list of its files, so that no link of the site leaves it.
"""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "build" / "examples"
SOURCES = "source"
"""The folder of the site that has the sources."""

_FENCED = re.compile(r"(^ *```.*?^ *```[ ]*$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?P<file>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_ENTRY = re.compile(r"^- .*?\[(?P<title>[^\]]+)\]\((?P<file>[\w/-]+\.md)\)", re.MULTILINE)
_EXAMPLE = re.compile(r"<!-- example: (?P<name>[\w-]+) -->")
_GALLERY = "<!-- gallery -->"
_LOADED = re.compile(r'<(?:script|img|link|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n"


@dataclass(frozen=True)
class Place:
    """A file of the repository and where the site has it, both as paths with slashes."""

    source: str
    page: str


def on_config(config: Any) -> Any:
    """Takes the menu from docs/index.md: a heading is a tab, its links are the pages, perhaps in groups."""
    start, *parts = re.split(r"^## ", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    menu: list[Any] = [{"Start": ["index.md", *_entries(start)]}]
    menu += [_section(part, below=3) for part in parts if _entries(part)]
    config.nav = menu
    return config


def _section(text: str, below: int) -> dict[str, list[Any]]:
    """Entries under the heading that begins the text, and under the headings of the next level in it."""
    own, *groups = re.split(rf"^{'#' * below} ", text, flags=re.MULTILINE)
    return {own.partition("\n")[0]: [*_entries(own), *(_section(group, below + 1) for group in groups)]}


def _entries(text: str) -> list[dict[str, str]]:
    return [{found["title"].replace("`", ""): found["file"]} for found in _ENTRY.finditer(text)]


def on_files(files: Files, config: Any) -> Files:
    """Adds the reports that were built and every source that a page links to, and those that these link to."""
    for report in sorted(EXAMPLES.glob("*/report/*")):
        name = report.parents[1].name
        files.append(File.generated(config, f"reports/{name}/{report.name}", abs_src_path=str(report)))
    waiting = [
        (f"docs/{file.src_uri}", Path(str(file.abs_src_path)).read_text(encoding="utf-8"))
        for file in files.documentation_pages()
    ]
    while waiting:
        source, text = waiting.pop()
        for place in _borrowed(source, text):
            if place.page in files.src_uris:
                continue
            content = _page(place, files, config)
            unsearched = _NOT_SEARCHED + content
            files.append(File.generated(config, place.page, content=unsearched, inclusion=InclusionLevel.NOT_IN_NAV))
            if place.source.endswith(".md"):
                waiting.append((place.source, content))
    return files


def _borrowed(source: str, text: str) -> list[Place]:
    found: list[Place] = []
    _relinked(source, text, found.append)
    return found


def _page(place: Place, files: Files, config: Any) -> str:
    path = ROOT / place.source
    if path.is_dir():
        return f"# {place.source}\n\n" + "".join(_listed(path, place, files, config))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return _indented(text)
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"# {path.name}\n\n`{place.source}`\n\n{fence}{{.{_language(path)} }}\n{text}\n{fence}\n"


def _indented(text: str) -> str:
    """Markdown as Python-Markdown needs it: four spaces, not three, before the parts of an item, a blank line after."""
    parts = _FENCED.split(re.sub(r"^( +\S.*\n)(?=\d+\. )", r"\1\n", text, flags=re.MULTILINE))
    started = r"^ {3}(?=- )|(?<=\n\n) {3}(?=\S)"
    return "".join(
        re.sub(r"^ {3}" if number % 2 else started, "    ", part, flags=re.MULTILINE)
        for number, part in enumerate(parts)
    )


def _language(path: Path) -> str:
    return {".py": "python", ".rs": "rust", ".toml": "toml", ".json": "json"}.get(path.suffix, "text")


def _listed(folder: Path, place: Place, files: Files, config: Any) -> list[str]:
    """The files of a folder, each as it is, beside the list; and its folders by name."""
    lines = []
    for name in _tracked(folder):
        if "/" in name:
            continue
        beside = f"{PurePosixPath(place.page).parent}/{name}"
        files.append(File.generated(config, beside, abs_src_path=str(folder / name)))
        lines.append(f"- [{name}]({name})\n")
    return lines


def _tracked(folder: Path) -> list[str]:
    said = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, text=True, check=True)
    return said.stdout.splitlines()


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Points links to sources at their pages, and says of each example where it is or how it is made."""
    source = _source_of(page.file.src_uri)
    text = _relinked(source, markdown, lambda _: None)
    return _EXAMPLE.sub(lambda found: _example(found["name"], PurePosixPath(page.file.src_uri).parent), text)


def on_page_content(html: str, **_: Any) -> str:
    """Puts the gallery where a page asks for it."""
    made = EXAMPLES / "gallery.html"
    built = made.read_text(encoding="utf-8") if made.exists() else "<p><em>This site was built without it.</em></p>"
    return html.replace(_GALLERY, built)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuses a page that loads something from another host.

    Raises:
        PluginError: it does.
    """
    if found := _LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads from the network: {found[0]}")
    return output


def _example(name: str, here: PurePosixPath) -> str:
    if (EXAMPLES / name / "report" / "index.html").exists():
        report = relpath(f"reports/{name}", here)
        return (
            f"[Open the report]({report}/index.html){{ .md-button .md-button--primary }} "
            f"[Download its data]({report}/bundle.zip){{ .md-button }}"
        )
    return "*This site was built without this report.*"


def _source_of(uri: str) -> str:
    if not uri.startswith(f"{SOURCES}/"):
        return f"docs/{uri}"
    return uri.removeprefix(f"{SOURCES}/").removesuffix("/index.md")


def _relinked(source: str, text: str, borrow: Callable[[Place], None]) -> str:
    """The text of a page with links as the site needs them; `borrow` is told every source that they lead to."""
    here = _place(source).page

    def target(found: re.Match[str]) -> str:
        aimed = normpath(f"{PurePosixPath(source).parent}/{found['file']}")
        if not (ROOT / aimed).exists():
            return found[0]
        place = _place(aimed)
        if place.page.startswith(f"{SOURCES}/"):
            borrow(place)
        return relpath(place.page, PurePosixPath(here).parent) + (found["anchor"] or "")

    parts = _FENCED.split(text)
    return "".join(part if number % 2 else _LINK.sub(target, part) for number, part in enumerate(parts))


def _place(source: str) -> Place:
    """Where the site has a file or a folder of the repository."""
    path = ROOT / source
    if path.is_dir():
        return Place(source, f"{SOURCES}/{source}/index.md")
    if source.startswith("docs/"):
        return Place(source, source.removeprefix("docs/"))
    return Place(source, f"{SOURCES}/{source}{'' if path.suffix == '.md' else '.md'}")
