"""Makes every answer say what it speaks for: this machine, these machines, or (without a word) types of machines."""

from collections import defaultdict
from collections.abc import Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft
from nephoscope.model.rows import Scope, Statistic, TrialRow

ABOUT_TYPES = frozenset({"families"})
"""Rules whose unit is a type of machine, not a trial."""
WORDS: dict[Scope, str] = {"this machine": "on this machine", "these machines": "on these machines"}


def scoped(insights: Sequence[Draft], lookup: Lookup) -> list[Draft]:
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
        if insight.kind != "answer" or not insight.benchmark or insight.says_where or insight.rule in ABOUT_TYPES:
            return insight
        where = WORDS.get(scope(insight))
        return insight.holding(where) if where else insight

    return list(map(with_scope, insights))
