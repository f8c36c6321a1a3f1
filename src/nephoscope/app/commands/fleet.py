"""`nephoscope status`, `clean` and `fixtures`: how far a study is, and what it left at its providers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nephoscope.app.commands.options import MEASURE, AsJson, Folder, add_command
from nephoscope.app.console import print_json, print_rows, print_table, say, talk, tell
from nephoscope.model.errors import CleanupFailed, InputError
from nephoscope.model.numbers import money
from nephoscope.model.words import counted

if TYPE_CHECKING:
    from nephoscope.model.rows import TrialRow

MAX_ROWS = 200
"""Trials of a study that are listed without being asked for: Rich draws 1,000 rows a second."""
MAX_REASONS = 20
"""Reasons that a summary lists."""
Rows = Annotated[bool, typer.Option("--rows", help="print every trial, in a pager on a terminal")]
Watch = Annotated[bool, typer.Option("--watch", help="refresh every two seconds until the study is done")]


Dsn = Annotated[
    str | None,
    typer.Option("--dsn", metavar="URL", help="a server of your own; its password goes into PGPASSWORD or MYSQL_PWD"),
]
Yes = Annotated[bool, typer.Option("--yes", help="with --dsn: drop the databases; without it nothing changes")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    add_command(
        app,
        status,
        under=MEASURE,
        example="status results/laptop --watch",
        then="nephoscope report results/laptop",
    )
    add_command(
        app,
        clean,
        under=MEASURE,
        example="clean results/cluster",
        more=("clean --dsn postgresql://bench@db.example.com/bench --yes",),
    )
    add_command(
        app,
        fixtures,
        under=MEASURE,
        example="fixtures cloud-report-2022.toml",
        more=(
            "fixtures results/big --delete nephoscope_tpcc_0123456789ab",
            "fixtures 's3://my-bucket/sets' --json",
        ),
    )


def status(folder: Folder, as_json: AsJson = False, watch: Watch = False, rows: Rows = False) -> None:
    """Show the progress of a study: trials by state and verdict, what was lost and why, answers, dollars spent.

    A study of more than 200 trials gets a summary; --rows prints each trial.
    """
    from nephoscope.app.stages import evaluation
    from nephoscope.run.clock import SystemClock
    from nephoscope.store.folder import ResultsFolder

    stored = ResultsFolder.existing(folder)
    if watch:
        from nephoscope.app.watch import watch as show

        show(stored, SystemClock())
        return
    trials, spent_usd = evaluation.status_and_spent(stored, SystemClock().unix_ms())
    if as_json:
        print_json(trials)
        return
    if rows:
        print_rows(_HEADS, map(_cells, trials))
        return
    if len(trials) <= MAX_ROWS:
        print_table(_HEADS, map(_cells, trials))
    _say_reasons(trials)
    if stored.source() is None:
        from nephoscope.app.usable import lines

        for line in lines(evaluation.usable(stored, trials), str(folder), waiting=stored.in_use()):
            say(line)
    for answer in evaluation.stored_answers(stored):
        say(f"- {answer}")
    say(_counts(trials))
    if spent_usd is not None:
        say(f"{money(spent_usd)} spent")


_HEADS = ("#", "configuration", "benchmark", "replicate", "state", "verdict", "attempts")


def _cells(row: "TrialRow") -> tuple[str, ...]:
    return (
        *(str(row.position), row.configuration, row.benchmark, str(row.replicate), row.state),
        *(str(row.verdict or "-"), str(row.attempts)),
    )


def _say_reasons(trials: "list[TrialRow]") -> None:
    """Why trials do not count, altered files first, as only a person can repair them; then events of the others."""
    told = [row for row in trials if row.state not in {"planned", "not needed"}]
    found = [
        f"#{row.position} {'altered: ' if row.state == 'altered' else ''}{why}"
        for row in sorted(told, key=lambda row: row.state != "altered")
        for why in row.reasons
    ]
    found += [f"#{row.position} {row.verdict}: {event.clause}" for row in told if row.counts for event in row.events]
    most = len(found) if len(trials) <= MAX_ROWS else MAX_REASONS
    for line in found[:most]:
        say(line)
    if found[most:]:
        say(f"{counted(len(found) - most, 'more reason')}: see the report, or --json")


def _counts(rows: "list[TrialRow]") -> str:
    """'24 trials: 11 planned, 1 running, 12 finished: 1 valid, 11 rejected'."""
    states = [row.state for row in rows]
    order = sorted(set(states), key=lambda state: (state == "finished", state))
    counts = ", ".join(f"{states.count(state):,} {state}" for state in order)
    finished, valid = states.count("finished"), sum(row.counts for row in rows)
    verdicts = f": {valid:,} valid, {finished - valid:,} rejected" if finished else ""
    return f"{counted(len(rows), 'trial')}: {counts}{verdicts}"


def clean(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="results folder of the study whose machines to delete")
    ] = None,
    dsn: Dsn = None,
    yes: Yes = False,
) -> None:
    """Delete what nephoscope left behind: machines of a study, or databases on a server of your own.

    With DIR it deletes every machine that the study left at its providers, found by its tags. With --dsn it lists the
    databases that nephoscope made on your own server and recorded there, and drops them with --yes; it never drops
    others. Exit code 3 if anything remains.
    """
    if (folder is None) == (dsn is None):
        raise InputError(
            "`clean` needs either a results folder or --dsn",
            hint="nephoscope clean results/cluster, or nephoscope clean --dsn postgresql://user@host/database",
        )
    if dsn is not None:
        _clean_server(dsn, yes=yes)
    elif folder is not None:
        _clean_machines(folder)


def _clean_server(dsn: str, *, yes: bool) -> None:
    """Lists the databases that nephoscope made on a server of the user's, or drops them."""
    import asyncio

    from nephoscope.app.stages import leftovers

    found, left = asyncio.run(leftovers.clean_server(dsn, drop_them=yes))
    if found:
        print_table(leftovers.HEADERS, leftovers.rows(found, left))
    for line in leftovers.lines(found, left, dsn, dropped=yes):
        say(line)
    if left:
        raise CleanupFailed(
            f"{counted(len(left), 'database')} could not be dropped: {', '.join(left)}",
            hint="wait until no study uses the server, then run the same command again",
        )


