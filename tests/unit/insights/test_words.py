"""How numbers are written, and that no number can be written that is not in `numbers`."""

import pytest

from nephoscope.insights import words
from nephoscope.insights.words import say
from nephoscope.model.numbers import Between, Number


def test_a_template_with_a_digit_of_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match="template"):
        say("note", "7 trials", numbers={}, trials=[])
    with pytest.raises(ValueError, match="as a word"):
        say("note", "{a:count}", numbers={"a": 1}, trials=[], a="x")
    with pytest.raises(KeyError):
        say("note", "{a:count}", numbers={}, trials=[])


def test_only_the_numbers_used_are_kept_and_evidence_is_sorted() -> None:
    found = say("note", "{b:count} of {name}", numbers={"a": 1, "b": 2.0}, trials=["y", "x", "y"], name="z9")
    assert (found.text, found.numbers, found.trials) == ("2 of z9", {"b": 2.0}, ["x", "y"])


def test_words_that_go_with_a_number_follow_it() -> None:
    found = [
        say("note", "{n:counted:trial} {n:goes:is|are} {a}", numbers={"n": n}, trials=[], a=["x"] * n)
        for n in (1, 3, 9)
    ]
    texts = ["1 trial is x", "3 trials are x, x and x", "9 trials are x, x, x, x, x and 4 more"]
    assert [draft.text for draft in found] == texts
    assert found[-1].numbers == {"a_more": 4, "n": 9}


def test_keys_of_a_long_list_are_distinct_and_short() -> None:
    keys = [key for key, _ in words.keyed(range(5000))]
    assert len(set(keys)) == 5000
    assert max(map(len, keys)) == len("k5000")


def test_a_single_run_is_told_without_an_interval() -> None:
    numbers: dict[str, Number] = {"ratio": Between(1.5, 1.0, 2.0), "coverage": 96.875, "n": 6.0}
    one, six = (words.interval_of_one(n, "ratio", "ratio") for n in (1, 6))
    assert say("answer", one, numbers=numbers, trials=[]).text == "single run, no interval"
    assert say("answer", six, numbers=numbers, trials=[]).text == "96.8 % interval 1.00 to 2.00×, n = 6"
