"""`nephoscope try`: a first run on an account of a cloud."""

import getpass
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nephoscope.app.commands.options import MEASURE, add_command
from nephoscope.app.console import say, talk, tell
from nephoscope.model.errors import InputError

if TYPE_CHECKING:
    from nephoscope.store.folder import ResultsFolder

REPORT = "first-run.txt"
_NAMES = ("GOOGLE_CLOUD_PROJECT", "AZURE_SUBSCRIPTION_ID", "AWS_PROFILE", "AWS_ACCESS_KEY_ID")
"""Environment variables that name an account."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(
        app,
        try_cloud,
        name="try",
        under=MEASURE,
        example="try aws --ingress 203.0.113.7/32",
        more=("try gcp --ingress 203.0.113.7/32 --region europe-west1 --zone europe-west1-b --yes",),
        then="nephoscope plan STUDY, with the same `cloud`",
    )


def try_cloud(
    cloud: Annotated[Literal["aws", "azure", "gcp"], typer.Argument(metavar="CLOUD", help="aws, azure or gcp")],
    ingress: Annotated[
        str,
        typer.Option(
            "--ingress",
            metavar="ADDRESS/32",
            help="the address that SSH comes from; `curl https://checkip.amazonaws.com` prints yours",
        ),
    ],
    region: Annotated[str | None, typer.Option("--region", metavar="NAME", help="needs --zone")] = None,
    zone: Annotated[str | None, typer.Option("--zone", metavar="NAME", help="of the region")] = None,
    machine: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="the machine type to try")] = None,
    image: Annotated[
        str | None,
        typer.Option("--image", metavar="IMAGE", help="as `image` of a study [default: Debian; azure: none]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="results folder [default: results/try-CLOUD]")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="make the machine; without it the account is only asked")] = False,
) -> None:
    """Try your account of a cloud on one small machine, for cents, in about ten minutes, and leave nothing there.

    It asks the account for identity, rights, quotas, image and network, which costs nothing. With --yes it then makes
    what each trial of a study makes: rules for SSH, a machine with a volume, its boot script, an SSH login, the load
    generator, a benchmark of three seconds. The process that runs it is killed while the benchmark runs, and a second
    one takes over, as `run` does after a crash. Whatever fails, all is deleted, and the cloud is asked whether anything
    is left.

    A budget of 1 dollar ends the machine before it is spent; after eight minutes deletion begins in any case. The
    folder then has first-run.txt, which you can attach to a bug report: names of accounts, addresses and keys are
    masked. Exit codes are those of `run`; 3 also if something could not be deleted.
    """
    from nephoscope.app.planned import in_one_line
    from nephoscope.app.progress import LiveProgress
    from nephoscope.app.stages import planning, running, tracking, trying
    from nephoscope.app.wiring import questions_to_its_cloud, real_world
    from nephoscope.providers.base import ClusterRequest
    from nephoscope.run.clock import SystemClock
    from nephoscope.run.signals import run_until_stopped
    from nephoscope.store.atomic import write_text

    if (region is None) != (zone is None):
        raise InputError("a region and its zone go together", hint="give both --region and --zone, or neither")
    given = {"region": region, "zone": zone, "type": machine, "image": image}
    place = replace(trying.PLACES[cloud], **{name: value for name, value in given.items() if value is not None})
    text = trying.study_text(cloud, place, ingress)
    study = planning.load(text, f"try {cloud}")
    planned = planning.plan(study)
    folder = _without_a_run(out or Path("results") / study.name)
    tell(f"one {place.type} in {place.zone} of {place.region}: {in_one_line(planned)}; ends at ${trying.MAX_USD:g}")
    with folder.lock():
        running.adopt(folder, text, study, planned, replan=True)
    with LiveProgress(talk(), SystemClock(), tracking.remaining(folder)) as progress:
        request = ClusterRequest(folder.study_key(), study.configurations[0], folder.scratch)
        first = trying.FirstRun(
            folder,
            study,
            real_world(progress),
            running.run_options(folder, study, running.CliOptions()),
            [sys.executable, "-P", "-m", "nephoscope", "run", str(folder.path)],
            questions_to_its_cloud(request),
            tell,
        )
        try:
            problem = run_until_stopped(first.run(makes=yes))
        finally:
            own = [ingress, str(Path.home()), getpass.getuser(), socket.gethostname(), *map(os.getenv, _NAMES)]
            write_text(folder.path / REPORT, first.report([name or "" for name in own]))
            tell(f"for a bug report: {folder.path / REPORT}")
    if problem is not None:
        raise problem
    if not yes:
        say("nothing was made; --yes makes the machine, measures and deletes it")


def _without_a_run(path: Path) -> "ResultsFolder":
    """The results folder.

    Raises:
        InputError: an earlier run made something there.
    """
    from nephoscope.app.stages import tracking
    from nephoscope.store.folder import ResultsFolder

    folder = ResultsFolder.for_results(path)
    if folder.plan_path.exists() and tracking.created(folder):
        raise InputError(
            f"{folder.path} holds an earlier run",
            hint=f"nephoscope clean {folder.path}, then delete the folder, or name another with --out",
        )
    return folder
