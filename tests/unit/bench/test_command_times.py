"""The page of what commands take: goals are judged by the median, and every command is held against bare Python."""

import sys

import pytest

from bench.commands import BARE, COMMANDS, cpu_s, page


def test_a_goal_is_missed_when_the_median_is_above_it() -> None:
    found = {BARE: [0.01, 0.01, 0.01], **{command.words: [command.goal_s / 2] * 3 for command in COMMANDS}}
    assert page(found, 0.5, 0.5).count("| met |") == len(COMMANDS)
    slow = COMMANDS[0]
    found[slow.words] = [slow.goal_s / 2, slow.goal_s * 1.1, slow.goal_s * 1.1]
    (row,) = [line for line in page(found, 0.5, 0.5).splitlines() if line.startswith(f"| `{slow.words}` |")]
    assert row == "| `nephoscope --help` | 0.15 | 0.33 | 33 | 0.3 | missed |"


def test_cpu_time_is_of_the_process_and_not_of_waiting() -> None:
    waiting = cpu_s([sys.executable, "-c", "import time; time.sleep(0.5)"], {})
    working = cpu_s([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], {})
    assert waiting < 0.4 < working


def test_a_command_that_ends_otherwise_is_not_measured() -> None:
    with pytest.raises(SystemExit, match="ended with exit code 3"):
        cpu_s([sys.executable, "-c", "raise SystemExit(3)"], {})
