import asyncio
from pathlib import Path

from nephoscope.machines.foreign import loudest_between, loudest_process
from tests.support.local_remote import this_machine


def stat(pid: int, name: str, ticks: int) -> str:
    return f"{pid} ({name}) R 1 2 3 4 5 6 7 8 9 10 {ticks} 5 0 0 20 0\n"


def test_the_loudest_program_is_named_with_all_its_processes() -> None:
    before = stat(1, "init", 900) + stat(7, "a) b (c", 10) + stat(8, "cc1", 0) + stat(9, "cc1", 100) + "damaged\n"
    after = stat(1, "init", 901) + stat(7, "a) b (c", 40) + stat(8, "cc1", 25) + stat(9, "cc1", 120) + stat(10, "b", 9)
    assert loudest_between(before, after, 0.5) == "cc1 uses 90% of a CPU"
    assert loudest_between(before, before, 0.5) == ""
    assert loudest_between("", "", 0.5) == ""


def test_this_machine_is_read(tmp_path: Path) -> None:
    said = asyncio.run(loudest_process(this_machine(tmp_path)))
    assert said == "" or said.endswith("of a CPU")
