"""Whether the answers of a published report follow from the measurements beside them.

Trials, measurements and prices are taken as they are published: who measured them, and whether they are true, no file
can say. What is computed of them can be computed again.
"""

import math
from collections.abc import Iterator
from datetime import date
from typing import Any

from nephoscope.analysis.best import BEST
from nephoscope.analysis.comparisons import COMPARISONS, PRICE_COMPARISONS
from nephoscope.analysis.contrasts import CONTRASTS
from nephoscope.analysis.costs import Costs, costs
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.ranks import RANKS
from nephoscope.analysis.renamed import names_of_trials
from nephoscope.analysis.statistics import STATISTICS
from nephoscope.analysis.table import Table, Workings
from nephoscope.analysis.tables import fields_of, from_csv, to_csv
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostLineRow, CostRow
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.study.model import Study

ANSWERS: tuple[Table[Any], ...] = (STATISTICS, COMPARISONS, PRICE_COMPARISONS, CONTRASTS, BEST, RANKS)
"""What is computed again: whatever says which configuration is better, and by how much."""
_RELATIVE = 1e-9
"""Another processor or library may round the last digits of a sum otherwise."""


def differing_answers(study: AnalysedStudy, asked: Study) -> list[str]:
    """What a report states otherwise than its own measurements give, a line for each table: the first such row.

    Args:
        study: as published, see `published.read`.
        asked: the study of its study file.
    """
    of = _workings(study, asked)
    return [said for table in ANSWERS if (said := _difference(table, study[table.row], table.rows(of)))]


def _workings(study: AnalysedStudy, asked: Study) -> Workings:
    """What an analysis would start from; trials have the names of the study file, as those of stored ones do."""
    in_plan = {row.intent.id: row.intent.configuration_name for row in study.plan.trials}
    asked_as = {row.configuration: in_plan[row.trial] for row in study[TrialRow] if row.trial in in_plan}
    trials = [
        row.model_copy(update={"configuration": asked_as.get(row.configuration, row.configuration)})
        for row in study[TrialRow]
    ]
    inputs = StudyInputs(
        study=asked,
        study_toml=study.study_toml,
        plan=study.plan,
        nephoscope_version=study.nephoscope_version,
        benchmarks=study.benchmarks,
        trials=trials,
        measurements=study[MeasurementRow],
        looks=study.looks,
        source=study.source,
        part=study.part,
    )
    prices = Costs(study[CostRow], study[CostLineRow], date.max)
    return Workings(inputs, {costs: prices, names_of_trials: {row.trial: row.configuration for row in study[TrialRow]}})


def _difference(table: Table[Any], stated: list[Any], computed: list[Any]) -> str | None:
    given = from_csv(to_csv(computed, table.row), table.row)
    if len(stated) != len(given):
        return f"{table.name} has {len(stated):,} rows, and its measurements give {len(given):,}"
    for number, (left, right) in enumerate(zip(stated, given, strict=True), 1):
        for name in _unequal(left, right):
            values = f"{getattr(left, name)!r}, and its measurements give {getattr(right, name)!r}"
            return f"{table.name}, row {number:,}: {name} is {values}"
    return None


def _unequal(left: Any, right: Any) -> Iterator[str]:
    for name in fields_of(type(left)):
        mine, other = getattr(left, name), getattr(right, name)
        close = isinstance(mine, float) and isinstance(other, float) and math.isclose(mine, other, rel_tol=_RELATIVE)
        if not close and mine != other:
            yield name
