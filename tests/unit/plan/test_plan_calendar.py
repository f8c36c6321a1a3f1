"""Days from start to end: clusters take trials in the plan's order, and a look waits for a block."""

from typing import Any

from nephoscope.app.stages.planning import calendar_with
from nephoscope.model.records import BenchmarkUse, Plan, PlannedTrial, TrialIntent
from nephoscope.plan.calendar import MAX_BY_DEFAULT, Calendar, at_once, calendars, clusters_by_default, on_hosts
from nephoscope.study.model import Configuration, Study


def plan_of(durations_s: list[list[float]], *, decided: bool = False) -> Plan:
    """A list of durations for each block."""
    rows = [(block, time_s) for block, times_s in enumerate(durations_s, start=1) for time_s in times_s]
    trials = [
        PlannedTrial(
            intent=TrialIntent(
                id=f"{position:012x}",
                study="s",
                configuration={"name": "a"},
                benchmark=BenchmarkUse(name="b", uses="b", version=1, parameters={}),
                replicate=block,
                block=block,
                position=position,
                position_in_block=1,
                seed=1,
            ),
            expected_duration_s=time_s,
            price_usd=None,
        )
        for position, (block, time_s) in enumerate(rows, start=1)
    ]
    return Plan(
        study="s",
        seed=1,
        trials=trials,
        expected_duration_s=0,
        price_usd=None,
        unpriced=[],
        warnings=[],
        **({"stop": "decided"} if decided else {}),
    )


def own(plan: Plan) -> dict[str, str | None]:
    return {row.intent.id: None for row in plan.trials}


def test_a_cluster_that_is_free_takes_the_next_trial() -> None:
    plan = plan_of([[50.0, 10.0, 20.0, 30.0, *[10.0] * 20]])
    one, many = calendars(plan, own(plan))
    assert one == Calendar(1, 310.0)
    assert many == Calendar(24, 50.0), "no trial waits, and the plan has no work for 96"
    assert at_once(plan, own(plan), 4) == Calendar(4, 80.0)
    assert at_once(plan, own(plan), 96) == many


def test_with_many_trials_there_are_three_numbers() -> None:
    plan = plan_of([[10.0] * 193])
    assert calendars(plan, own(plan)) == [Calendar(1, 1930.0), Calendar(24, 90.0), Calendar(96, 30.0)]


def test_trials_of_one_cluster_follow_each_other_on_it() -> None:
    plan = plan_of([[10.0, 10, 10, 5]])
    shared: dict[str, str | None] = {row.intent.id: "a" for row in plan.trials[:3]}
    shared[plan.trials[3].intent.id] = None
    assert calendars(plan, shared) == [Calendar(1, 35.0), Calendar(2, 30.0)]


def test_a_look_waits_for_all_trials_of_its_block() -> None:
    blocks = [[10.0, 1.0], [10.0, 1.0]]
    free, looking = plan_of(blocks), plan_of(blocks, decided=True)
    assert calendars(free, own(free)) == [Calendar(1, 22.0), Calendar(4, 10.0)]
    assert calendars(looking, own(looking)) == [Calendar(1, 22.0), Calendar(2, 20.0)]


def test_hosts_that_are_apart_work_at_the_same_time() -> None:
    def planned(*hosts: list[str]) -> Plan:
        plan = plan_of([[10.0] * len(hosts)])
        rows = [
            row.model_copy(
                update={
                    "intent": row.intent.model_copy(
                        update={
                            "configuration": {
                                "database_machine": {"hosts": names[:1]},
                                "load_machine": {"hosts": names[1:]},
                            }
                        }
                    )
                }
            )
            for row, names in zip(plan.trials, hosts, strict=True)
        ]
        return plan.model_copy(update={"trials": rows})

    twelve = planned(*([f"db{number}"] for number in range(12)), *([f"db{number}"] for number in range(12)))
    assert on_hosts(twelve, 96) == Calendar(12, 20.0)
    assert on_hosts(twelve, 6) == Calendar(6, 40.0)
    assert on_hosts(planned(["db1", "load"], ["db2", "load"]), 96) == Calendar(1, 20.0)
    assert on_hosts(planned(["db1", "load1"], ["db2", "load2"], ["db1", "load2"]), 96) == Calendar(2, 20.0)


def keys_of(provider: str, number: int) -> dict[str, Any]:
    return {"name": str(number), "provider": provider}


def study_of(provider: str, configurations: int, placement: str) -> Study:
    """Only what the number of clusters depends on."""
    made = [Configuration.model_construct(**keys_of(provider, one)) for one in range(configurations)]
    keys: dict[str, Any] = {"configurations": made, "placement": placement}
    return Study.model_construct(**keys)


def test_clouds_get_many_clusters_and_other_machines_one_at_a_time() -> None:
    assert clusters_by_default(study_of("aws", 3, "fresh")) == MAX_BY_DEFAULT
    assert clusters_by_default(study_of("gcp", 120, "fresh")) == MAX_BY_DEFAULT
    assert clusters_by_default(study_of("gcp", 120, "per-configuration")) == 120, "as those are kept to the end"
    assert clusters_by_default(study_of("local", 120, "per-configuration")) == 1


def test_only_clouds_have_a_calendar() -> None:
    """Elsewhere clusters are machines that exist, and `--max-clusters` makes no more of them."""
    plan = plan_of([[10.0, 20.0]])
    assert calendar_with(study_of("local", 1, "fresh"), plan, 2, own(plan)) is None
    assert calendar_with(study_of("aws", 1, "fresh"), plan, 2, own(plan)) == Calendar(2, 20.0)
