"""A study file -> a study -> a plan. Loads no part that only a run needs: a plan must be there at once."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from nephoscope.app.files import read_text
from nephoscope.app.stages.architecture import require_images
from nephoscope.app.wiring import real_databases
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.base import HasFootprint
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Plan
from nephoscope.model.units import SECONDS_PER_MINUTE
from nephoscope.model.words import counted
from nephoscope.model.written import OVERALL
from nephoscope.plan import calendar
from nephoscope.plan.bill import Bill, Spend, bill_of
from nephoscope.plan.cut import Cut, LeftOut, affordable, chapters_of, part_of
from nephoscope.plan.cut import left_out as parts_left_out
from nephoscope.plan.disks import Footprint, check_raw, check_space
from nephoscope.plan.expand import expand, fitting_cells
from nephoscope.plan.next_dollars import Purchase, purchases
from nephoscope.plan.placement import clusters_of
from nephoscope.plan.quotas import RegionNeeds, needs_of
from nephoscope.providers.cloud.check import require_possible
from nephoscope.study.load import expanded_text, load_study, load_with_lines
from nephoscope.study.managed import study_as_provided
from nephoscope.study.model import Study
from nephoscope.study.toml_text import Path as KeyPath

if TYPE_CHECKING:
    from nephoscope.model.analysed import AnalysedStudy


def load(text: str, name: str) -> Study:
    """A study from its text; see `load_study`."""
    return load_study(text, name, BENCHMARKS)


def load_for_advice(text: str, name: str) -> tuple[Study, Mapping[KeyPath, int]]:
    """A study and the line of each of its keys, for warnings that name it; see `load_with_lines`."""
    return load_with_lines(text, name, BENCHMARKS)


def read_study(file: Path) -> Study:
    """A study from its file."""
    return load(read_text(file), str(file))


def expanded_study(text: str, name: str) -> str:
    """A study's text with plain configurations alone; see `expanded_text`."""
    return expanded_text(text, name, BENCHMARKS).rstrip()


def plan(study: Study, *, scale: float | None = None, part: Study | None = None, simulated: bool = False) -> Plan:
    """study -> plan; `scale` of sizes and run times, a part of the study, a rehearsal: see `expand`.

    Raises:
        InputError: no plan can be made, a cloud could not be asked for the machines of a configuration, an image is for
            another architecture, data do not fit on a machine's disks, or a raw disk is needed that it does not have.
    """
    provided = study_as_provided(part or study)
    require_images(provided)
    for configuration in provided.configurations:
        require_possible(configuration)
    planned = expand(study, BENCHMARKS, scale=scale, part=part, simulated=simulated)
    footprints = _footprints(part or study)
    check_raw(planned, BENCHMARKS, footprints, study.placement)
    check_space(planned, BENCHMARKS, footprints)
    return planned


def cut_out(study: Study, cut: Cut) -> Study | None:
    """What is cut out of a study; None: all of it. See `part_of` and `affordable`."""
    if not cut:
        return None
    part = part_of(study, BENCHMARKS, cut)
    if cut.budget_usd is None:
        return part
    return affordable(part, lambda one: expand(study, BENCHMARKS, part=one), cut.budget_usd)


def left_out(study: Study, cut: Cut, planned: Plan) -> list[LeftOut]:
    """What the plan of a part leaves out to stay within the budget; nothing if there is no budget."""
    if cut.budget_usd is None:
        return []
    asked = part_of(study, BENCHMARKS, replace(cut, budget_usd=None))
    return parts_left_out(fitting_cells(asked, BENCHMARKS), planned, chapters_of(asked, BENCHMARKS))


def next_dollars(study: Study, cut: Cut, planned: Plan) -> list[Purchase]:
    """What the rest of a budget would buy if it pays for all of the study."""
    if cut.budget_usd is None or planned.price_usd is None or left_out(study, cut, planned):
        return []
    asked = part_of(study, BENCHMARKS, replace(cut, budget_usd=None))
    rest_usd = cut.budget_usd - planned.price_usd
    return purchases(asked, planned, rest_usd, lambda one: expand(one, BENCHMARKS).price_usd)


def clusters(study: Study, planned: Plan) -> Mapping[str, str | None]:
    """Trial id -> name of the cluster that it shares; None: it has one of its own."""
    return clusters_of(study.placement, (row.intent for row in planned.trials), BENCHMARKS)


def bill(study: Study, planned: Plan, shared: Mapping[str, str | None] | None = None) -> Bill:
    """What the hours and dollars of a plan go into; `shared` are its `clusters`, for callers that have them."""
    return bill_of(study, planned, BENCHMARKS, clusters(study, planned) if shared is None else shared)


