"""A plan -> stored trials: how a run is conducted."""

from dataclasses import dataclass

from nephoscope.app.stages.stopping import stopping_rule
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.plan.budget import check_budget
from nephoscope.run.conductor import Rules
from nephoscope.run.ledger import Limits
from nephoscope.run.preflight import preflight
from nephoscope.run.states import Patience
from nephoscope.run.study import RunOptions, StudyOutcome, adopt_plan, run_study
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.address import names_one_server
from nephoscope.study.model import Study
from nephoscope.study.secrets import holds_password


@dataclass(frozen=True)
class CliOptions:
    """What the command line says about a run beyond its study."""

    max_clusters: int = 1
    max_usd: float | None = None
    """Limit on all that this results folder has cost and will cost."""
    state_url: str | None = None
    until: str | None = None
    """'margin=1.5%'."""


def run_options(folder: ResultsFolder, study: Study, options: CliOptions) -> RunOptions:
    """How the study runs.

    Raises:
        InputError: an option is malformed, or two options exclude each other.
    """
    limits = [usd for usd in (study.budget.max_usd, options.max_usd) if usd is not None]
    if options.state_url is not None and (holds_password(options.state_url) or not names_one_server(options.state_url)):
        raise InputError(
            "--state must be the address of one PostgreSQL server, without a password",
            hint="--state postgresql://user@host:port/database, and the password in PGPASSWORD",
        )
    return RunOptions(
        limits=Limits(max_usd=min(limits, default=None), max_clusters=options.max_clusters),
        rules=Rules(study.placement, Patience()),
        state_url=options.state_url,
        look=stopping_rule(folder, study, options.until, shared=options.state_url is not None),
    )


def adopt(folder: ResultsFolder, text: str, study: Study, planned: Plan, *, replan: bool) -> None:
    """Checks the budget and stores study and plan in the folder; drops an analysis of the trials before."""
    check_budget(planned, study.budget)
    adopt_plan(folder, text, planned, replan=replan)
    folder.forget_analysis()


def expected_left_s(folder: ResultsFolder) -> float:
    """What the plan expects of the trials that are not finished."""
    not_needed = folder.not_needed()
    return sum(
        planned.expected_duration_s
        for planned, trial in folder.planned()
        if not trial.finished() and planned.intent.id not in not_needed
    )


async def run(folder: ResultsFolder, study: Study, world: World, options: RunOptions | None = None) -> StudyOutcome:
    """plan -> stored trials."""
    await preflight(folder, study, world)
    return await run_study(folder, world, options)
