"""What ran, what failed and what the checks said: rows of stored trials, without a statistic."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter

from nephoscope.analysis.renamed import trials
from nephoscope.analysis.table import Table
from nephoscope.model.records import CommandRecord, OperationErrors, Verdict, VerdictKind
from nephoscope.model.rows import CheckRow, CommandRow, ErrorRow, TrialRow


def commands_of(trials: Sequence[TrialRow], commands: Mapping[str, Sequence[CommandRecord]]) -> list[CommandRow]:
    """What ran for each benchmark on each configuration: of the first trial that counts, else of the first that ran.

    Args:
        trials: in any order; the plan's position decides which is first.
        commands: trial id -> its commands, in the order of execution.

    Returns:
        Sorted by configuration and benchmark; commands of a trial stay in their order.
    """
    first: dict[tuple[str, str], TrialRow] = {}
    for row in sorted(trials, key=lambda row: (not row.counts, row.position, row.trial)):
        if commands.get(row.trial):
            first.setdefault((row.configuration, row.benchmark), row)
    return [
        CommandRow(
            configuration=row.configuration,
            benchmark=row.benchmark,
            subject=row.subject,
            argv=command.argv,
            machine=command.machine,
            trial=row.trial,
        )
        for _, row in sorted(first.items())
        for command in commands[row.trial]
    ]


def errors_of(trials: Sequence[TrialRow], errors: Mapping[str, Sequence[OperationErrors]]) -> list[ErrorRow]:
    """Retries and errors of every benchmark on every configuration.

    Trials that do not count are among them: often these are the reason.

    Returns:
        Sorted by benchmark, configuration, operation, kind and SQLSTATE.
    """
    groups: dict[tuple[str, str, str, str, str], list[tuple[TrialRow, OperationErrors]]] = defaultdict(list)
    for trial in sorted(trials, key=lambda row: (row.position, row.trial)):
        for row in errors.get(trial.trial, []):
            key = (trial.benchmark, trial.configuration, row.operation, row.kind, row.sqlstate)
            groups[key].append((trial, row))
    return [
        ErrorRow(
            benchmark=benchmark,
            subject=found[0][0].subject,
            configuration=configuration,
            operation=operation,
            sqlstate=sqlstate,
            kind=found[0][1].kind,
            count=sum(row.count for _, row in found),
            trials=[trial.trial for trial, _ in found],
        )
        for (benchmark, configuration, operation, _, sqlstate), found in sorted(groups.items(), key=itemgetter(0))
    ]


def checks_of(verdicts: Mapping[str, Sequence[Verdict]], texts: Mapping[str, str]) -> list[CheckRow]:
    """How often each check said what, sorted by name; a check that never applied has three zeros."""
    counts = Counter((verdict.check, verdict.verdict) for many in verdicts.values() for verdict in many)
    return [
        CheckRow(
            check=check,
            text=texts.get(check, ""),
            valid=counts[check, VerdictKind.VALID],
            invalid=counts[check, VerdictKind.INVALID],
            unknown=counts[check, VerdictKind.UNKNOWN],
        )
        for check in sorted({*texts, *(name for name, _ in counts)})
    ]


COMMANDS = Table("commands", CommandRow, lambda of: commands_of(of(trials), of.inputs.commands), has_columns=False)
ERRORS = Table("errors", ErrorRow, lambda of: errors_of(of(trials), of.inputs.errors), has_columns=False)
CHECKS = Table("checks", CheckRow, lambda of: checks_of(of.inputs.verdicts, of.inputs.check_texts), has_columns=False)