def saved_by_sharing(study: Study, planned: Plan, *, scale: float | None, part: Study | None) -> Spend | None:
    """What `placement = "per-replicate"` would save if each trial has a cluster of its own; None: nothing."""
    if study.placement != "fresh" or {one.provider for one in study.configurations} <= {"local", "ssh"}:
        return None
    shared = study.model_copy(update={"placement": "per-replicate"})
    other = expand(shared, BENCHMARKS, scale=scale, part=part)
    saved_s = planned.expected_duration_s - other.expected_duration_s
    if saved_s < SECONDS_PER_MINUTE:
        return None
    known = planned.price_usd is not None and other.price_usd is not None
    return Spend(time_s=saved_s, usd=(planned.price_usd or 0.0) - (other.price_usd or 0.0) if known else None)


def clusters_by_default(study: Study) -> int:
    """How many clusters `run` uses at once unless `--max-clusters` says otherwise."""
    return calendar.clusters_by_default(study_as_provided(study))


def _on_hosts_alone(study: Study) -> bool:
    """Whether each trial takes hosts of the user's, and gives them back."""
    return {configuration.provider for configuration in study.configurations} == {"ssh"} and study.placement == "fresh"


def saved_by_hosts(study: Study, planned: Plan, clusters_at_once: int) -> calendar.Calendar | None:
    """How long it takes if all hosts that can work at the same time do; None: more clusters would not save a minute."""
    if not _on_hosts_alone(study):
        return None
    now, then = (calendar.on_hosts(planned, count) for count in (clusters_at_once, len(planned.trials)))
    return then if now.time_s - then.time_s >= SECONDS_PER_MINUTE else None


def calendar_with(
    study: Study, planned: Plan, clusters_at_once: int, shared: Mapping[str, str | None] | None = None
) -> calendar.Calendar | None:
    """How long it takes with so many clusters at once; None: one trial runs after another, wherever that is said.

    `shared` as for `bill`.
    """
    if _on_hosts_alone(study):
        return calendar.on_hosts(planned, clusters_at_once)
    if clusters_by_default(study) == 1:
        return None
    return calendar.at_once(planned, clusters(study, planned) if shared is None else shared, clusters_at_once)


def quotas(
    study: Study, planned: Plan, at_once: int, shared: Mapping[str, str | None] | None = None
) -> list[RegionNeeds]:
    """What it needs in each region of each cloud, with so many clusters at once; `shared` as for `bill`."""
    shared = clusters(study, planned) if shared is None else shared
    return needs_of(study_as_provided(study), planned, at_once, shared)


ASSUMED_CV = 0.02
"""Spread of single values where no earlier results say it."""


def decides(planned: Plan, like: "AnalysedStudy | None" = None, name: str = "") -> list[str]:
    """What the plan can decide, in sentences; empty if no benchmark runs on two configurations.

    Args:
        planned: the plan.
        like: earlier results, whose spread is taken: that of the benchmark with the same name, else of all.
        name: what to call these.
    """
    from nephoscope.stats.detectable_table import critical_values, detectable_share

    runs: dict[str, set[str]] = {}
    replicates: dict[str, set[int]] = {}
    for trial in planned.trials:
        label = trial.intent.benchmark.name
        runs.setdefault(label, set()).add(trial.intent.configuration_name)
        replicates.setdefault(label, set()).add(trial.intent.replicate)
    found: dict[tuple[int, str, float], list[str]] = {}
    for label, names in runs.items():
        n = len(replicates[label])
        cv = ASSUMED_CV if like is None else _spread(like, label)
        share = detectable_share(len(names), n, cv) if len(names) > 1 and cv else None
        if share is not None and cv is not None:
            found.setdefault((n, _about(100 * share), cv), []).append(label)
    power = critical_values()["power"]
    lines = []
    for (n, percent, cv), labels in found.items():
        which = f"{', '.join(labels)}: " if len(found) > 1 else ""
        basis = (
            f"at the spread of {name}: repeats of a trial vary by {100 * cv:.2g} %"
            if like
            else f"if repeats of a trial vary by {100 * cv:g} %, their coefficient of variation"
        )
        lines.append(
            f"{which}{counted(n, 'replicate')} show differences of about {percent} % or more with a probability of "
            f"{100 * power:g} % ({basis})"
        )
    assumed = "That spread is an assumption; --like RESULTS takes it from earlier results."
    return [*lines, assumed] if lines and not like else lines


def _about(percent: float) -> str:
    """'6' of 5.9 and 6.2, '0.45' of 0.447: what the number of configurations changes is less than this."""
    return f"{percent:.0f}" if percent >= _WHOLE_FROM_PERCENT else f"{percent:.2g}"


_WHOLE_FROM_PERCENT = 2.95


def _spread(like: "AnalysedStudy", label: str) -> float | None:
    """The median over leaderboards, as a share; None if no spread is known."""
    rows = [row for row in like[BestRow] if row.view == "plain" and row.scope == OVERALL and row.cv_percent]
    chosen = [row for row in rows if row.benchmark == label] or rows
    return median(row.cv_percent for row in chosen if row.cv_percent) / 100 if chosen else None


def _footprints(study: Study) -> Mapping[str, Footprint]:
    """Of the study's databases alone: each takes time to load."""
    databases = real_databases()
    systems = {configuration.database.system for configuration in study.configurations}
    return {name: one.disk_bytes for name in systems if isinstance(one := databases[name], HasFootprint)}
