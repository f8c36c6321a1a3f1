"""The whole of analysis: equal input, equal bytes; split machines; nothing to analyse."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.analysis.records import checks_of, commands_of, errors_of
from nephoscope.insights.registry import analyse
from nephoscope.model.records import CommandRecord, OperationErrors, Verdict, VerdictKind
from nephoscope.model.rows import Comparison, MeasurementRow, Statistic, TrialRow
from tests.unit.analysis.study_builder import TPMC, inputs, observed, rows, shuffled, trial

VALUES = {"a": [100.0, 101, 102, 103, 104, 105], "b": [200.0, 202, 204, 206, 208, 210]}


def command(argv: str) -> CommandRecord:
    return CommandRecord(argv=[argv], machine="here", started_unix_ms=1, duration_s=1.0, exit_code=0)


def test_equal_input_gives_equal_tables_in_whatever_order() -> None:
    trials, measurements = rows(VALUES, cpus={"b": 2})
    seen = [observed(row, cpu_model="Xeon") for row in trials]
    expected = analyse(inputs((trials, measurements), machines=seen))
    other = inputs((shuffled(trials, 1), shuffled(measurements, 2)), machines=shuffled(seen, 3))
    assert analyse(other) == expected


def test_a_study_has_its_span_and_its_parts() -> None:
    found = analyse(inputs(rows(VALUES, cpus={"b": 2})))
    assert (found.started_unix_ms, found.ended_unix_ms) == (1_000_000, 6_010_500)
    assert len(found[Statistic]) == 4
    assert len(found[Comparison]) == 2
    assert {insight.rule for insight in found.insights} >= {"answer", "per_cpu", "exclusions"}


def test_an_empty_study_and_one_whose_trials_are_all_excluded() -> None:
    empty = analyse(inputs(([], [])))
    assert (empty[Statistic], empty[Comparison], empty.insights, empty.started_unix_ms) == ([], [], [], None)
    trials, measurements = rows(VALUES)
    none = [row.model_copy(update={"state": "failed", "verdict": None}) for row in trials]
    found = analyse(inputs((none, measurements)))
    assert found[Statistic] == []
    assert {insight.rule for insight in found.insights} == {"usable", "exclusions", "gaps"}


def test_trials_on_another_machine_become_a_configuration_of_their_own() -> None:
    trials, measurements = rows(VALUES)
    seen = [observed(row, cpu_model="Milan" if row.trial == "tpcc-a-1" else "Rome") for row in trials]
    settings = {"a": {"fsync": "on"}, "b": {"fsync": "on"}}
    found = analyse(inputs((trials, measurements), machines=seen, database_settings=settings))
    assert {row.configuration: row.n for row in found[Statistic] if not row.per_cpu} == {
        "a (Milan)": 1,
        "a (Rome)": 5,
        "b": 6,
    }
    assert {row.configuration for row in found[TrialRow]} == {"a (Milan)", "a (Rome)", "b"}
    assert {row.configuration for row in found[MeasurementRow]} == {"a (Milan)", "a (Rome)", "b"}
    assert found.database_settings["a (Milan)"] == {"fsync": "on"}
    assert [insight.rule for insight in found.insights if insight.rule == "machines"] == ["machines"]


def test_commands_come_from_the_first_trial_that_counts() -> None:
    refused = trial("t1", "a", 1, verdict=VerdictKind.INVALID)
    trials = [trial("t3", "a", 3), refused, trial("t2", "a", 2), trial("u", "b", 1, state="failed", verdict=None)]
    commands = {name: [command(f"{name}-first"), command(f"{name}-second")] for name in ("t1", "t2", "t3", "u")}
    found = commands_of(trials, commands)
    assert [(row.configuration, row.argv) for row in found] == [
        ("a", ["t2-first"]),
        ("a", ["t2-second"]),
        ("b", ["u-first"]),
        ("b", ["u-second"]),
    ]


def test_checks_count_what_they_said() -> None:
    verdicts = {
        "t1": [Verdict(check="quiet", verdict=VerdictKind.VALID, reason="")],
        "t2": [Verdict(check="quiet", verdict=VerdictKind.INVALID, reason="busy")],
    }
    found = checks_of(verdicts, {"quiet": "Nobody else works.", "audit": "Draws are right."})
    assert [(row.check, row.valid, row.invalid, row.unknown) for row in found] == [
        ("audit", 0, 0, 0),
        ("quiet", 1, 1, 0),
    ]


def test_what_is_driven_differently_is_never_compared_or_ranked_together() -> None:
    """Profiles, waits, paces and editions are parameters: entries of a study that differ in one are two benchmarks."""
    chatty, batched = (rows({"a": [1.0] * 6, "b": [2.0] * 6}, benchmark=name) for name in ("chatty", "batched"))
    both = (chatty[0] + batched[0], chatty[1] + batched[1])
    study = analyse(inputs(both, {"chatty": [TPMC], "batched": [TPMC]}))
    assert {(row.benchmark, row.left, row.right) for row in study[Comparison]} == {
        ("chatty", "a", "b"),
        ("batched", "a", "b"),
    }
    of = {row.trial: row.benchmark for row in study[TrialRow]}
    lookup = Lookup(study)
    rested = [(row.benchmark, lookup.trials_of_pair(row)) for row in study[Comparison]]
    rested += [(row.benchmark, row.trials) for row in study[Statistic]]
    for benchmark, trials in rested:
        assert {of[trial] for trial in trials} == {benchmark}
    for insight in study.insights:
        assert insight.benchmark is None or {of[trial] for trial in insight.trials} <= {insight.benchmark}


def test_errors_are_summed_over_trials_also_over_those_that_do_not_count() -> None:
    first, second = (trial(name, "a", n) for n, name in enumerate(("first", "second"), start=1))
    refused = second.model_copy(update={"verdict": VerdictKind.INVALID})

    def error(count: int, sqlstate: str = "40001") -> OperationErrors:
        return OperationErrors(operation="payment", sqlstate=sqlstate, kind="retried", count=count)

    found = errors_of([refused, first], {"first": [error(2)], "second": [error(3), error(1, "40P01")]})
    assert [(row.sqlstate, row.count, row.trials) for row in found] == [
        ("40001", 5, ["first", "second"]),
        ("40P01", 1, ["second"]),
    ]
    assert errors_of([first], {}) == []