def _clean_machines(folder: Path) -> None:
    """Deletes the machines that a study left at its providers."""
    import asyncio

    from nephoscope.app.progress import LiveProgress
    from nephoscope.app.remaining import Remaining
    from nephoscope.app.stages import data_sets, evaluation, tracking
    from nephoscope.app.wiring import real_world
    from nephoscope.run.clock import SystemClock
    from nephoscope.store.folder import ResultsFolder

    stored = ResultsFolder.existing(folder)
    if stored.plan().simulated:
        say(f"{folder} is a rehearsal: nothing was created, so there is nothing to delete")
        return
    with stored.lock(), LiveProgress(talk(), SystemClock(), Remaining([])) as progress:
        found = asyncio.run(tracking.clean_up(stored, real_world(progress)))
    for key in found.terminated:
        say(f"deleted {key}")
    created = counted(tracking.created(stored), "cluster")
    say(f"{created} created, {len(found.terminated)} deleted now, {len(found.left)} left")
    if kept := data_sets.reminder(evaluation.stored_study(stored), str(folder)):
        say(kept)
    if found.left:
        raise CleanupFailed(
            f"these clusters could not be deleted: {', '.join(found.left)}",
            hint="delete them in the provider's console: they may cost money",
        )
    if found.elsewhere:
        raise CleanupFailed(
            f"another account made {counted(len(found.elsewhere), 'cluster')} of this study, which these credentials "
            f"do not show: {', '.join(found.elsewhere)}",
            hint="run the same command with the account, project or subscription that `run` had",
        )
    if found.unreachable:
        raise CleanupFailed(
            f"these machines did not answer, and a load may still run there: {'; '.join(found.unreachable)}",
            hint="run `nephoscope clean` again once they answer; the load ends at its deadline, or when the next study "
            "starts there",
        )


def fixtures(
    where: Annotated[
        str, typer.Argument(metavar="WHERE", help="study file, results folder, or address such as s3://bucket/folder")
    ],
    delete: Annotated[
        list[str] | None,
        typer.Option("--delete", metavar="NAME", help="delete this data set in every place; may be repeated"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets that clouds keep between studies, with size, age and price; delete those that you name.

    They are in object storage or in snapshots of volumes, where `database.fixtures` of a study puts them, under names
    that end with a digest of benchmark, size and seed. Snapshots have addresses such as snapshots://aws/us-east-1. Your
    own credentials for the cloud are used. Everything in their folder is listed, but nothing else is read or deleted.
    --delete does not ask again.
    Exit code 3 if a place could not be read, or something is left of a deleted data set.
    """
    import asyncio

    from nephoscope.app.stages import data_sets
    from nephoscope.app.wiring import object_storages, snapshots_of_volumes
    from nephoscope.run.clock import SystemClock

    clock = SystemClock()
    stores = data_sets.Stores(object_storages(clock), snapshots_of_volumes(clock))
    places = data_sets.places_of(where)
    found = asyncio.run(data_sets.kept(places, stores))
    if delete:
        ended = data_sets.chosen(found, delete)
        left = asyncio.run(data_sets.delete(ended, stores))
        for one in ended:
            if one not in left:
                (tell if as_json else say)(f"deleted {one.name} in {one.where}")
        if left:
            raise CleanupFailed(
                f"not deleted: {', '.join(f'{one.name} in {one.where}' for one in left)}",
                hint="run the same command again; they cost money",
            )
        found = asyncio.run(data_sets.kept(places, stores))
    rows = data_sets.rows_of(found.sets, clock.unix_ms())
    if as_json:
        print_json(rows)
    else:
        if rows:
            print_table(data_sets.HEADERS, data_sets.cells(rows))
        if rows or not found.unread:
            say(data_sets.total(rows))
    if found.unread:
        raise CleanupFailed(
            f"could not be read: {'; '.join(f'{place}: {why}' for place, why in found.unread.items())}",
            hint="check the address, and that your credentials may list and delete what is there",
        )
