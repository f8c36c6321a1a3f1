"""A whole study: every planned trial that is not finished yet, in the plan's order."""

from collections import Counter
from dataclasses import dataclass

from nephoscope.checks.registry import overall
from nephoscope.errors import InputError
from nephoscope.records import Plan, VerdictKind
from nephoscope.run.trial import run_trial
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder


@dataclass(frozen=True)
class StudyOutcome:
    """Counts over the whole plan after a run."""

    finished: int
    valid: int
    failed: int


def adopt_plan(folder: ResultsFolder, study_text: str, plan: Plan, *, replan: bool) -> None:
    """Stores study and plan; a used folder may get more trials, another title or budget, and new estimates freely.

    Raises:
        InputError: trials of the plan that the folder holds are not in this one, and `replan` is not set.
    """
    if folder.plan_path.exists():
        held = folder.plan()
        gone = {row.intent.id for row in held.trials} - {row.intent.id for row in plan.trials}
        if gone and not replan:
            raise InputError(
                f"{folder.path} holds the plan of a study {held.study!r} with {len(held.trials)} trials, of which "
                f"{len(gone)} are not in this one",
                hint="choose another folder with --out, or --replan to replace the plan: finished trials that both "
                "plans hold are kept, the others stay in the folder and no longer count",
            )
    folder.write_plan(study_text, plan)


async def run_study(folder: ResultsFolder, world: World) -> StudyOutcome:
    """Runs what is left of the plan in `folder`. A failed trial does not end the study.

    Raises:
        StorageFailed: the results could not be stored.
        asyncio.CancelledError: it was interrupted; running it again resumes.
    """
    rows = list(folder.planned())
    finished_before = sum(trial.finished() for _, trial in rows)
    world.listener.study_started(len(rows), finished_before)
    for planned, trial in rows:
        if trial.finished():
            continue
        world.listener.trial_started(planned)
        ended = await run_trial(planned.intent, trial, folder.scratch, world)
        folder.forget_analysis()  # a report made meanwhile is of what was there then
        world.listener.trial_ended(planned, ended.status, ended.verdict, ended.reasons)
    folder.remove_scratch()
    return count(folder)


def count(folder: ResultsFolder) -> StudyOutcome:
    """Counts over the plan, from what is stored."""
    states: Counter[str] = Counter()
    for _, trial in folder.planned():
        attempt = trial.decisive_attempt()
        status = attempt.status() if attempt else None
        if attempt is None or status is None:
            continue
        states[status.state] += 1
        if status.state == "finished" and overall(attempt.verdicts()) is VerdictKind.VALID:
            states["valid"] += 1
    return StudyOutcome(states["finished"], states["valid"], states["failed"])
