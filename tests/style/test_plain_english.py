"""Docs, help and messages are free of phrases that nobody in the field would write.

CONTRIBUTING's page on style says how to write; this list holds the phrases that came back most often.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs import pages

ROOT = Path(__file__).resolve().parents[2]
GENERATED_PAGES = {"docs/reference/checks.md", "docs/reference/study.md"}
"""Pages written whole by a module: their words are those of its strings."""


@dataclass(frozen=True)
class Phrase:
    """A regular expression whose blanks match line breaks too, a sentence that has it, and the usual wording."""

    pattern: str
    example: str
    instead: str

    @property
    def regex(self) -> re.Pattern[str]:
        blanks_and_breaks = self.pattern.replace(" ", r"\s+")
        return re.compile(rf"(?<!\w){blanks_and_breaks}(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Text:
    """What people read in a file, on the lines where it is there."""

    path: Path
    first_line: int
    words: str


PHRASES = (
    Phrase("(?:is|are|was|were) told", "the cause is told in the log", "is reported, is shown, is in"),
    Phrase("tells? of", "the report tells of drift", "reports, mentions"),
    Phrase("anew", "killed trials are begun anew", "again; restarts, starts over, is rewritten"),
    Phrase("as the type likes", "disks as the type likes", "as the machine type requires"),
    Phrase("for machines instead of", "print for machines instead of people", "as JSON instead of a table"),
    Phrase("with the bars it misses", "the table, with the bars it misses", "and the goals it misses"),
    Phrase(
        "g[ai]ve?(?:s|n)?(?: \\w+){0,4} back", "clusters are given back", "is deleted (cluster), is released (host)"
    ),
    Phrase("giving(?: \\w+){0,4} back", "giving a cluster back", "deleting, releasing"),
    Phrase("looks at (?:this|it|that)", "who looks at this", "uses, reads, examines"),
    Phrase(
        "(?:is|are|was|were) looked (?:at|for)", "the machine is looked at", "is examined, is observed, is searched"
    ),
    Phrase(
        "h[eo]ld(?:s|ing)?(?: [\\w`']+){0,4} against", "hold claims against the numbers", "check against, compare with"
    ),
    Phrase("of them count", "12 finished, 1 of them count", "are valid: '12 finished: 1 valid, 11 rejected'"),
    Phrase("(?:of ours|of yours)", "a book of yours", "our, your own"),
    Phrase("ha(?:s|ve|d) not(?=[.,;:)])", "a key that this version has not.", "does not have, lacks"),
    Phrase("(?:can|could|cannot|may)(?: not)? be had", "no machine can be had", "is (not) available"),
    Phrase("(?:comes?|came) to an end", "no command comes to an end", "ends; hangs"),
    Phrase("taken for dead", "a controller that was taken for dead", "lost its lease"),
    Phrase("lets? us in", "the host lets us in", "accepts the connection"),
    Phrase("mend(?:s|ed|ing)?", "the mode that mends defects", "fix, correct"),
    Phrase("refuses? us", "the server refuses us", "rejects the login"),
    Phrase("known of (?:it|them|the)", "what is not known of them", "known about"),
    Phrase("of which trials would be lost", "a plan of which trials would be lost", "even if that drops trials"),
    Phrase("intervals so narrow", "stop with intervals so narrow", "once every margin is at most X %"),
    Phrase("an?other \\w+ than", "another shape than expected", "different from, other than; unexpected"),
    Phrase("no place is certain", "of one run each no place is certain", "a repeat may change this order"),
    Phrase("all the same(?=[.,;:)])", "the trial begins all the same.", "anyway, nevertheless"),
    Phrase("in the mean", "2.48 rows in the mean", "on average"),
    Phrase("gone on with", "a load that is gone on with", "is resumed"),
    Phrase("taken along", "programs are taken along", "are copied to the machine"),
    Phrase("be a wire", "Be a wire between devices", "relay packets"),
    Phrase("(?:is|are|was|were) waited for", "the server is waited for", "nephoscope waits for"),
    Phrase("says? of (?:it|them)sel(?:f|ves)", "what a server says of itself", "reports about itself"),
    Phrase("hours of machines", "in about 0.0058 hours of machines", "machine hours, seconds if it is short"),
    Phrase(
        "(?:one|two) an? (?:line|row|second|minute|thread|job|step)",
        "statements, one a line",
        "one per line, one per second",
    ),
    Phrase("(?:go|goes|went) on where", "it goes on where it was", "resumes where"),
    Phrase(
        "st(?:ands?|ood) (?:in|at|below|above|beside|under|behind)", "the spec stands in the output", "is in, is below"
    ),
    Phrase("what came of", "what came of the trial", "the result of"),
    Phrase("stays? whole", "files written before stay whole", "stays intact"),
    Phrase("the way there", "wait on the way there", "until then, before"),
)


def markdown() -> Iterator[Text]:
    """Every page, without code, what is generated, and the table of phrases not to use."""
    for page in pages.PAGES:
        name = pages.name_of(page)
        if name not in GENERATED_PAGES:
            words = page.read_text(encoding="utf-8")
            for part in (
                r"<!-- generated: .*?<!-- end of generated -->",
                r"^ *```.*?^ *```$",
                r"^\| instead of .*?\n\n",
            ):
                words = re.sub(part, _blank, words, flags=re.DOTALL | re.MULTILINE)
            yield Text(page, 1, words)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def python() -> Iterator[Text]:
    """Every string of the package, docstrings too; what a string interpolates is left open."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield from strings_of(path, path.read_text(encoding="utf-8"))


