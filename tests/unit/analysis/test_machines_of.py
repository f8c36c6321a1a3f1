"""Machines that differ are different configurations."""

from nephoscope.analysis.machines import machines_of, split_names
from tests.unit.analysis.study_builder import observed, trial

TRIALS = [trial(f"t{n}", "n2-standard-8", n) for n in range(1, 7)]


def test_equal_machines_make_one_row_and_keep_the_name() -> None:
    seen = [observed(row, cpu_model="Xeon", cpus_online=8, load_1m=float(row.replicate)) for row in TRIALS]
    rows = machines_of(seen)
    assert [(row.configuration, row.machine, row.differs_in) for row in rows] == [("n2-standard-8", "here", [])]
    assert rows[0].trials == ["t1", "t2", "t3", "t4", "t5", "t6"]
    assert set(split_names(seen).values()) == {"n2-standard-8"}


def test_two_cpu_models_split_the_configuration_by_name() -> None:
    seen = [observed(row, cpu_model="Ice Lake" if row.replicate < 3 else "Cascade Lake", kernel="6") for row in TRIALS]
    names = split_names(seen)
    assert names["t1"] == "n2-standard-8 (Ice Lake)"
    assert names["t6"] == "n2-standard-8 (Cascade Lake)"
    first, second = machines_of(seen[::-1])
    assert (first.configuration, len(first.trials), first.differs_in) == ("n2-standard-8 (Cascade Lake)", 4, [])
    assert (second.configuration, second.trials) == ("n2-standard-8 (Ice Lake)", ["t1", "t2"])
    assert second.differs_in == ["cpu_model"]


def test_every_differing_fact_is_named_and_silence_is_a_value() -> None:
    seen = [
        observed(TRIALS[0], kernel="6.1", clock_source="tsc", l3_bytes=1024),
        observed(TRIALS[1], kernel="6.2", clock_source=None, l3_bytes=1024),
    ]
    assert split_names(seen) == {
        "t1": "n2-standard-8 (kernel 6.1, clock source tsc)",
        "t2": "n2-standard-8 (kernel 6.2, clock_source unknown)",
    }
    assert machines_of(seen)[1].differs_in == ["kernel", "clock_source"]


def test_fresh_machines_are_told_by_role_and_roles_are_kept_apart() -> None:
    seen = [observed(row, cpu_model="Xeon").model_copy(update={"machine": f"m{row.trial}"}) for row in TRIALS]
    seen += [one.model_copy(update={"role": "load", "machine": "client"}) for one in seen]
    assert [(row.machine, len(row.trials)) for row in machines_of(seen)] == [("database", 6), ("client", 6)]


def test_a_load_machine_that_differs_splits_too() -> None:
    seen = [observed(row, cpu_model="Xeon") for row in TRIALS[:2]]
    seen += [
        observed(row, cpu_model=model).model_copy(update={"role": "load"})
        for row, model in zip(TRIALS[:2], ["Milan", "Rome"], strict=True)
    ]
    assert split_names(seen) == {"t1": "n2-standard-8 (load: Milan)", "t2": "n2-standard-8 (load: Rome)"}


def test_nothing_observed() -> None:
    assert machines_of([]) == []
    assert split_names([]) == {}
