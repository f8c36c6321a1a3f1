"""Numbers and names in sentences."""

from nephoscope.model.words import enumeration, named_or_counted


def test_enumeration() -> None:
    assert [enumeration(list(text)) for text in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]


def test_more_names_than_a_sentence_holds_are_counted() -> None:
    assert [named_or_counted(list(text), 3) for text in ("a", "abc", "abcd")] == ["a", "a, b and c", "4 configurations"]
    assert named_or_counted("ab", 1, "host") == "2 hosts"
