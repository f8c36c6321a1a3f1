"""All rules by name. To add one, add a function to the file of its subject and a line here; tests pick it up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol

from nephoscope.analysis.analyse import tables_of
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.advertised import advertised, promised
from nephoscope.insights.best import answers, leaders, price_leaders
from nephoscope.insights.contrasts import contrasts, families, growth, operation_costs, per_cpu, storage
from nephoscope.insights.durability import availability, durability, failover
from nephoscope.insights.machines import (
    colocated,
    encryption,
    exchanged,
    machines,
    provider_caps,
    shared_machines,
    unobserved,
    versions,
)
from nephoscope.insights.missing import altered, claims, exclusions, gaps, looks, lower_bounds, usable
from nephoscope.insights.noise import noise, order, outliers, precision, replicates, unsteady
from nephoscope.insights.outages import losses, outage_costs, outages
from nephoscope.insights.predictors import consistency, predictors
from nephoscope.insights.prices import price_age, price_doubts, transfer
from nephoscope.insights.steal import gate, steal
from nephoscope.insights.words import Draft
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.missing import MissingPart, contained
from nephoscope.model.rows import Insight, Scope, Statistic, TrialRow


class Rule(Protocol):
    """One rule; its module in `insights` says what it reports. It never claims more than the verdict."""

    def __call__(self, lookup: Lookup) -> Iterable[Draft]:
        """Its sentences in a stable order; empty when it has nothing to report."""


RULES: Mapping[str, Rule] = {
    "answer": answers,
    "outages": outages,
    "losses": losses,
    "outage_costs": outage_costs,
    "leaders": leaders,
    "price_leaders": price_leaders,
    "contrasts": contrasts,
    "storage": storage,
    "families": families,
    "per_cpu": per_cpu,
    "operation_costs": operation_costs,
    "growth": growth,
    "predictors": predictors,
    "consistency": consistency,
    "gaps": gaps,
    "altered": altered,
    "exclusions": exclusions,
    "lower_bounds": lower_bounds,
    "claims": claims,
    "order": order,
    "shared_machines": shared_machines,
    "machines": machines,
    "versions": versions,
    "encryption": encryption,
    "durability": durability,
    "availability": availability,
    "failover": failover,
    "replicates": replicates,
    "steal": steal,
    "looks": looks,
    "steadiness": unsteady,
    "gate": gate,
    "noise": noise,
    "colocated": colocated,
    "unobserved": unobserved,
    "price_age": price_age,
    "price_doubts": price_doubts,
    "outliers": outliers,
    "caps": provider_caps,
    "advertised": advertised,
    "promised": promised,
    "transfer": transfer,
    "usable": usable,
    "precision": precision,
    "exchanged": exchanged,
}
"""In the order in which a report shows them: answers, then what to doubt, the worst first, then the rest."""


def insights_of(lookup: Lookup, missing: list[MissingPart]) -> list[Insight]:
    """The sentences of all rules, in order; equal lookup give equal sentences.

    A rule that raises says nothing, and is added to `missing`.
    """
    insights: list[Insight] = []
    for name, rule in RULES.items():
        with contained(missing, "insight", name):
            insights += [draft.insight(name) for draft in scoped(rule(lookup), lookup)]
    return insights


WORDS: dict[Scope, str] = {"this machine": "on this machine", "these machines": "on these machines"}


def scoped(insights: Iterable[Draft], lookup: Lookup) -> list[Draft]:
    """The insights, with 'on these machines' in the answers about a benchmark whose machines stand only for themselves.

    Decided by the trials that are an answer's evidence, so no rule can forget it. See `analysis.units`. The evidence of
    "a is the best of four" is the trials of a alone, so an answer says "this machine" only if the benchmark ran on no
    other one.
    """
    of_trial = {row.trial: (row.benchmark, row.configuration) for row in lookup[TrialRow]}
    machines: dict[str, set[str | None]] = defaultdict(set)
    statistics: dict[tuple[str, str], Statistic] = {}
    for row in lookup[Statistic]:
        statistics.setdefault((row.benchmark, row.configuration), row)
    for trial in lookup[TrialRow]:
        if of_trial[trial.trial] in statistics:
            machines[trial.benchmark].add(trial.machine)

    def scope(insight: Draft) -> Scope:
        used = [trial for trial in insight.trials if of_trial.get(trial) in statistics]
        rows = {of_trial[trial]: statistics[of_trial[trial]] for trial in used}
        scopes = {row.scope for row in rows.values()}
        if not rows or scopes == {"not known"}:
            return "not known"
        if "not known" not in scopes and all(len(machines[benchmark]) == 1 for benchmark, _ in rows):
            return "this machine"
        if scopes & {"this machine", "these machines"}:
            return "these machines"
        return "types" if scopes == {"types"} else "not known"

    def with_scope(insight: Draft) -> Draft:
        if insight.kind != "answer" or not insight.benchmark or insight.says_where:
            return insight
        where = WORDS.get(scope(insight))
        return insight.holding(where) if where else insight

    return list(map(with_scope, insights))


def analyse(inputs: StudyInputs) -> AnalysedStudy:
    """Statistics, comparisons and sentences of a study; pure.

    Raises:
        ValueError: the rows contradict each other; see `cells_of`.
    """
    tables = tables_of(inputs)
    missing: list[MissingPart] = []
    insights = insights_of(Lookup(tables), missing)
    return tables.model_copy(update={"insights": insights, "missing": missing})
