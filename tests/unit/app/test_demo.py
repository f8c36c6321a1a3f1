"""`nephoscope demo --quick` measures the laptop study once."""

import tomllib

from nephoscope.app.commands.study import once
from nephoscope.app.wiring import shipped_study


def test_a_quick_demo_is_the_laptop_study_with_one_trial_of_each_kind() -> None:
    text = shipped_study("laptop")
    whole, quick = tomllib.loads(text), tomllib.loads(once(text))
    assert quick == whole | {"replicates": 1, "repeat_rejected": 0}
    assert whole["replicates"] > 1
