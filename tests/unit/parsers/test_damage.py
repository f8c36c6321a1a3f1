"""No text whatever escapes a parser: it is a value or a refusal with a reason, and soon."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.parsers.cpuinfo import parse_cpu_lines, parse_cpuinfo
from nephoscope.parsers.dmidecode import parse_dmidecode
from nephoscope.parsers.fio import parse_fio_log
from nephoscope.parsers.identify import PARSERS, identify
from nephoscope.parsers.iperf2 import parse_iperf_csv, parse_iperf_server
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.sysbench_fileio import parse_fileio_run
from tests.support.logs_of_2019 import DATA
from tests.support.parser_samples import FAMILIES, SAMPLES, Parser, hold_against_mutations, parse_any

SHORTER = {parse_cpu_lines, parse_cpuinfo, parse_dmidecode, parse_fio_log, parse_fileio_run, parse_iperf_csv}
SHORTER |= {parse_iperf_server, parse_lscpu}
"""What is cut between two of their lines, sections or blocks is a shorter file of the same kind."""
PARSED = sorted({parse for parse, _, _ in SAMPLES}, key=str)
WHOLE = [(parse, text) for parse, _, text in SAMPLES if parse not in SHORTER or text.lstrip().startswith("{")]


def is_part_of(part: object, whole: object) -> bool:
    """No other number: what is there is the same, what is not there is None or empty."""
    if isinstance(part, Frozen) and isinstance(whole, Frozen):
        return all(is_part_of(getattr(part, name), getattr(whole, name)) for name in type(part).model_fields)
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part_of(value, whole[key]) for key, value in part.items())
    if isinstance(part, tuple) and isinstance(whole, tuple):
        return len(part) <= len(whole) and all(map(is_part_of, part, whole))
    return part == whole or part is None


def hold_against_cuts(parse: Parser, text: str, cuts: int) -> None:
    """Cut at so many places, evenly, a text is refused or a part of the whole."""
    whole = parse(text)
    for length in range(0, len(text), 1 + len(text) // cuts):
        try:
            assert is_part_of(parse(text[:length]), whole), length
        except OutputUnreadable:
            continue


def test_cut_output_is_refused_wherever_it_was_cut(subtests: pytest.Subtests) -> None:
    """Of long outputs at 200 places; the next test cuts at 3,000."""
    for parse, text in WHOLE:
        with subtests.test(parse=parse):
            hold_against_cuts(parse, text, 200)


@pytest.mark.slow
@pytest.mark.parametrize(("parse", "text"), WHOLE)
def test_output_is_refused_wherever_it_was_cut_at_many_places(parse: Parser, text: str) -> None:
    hold_against_cuts(parse, text, 3000)


def test_nothing_is_refused() -> None:
    for parse in PARSED:
        for text in ("", "\n", "\ufeff", "   \n", "{}", "[]", "null\n"):
            if parse is not parse_cpu_lines or not text.strip():
                with pytest.raises(OutputUnreadable):
                    pytest.fail(f"{parse} takes {text!r} for {parse(text)}")


@pytest.mark.parametrize("parse", PARSED)
@given(text=st.text())
def test_any_text_is_a_value_or_refused(parse: Parser, text: str) -> None:
    with contextlib.suppress(OutputUnreadable):
        parse(text + "\n")


def test_marks_colours_and_carriage_returns_change_nothing() -> None:
    for parse, name, text in SAMPLES:
        first, _, rest = text.partition("\n")
        assert parse(f"\ufeff\x1b[32m{first}\x1b[0m\r\n" + rest.replace("\n", "\r\n")) == parse(text), name


def test_a_file_without_its_last_line_end_is_the_same_or_refused() -> None:
    for parse, name, text in SAMPLES:
        with contextlib.suppress(OutputUnreadable):
            assert parse(text.rstrip("\n")) == parse(text), name


def test_a_damaged_file_is_a_value_or_refused(subtests: pytest.Subtests) -> None:
    """Some hundred times for each module; the next test does a hundred times as many."""
    for family in FAMILIES:
        with subtests.test(family=family):
            for parse, text in FAMILIES[family]:
                hold_against_mutations(parse, text, seed=1, rounds=500 // len(FAMILIES[family]) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_damaged_files_are_values_or_refused(family: str) -> None:
    for parse, text in FAMILIES[family]:
        hold_against_mutations(parse, text, seed=2, rounds=200_000 // len(FAMILIES[family]) + 1)


def test_the_dispatcher_survives_damage() -> None:
    for _, _, text in SAMPLES:
        hold_against_mutations(parse_any, text, seed=3, rounds=40)


@pytest.mark.parametrize("path", sorted(DATA.glob("damaged-*")), ids=lambda path: path.name)
def test_a_damaged_recording_is_identified_and_refused(path: object) -> None:
    text = DATA.joinpath(str(path)).read_text()
    assert identify(text).tool in PARSERS
    with pytest.raises(OutputUnreadable):
        parse_any(text)


def test_every_recorded_file_is_told_of() -> None:
    told = (DATA / "README.md").read_text()
    for path in DATA.iterdir():
        hand_made = path.name.endswith("-hand-made.txt")
        assert path.name in told or path.name.startswith("damaged-") or hand_made, path.name
