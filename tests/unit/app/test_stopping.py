"""`--until`: what a study needs before it may stop."""

from pathlib import Path

from nephoscope.app.stages.evaluation import stored_study
from nephoscope.app.stages.stopping import stopping_rule
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results, write_trial

VALUES = [100 + place / 100 for place in range(12)]


def stopped(folder: ResultsFolder) -> str:
    rule = stopping_rule(folder, stored_study(folder), "margin=2%", shared=False)
    assert rule is not None
    return rule(12).stopped


def test_two_kinds_of_machine_do_not_stand_in_for_a_configuration_without_a_value(tmp_path: Path) -> None:
    folder = made_results(tmp_path / "r", {"a": [None] * 12, "b": [None] * 12})
    intents = [planned.intent for planned, _ in folder.planned()]
    for intent in intents:
        if intent.configuration_name == "a":
            model = {"cpu_model": f"Xeon {intent.replicate % 2}"}
            write_trial(folder, intent, VALUES[intent.replicate - 1], model)
    assert stopped(folder) == ""
    for intent in intents:
        if intent.configuration_name == "b":
            write_trial(folder, intent, VALUES[intent.replicate - 1])
    assert stopped(folder).startswith("stopped after block 12 of 12: the 95 % interval of every headline median")
