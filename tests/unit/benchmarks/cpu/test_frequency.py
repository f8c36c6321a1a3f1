"""CPU frequencies: two ways in which Linux shows them, and none."""

import asyncio
import json
from pathlib import Path

import pytest

from nephoscope.benchmarks.cpu.stages import frequencies, frequency_watched
from nephoscope.model.errors import OutputUnreadable
from tests.support.site import raw_of, site_here

CPUFREQ = "".join(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq:{3 + cpu}000000\n" for cpu in range(3))
CPUINFO = "processor\t: 0\ncpu MHz\t\t: 2596.146\nprocessor\t: 1\ncpu MHz\t\t: 2000.000\n"


def raw(*said: str, cpus: tuple[int, ...] = (0, 1)) -> dict[str, bytes]:
    rows = [json.dumps({"at_s": 30.0 * number, "cpus": cpus, "said": text}) for number, text in enumerate(said)]
    return {"cpu-frequency.jsonl": "".join(f"{row}\n" for row in rows).encode()}


@pytest.mark.parametrize(("said", "hertz"), [(CPUFREQ, [3e9, 4e9]), (CPUINFO, [2.596146e9, 2e9])])
def test_it_is_of_the_cpus_in_use(said: str, hertz: list[float]) -> None:
    mean, lowest, *each = frequencies(raw(said, said))
    assert mean.value == pytest.approx(sum(hertz) / 2)
    assert lowest.value == min(hertz)
    assert [one.at_s for one in each] == [0, 30]


@pytest.mark.parametrize("said", ["", "processor\t: 0\nBogoMIPS\t: 243.75\n"])
def test_a_machine_that_shows_none_has_none(said: str) -> None:
    assert frequencies(raw(said)) == []
    assert frequencies({}) == []


@pytest.mark.parametrize("line", [b"{", b"[]\n", b'{"at_s": "x", "cpus": [0], "said": ""}\n'])
def test_a_damaged_file_is_refused(line: bytes) -> None:
    with pytest.raises(OutputUnreadable):
        frequencies({"cpu-frequency.jsonl": line})


def test_a_short_block_is_looked_at_once(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)

    async def block() -> None:
        async with frequency_watched(site):
            await asyncio.sleep(0.9)

    asyncio.run(block())
    (line,) = raw_of(site)["cpu-frequency.jsonl"].splitlines()
    assert json.loads(line)["cpus"] == [0]
