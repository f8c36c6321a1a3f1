"""The live line and the time left, without a terminal and without waiting."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from nephoscope.app.progress import LiveProgress, View, live_line
from nephoscope.app.remaining import KEPT_BY_A_BLOCK, Remaining
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.machines.doctor import Finding, Health, HostFindings
from nephoscope.model.records import PlannedTrial, Status, VerdictKind
from nephoscope.plan.bill import LATER_SHARE
from nephoscope.plan.expand import expand
from nephoscope.run.clock import FakeClock
from nephoscope.study.load import load_study

STUDY = """
name = "eta"
replicates = 2
[[configurations]]
name = "one"
[[configurations]]
name = "two"
[[benchmarks]]
uses = "tpcc"
parameters = { ramp_s = 3, duration_s = 10 }
[[benchmarks]]
uses = "stress-ng"
parameters = { stressor = "matrix", duration_s = 20 }
"""
EACH_S = {"tpcc": 20.0, "stress-ng": 20.0}


def trials(configurations: str = "", replicates: int = 2) -> list[PlannedTrial]:
    """Two configurations × two benchmarks × the replicates, each expected to take 20 s."""
    text = STUDY.replace("replicates = 2", f"replicates = {replicates}") + configurations
    planned = expand(load_study(text, "s.toml", BENCHMARKS), BENCHMARKS).trials
    return [one.model_copy(update={"expected_duration_s": EACH_S[one.intent.benchmark.uses]}) for one in planned]


def of(trials: list[PlannedTrial], configuration: str, benchmark: str) -> list[PlannedTrial]:
    return [
        one
        for one in trials
        if (one.intent.configuration_name, one.intent.benchmark.name) == (configuration, benchmark)
    ]


def test_the_time_left_learns_loads_and_trials_apart() -> None:
    planned = trials()
    left = Remaining(planned)
    assert left.seconds(0) == 8 * 20
    first, second = of(planned, "one", "tpcc")
    left.started(first, 100.0)
    left.loading(first.intent.id, 101.0)
    assert left.seconds(131.0) == 8 * 20  # the load is not the trial
    left.loading(first.intent.id, 131.0, 0.75)
    assert left.seconds(131.0) == 8 * 20 + 10
    left.loaded(first.intent.id, 141.0)
    assert left.seconds(151.0) == 7 * 20 + 10
    left.ended(first, 60.0)  # 40 s of it to load
    assert left.seconds(160.0) == 7 * 20 + 40  # the other configuration will load, too
    left.started(second, 160.0)
    left.ended(second, 30.0)  # loads nothing, and is slower
    expected_s = 20 * 50 / 40
    assert left.seconds(190.0) == pytest.approx(2 * expected_s + 40 + 4 * expected_s)
    third = of(planned, "two", "tpcc")[0]
    left.started(third, 200.0)
    assert left.seconds(200.0) == pytest.approx(6 * expected_s)  # it loads now, or needs no load


def test_the_time_left_moves_within_a_trial_and_stays_over_nothing() -> None:
    planned = trials()
    left = Remaining(planned[:2])
    left.started(planned[0], 0.0)
    assert [left.seconds(now_s) for now_s in (0.0, 5.0, 20.0, 90.0)] == [40, 35, 20, 20]
    left.started(planned[1], 90.0)
    assert left.seconds(90.0) == 10  # two at once
    left.ended(planned[0], None)  # it failed, which says nothing about others
    left.again(planned[0])
    assert left.seconds(90.0) == 20  # it will run beside the other one again


def test_the_time_left_does_not_grow_where_the_last_of_a_block_run_alone() -> None:
    planned = trials()
    left = Remaining(planned)
    for one in planned[:4]:
        left.started(one, 0.0)
    assert left.seconds(0.0) == 40
    for one in planned[:3]:
        left.ended(one, 20.0)
    assert left.seconds(20.0) == 20  # the next block waits for one trial


def test_the_time_left_of_a_study_that_stops_is_an_expectation_and_not_the_most() -> None:
    planned = trials(replicates=10)
    blocks = {block: [one for one in planned if one.intent.block == block] for block in range(1, 11)}
    left = Remaining(planned, stops=True)
    assert left.seconds(0.0) == (3 + 7 * LATER_SHARE) * 80
    for block in (1, 2, 3):
        for one in blocks[block]:
            left.ended(one, 20.0)
    assert left.seconds(0.0) == 7 * LATER_SHARE * 80
    left.left_out([one.intent.id for one in planned if one.intent.configuration_name == "two"])
    assert left.seconds(0.0) == pytest.approx(sum(40 * KEPT_BY_A_BLOCK**later for later in range(7)))
    for block in range(4, 11):
        before_s = left.seconds(0.0)
        for one in of(blocks[block], "one", "tpcc") + of(blocks[block], "one", "stress-ng"):
            left.ended(one, 20.0)
        assert left.seconds(0.0) < before_s
    assert left.seconds(0.0) == 0


def test_configurations_on_one_server_of_the_users_load_once() -> None:
    dsn = 'database = { dsn = "postgresql://me@h/d" }'
    study = STUDY.replace('name = "one"', f'name = "one"\n{dsn}').replace('name = "two"', f'name = "two"\n{dsn}')
    planned = [
        one
        for one in expand(load_study(study, "s", BENCHMARKS), BENCHMARKS).trials
        if one.intent.benchmark.name == "tpcc"
    ]
    left = Remaining(planned)
    left.started(planned[0], 0.0)
    left.loading(planned[0].intent.id, 0.0)
    left.loaded(planned[0].intent.id, 50.0)
    left.ended(planned[0], 50.0 + planned[0].expected_duration_s)
    assert left.seconds(90.0) == pytest.approx(3 * planned[0].expected_duration_s)


VIEW = View(5, 24, "shared-buffers-1gb · tpcc", "12,345 operations/s", "43 s of 77 s", 1145.0)


@pytest.mark.parametrize(
    ("view", "width", "line"),
    [
        (VIEW, 100, "⠋ 5/24 shared-buffers-1gb · tpcc: 12,345 operations/s, 43 s of 77 s"),
        (VIEW, 80, "⠋ 5/24 shared-buffers-1gb · tpcc: 12,345 operations/s"),
        (VIEW, 66, "⠋ 5/24 shared-buffers-1gb…: 12,345 operations/s"),
        (
            replace(VIEW, value="loading its data set, 45%", spent=""),
            80,
            "⠋ 5/24 shared-buffers-1gb · tpcc: loading its data set, 45%",
        ),
        (replace(VIEW, value=""), 80, "⠋ 5/24 shared-buffers-1gb · tpcc: 43 s of 77 s"),
    ],
)
def test_the_live_line_drops_what_matters_least(view: View, width: int, line: str) -> None:
    shown = live_line(view, width)
    assert len(shown) == width
    assert shown.endswith("  19 min 05 s left")
    assert shown.removesuffix("19 min 05 s left").rstrip() == line
    assert live_line(replace(view, may_stop=True), width).endswith("  at most 19 min 05 s left")


@pytest.mark.parametrize("width", range(1, 130, 8))
def test_the_live_line_never_exceeds_the_terminal(width: int) -> None:
    assert len(live_line(replace(VIEW, title="t" * 200, value="v" * 200), width)) <= width


def test_a_terminal_gets_one_line_that_moves_and_a_line_for_each_end() -> None:
    screen = io.StringIO()
    clock = FakeClock(unix_ms=0)
    planned = trials()
    progress = LiveProgress(
        Console(file=screen, width=80, force_terminal=True, color_system=None), clock, Remaining(planned)
    )
    progress.study_started(8, 0)
    progress.trial_started(planned[0])
    progress.loading(planned[0].intent.id, None)
    assert "loading its data set " in progress._draw().plain
    progress.loading(planned[0].intent.id, 0.5)
    assert "loading its data set, 50%" in progress._draw().plain
    progress.loaded(planned[0].intent.id)
    progress.value("waiting for quiet: rustc uses 98% of a CPU on local")
    assert "rustc uses 98% of a CPU" in progress._draw().plain
    progress.trial_ended(planned[0], Status(state="finished", at_unix_ms=0, duration_s=20.0), VerdictKind.VALID, [])
    assert "[1/8] block 1" in screen.getvalue()
    assert "valid after 20.0 s\n" in screen.getvalue()
    assert progress._draw().plain.split() == ["⠋", "1/8", "2", "min", "20", "s", "left"]
    assert live_line(replace(VIEW, left_s=0.4), 80).endswith("  almost done")


def test_where_no_line_moves_each_end_tells_the_time_left() -> None:
    planned = trials()
    for may_stop, left in ((False, "; about 2 min 20 s left\n"), (True, "; at most 2 min 20 s left\n")):
        screen = io.StringIO()
        console = Console(file=screen, width=120, color_system=None)
        progress = LiveProgress(console, FakeClock(), Remaining(planned), may_stop=may_stop)
        progress.study_started(8, 0)
        progress.trial_started(planned[0])
        progress.trial_ended(planned[0], Status(state="finished", at_unix_ms=0, duration_s=20.0), VerdictKind.VALID, [])
        assert screen.getvalue().endswith(left)


def test_hosts_are_a_table_of_one_line_for_each_finding_when_one_does_not_fit() -> None:
    screen = io.StringIO()
    progress = LiveProgress(Console(file=screen, width=200), FakeClock(), Remaining([]))
    fit = HostFindings(host="db1", findings=(Finding(what="machine", health=Health.GOOD, found="4 CPUs, x86_64"),))
    down = Finding(what="reach", health=Health.BAD, found="no answer\n::error\x1b[2J", hint="try `ssh db2`")
    progress.hosts_examined([fit])
    progress.hosts_examined([fit, HostFindings(host="db2", findings=(down,))])
    printed = screen.getvalue()
    assert printed.startswith("1 host fits\n")
    assert "reach: no answer ::error\\x1b[2J" in printed
    assert "try `ssh db2`" in printed
    assert "4 CPUs, x86_64" in printed
