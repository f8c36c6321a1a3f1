"""How much of a study a plan holds. Pure."""

from collections.abc import Mapping

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.analysed import PartOfStudy
from nephoscope.model.records import Plan
from nephoscope.plan.cut import CHAPTERS, chapters_of
from nephoscope.plan.expand import fitting_cells
from nephoscope.study.model import Study


def part_held(study: Study, plan: Plan, benchmarks: Mapping[str, Benchmark]) -> PartOfStudy | None:
    """The part that a plan is of its study, by `--only`, `--types` or `--budget`; None: all of it.

    Raises:
        InputError: the study cannot be planned.
    """
    whole = set(fitting_cells(study, benchmarks))
    held = whole & {(row.intent.configuration_name, row.intent.benchmark.name) for row in plan.trials}
    if held == whole:
        return None
    names, of_names = ({name for name, _ in cells} for cells in (held, whole))
    labels, of_labels = ({label for _, label in cells} for cells in (held, whole))
    providers = {one.name: one.provider for one in study.configurations}
    chapters = chapters_of(study, benchmarks)
    return PartOfStudy(
        configurations=len(names),
        of_configurations=len(of_names),
        benchmarks=len(labels),
        of_benchmarks=len(of_labels),
        cells=len(held),
        of_cells=len(whole),
        providers=sorted({providers[name] for name in of_names} - {providers[name] for name in names}),
        chapters=[
            one
            for one in CHAPTERS
            if one in {chapters[label] for label in of_labels} - {chapters[label] for label in labels}
        ],
    )
