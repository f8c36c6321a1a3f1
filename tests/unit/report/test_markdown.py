import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from nephoscope.model.text import line
from nephoscope.report.edition_markdown import MOST, plain, point

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE = st.text(alphabet=st.sampled_from("ab1 \\`*_[](){}<>#+-.=!|~&;:/@$%\"'\n\t\x1b\u200b"), max_size=40)


def shown(markdown: str) -> tuple[set[str], str]:
    """Kinds of what a text is read as, and the text that a reader sees."""
    tokens = READER.parse(markdown)
    inner = [child for token in tokens for child in token.children or ()]
    text = "".join(child.content for child in inner if child.type in {"text", "text_special"})
    return {token.type for token in (*tokens, *inner)}, text.replace("\u200b", "")


def as_read(text: str) -> str:
    """What must be seen of a text: Markdown makes one space of several at most at the ends."""
    return line(text, MOST).strip().replace("\u200b", "")


@given(HOSTILE)
def test_a_cell_of_a_table_shows_the_text_as_it_is(text: str) -> None:
    kinds, seen = shown(f"| a |\n|---|\n| x{plain(text)}y |\n")
    inside = {"inline", "text", "text_special", *(f"{tag}_{end}" for tag in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close"))}  # fmt: skip  # noqa: E501
    assert kinds <= inside
    assert seen == f"ax{as_read(text)}y"


@given(HOSTILE)
def test_a_point_of_a_list_begins_nothing_else(text: str) -> None:
    kinds, seen = shown(f"- {point(text)}\n")
    blocks = {f"{tag}_{end}" for tag in ("bullet_list", "list_item", "paragraph") for end in ("open", "close")}
    assert kinds <= {"inline", "text", "text_special", *blocks}
    assert seen == as_read(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("@everyone", "@&#8203;everyone"),
        ("fixes #1, !2", "fixes #&#8203;1, !&#8203;2"),
        ("https://example.org", "https:&#8203;//example.org"),
        ("www.example.org", "www&#8203;.example.org"),
        ("costs $5 < $6 & more", "costs &#36;5 &lt; &#36;6 &amp; more"),
        ("+4.2 %", "+4.2 %"),
    ],
)
def test_nothing_becomes_a_mention_a_link_or_a_formula(text: str, written: str) -> None:
    assert plain(text) == written