def strings_of(path: Path, source: str) -> Iterator[Text]:
    """The strings of a module; parts of an interpolated one are read as one sentence."""
    tree = ast.parse(source)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield Text(path, node.lineno, "".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield Text(path, node.lineno, node.value)


def templates() -> Iterator[Text]:
    """Templates and scripts of the report's page."""
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in {".j2", ".js"}:
            yield Text(path, 1, path.read_text(encoding="utf-8"))


def rust() -> Iterator[Text]:
    """Help and messages of the load generator: its sources without comments that are no documentation."""
    for path in sorted((ROOT / "load" / "src").rglob("*.rs")):
        yield Text(path, 1, rust_words(path.read_text(encoding="utf-8")))


def rust_words(source: str) -> str:
    """The source line by line, without the marks of documentation and of continued strings."""
    without_comments = re.sub(r"^[ \t]*//(?![/!]).*$", "", source, flags=re.MULTILINE)
    return re.sub(r"^[ \t]*//[/!]|\\$", "", without_comments, flags=re.MULTILINE)


def found(texts: Iterable[Text]) -> list[str]:
    """`file:line: phrase; use: wording` for every phrase in the texts."""
    hits = ((text, said, match) for text in texts for said in PHRASES for match in said.regex.finditer(text.words))
    return [
        f"{text.path.relative_to(ROOT)}:{_line(text, match)}: '{' '.join(match[0].split())}'; use: {said.instead}"
        for text, said, match in hits
    ]


def _line(text: Text, match: re.Match[str]) -> int:
    return text.first_line + text.words.count("\n", 0, match.start())


@pytest.mark.parametrize("texts", [markdown, python, templates, rust], ids=lambda texts: texts.__name__)
def test_texts_are_in_plain_english(texts: Callable[[], Iterator[Text]]) -> None:
    hits = found(texts())
    assert not hits, "\n".join(["see CONTRIBUTING.md, Plain English", *hits])


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.example)
def test_a_phrase_is_found_and_its_replacement_is_not(phrase: Phrase) -> None:
    assert phrase.regex.search(phrase.example)
    assert not any(other.regex.search(phrase.instead) for other in PHRASES)


def test_a_hit_names_file_line_phrase_and_the_usual_wording() -> None:
    path = ROOT / "src" / "module.py"
    source = '"""One\ntwo is\ntold."""\nMESSAGE = (\n    f"{1} is"\n    " told"\n)\n'
    hits = found(strings_of(path, source))
    assert hits == [
        "src/module.py:2: 'is told'; use: is reported, is shown, is in",
        "src/module.py:5: 'is told'; use: is reported, is shown, is in",
    ]


def test_rust_is_read_as_help_and_messages() -> None:
    source = '/// Is\n/// told.\n// is told\n"was \\\n told"\n'
    hits = found([Text(ROOT / "load" / "src" / "main.rs", 1, rust_words(source))])
    assert [hit.partition("'")[0] for hit in hits] == ["load/src/main.rs:1: ", "load/src/main.rs:4: "]
