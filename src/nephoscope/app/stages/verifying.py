"""Whether every stored file of a results folder is what it was when its trial ended."""

from nephoscope.model.errors import NephoscopeError
from nephoscope.model.frozen import Frozen
from nephoscope.store import index, made_from
from nephoscope.store.digests import walk
from nephoscope.store.folder import ResultsFolder
from nephoscope.store.verified import Verifier


class Verification(Frozen):
    """What `verify` found."""

    attempts: int
    """Attempts that were compared with their digests."""
    files: int
    """Files that were read for that."""
    differences: list[str]
    """'trials/0123456789ab/attempts/1/measurements.jsonl was changed'."""
    without_digests: int
    """Attempts whose digests were left out, as those of a published folder may be: they cannot be checked."""
    not_ended: int
    """Attempts that run now, or were killed: they have no digests, and nothing of them is used."""


def verify(folder: ResultsFolder) -> Verification:
    """Reads every file of every attempt, whatever is remembered; writes only `verified.json`."""
    verifier = Verifier(folder.path, afresh=True)
    differences = _unreadable(folder)
    files = attempts = without = not_ended = 0
    for attempt in folder.every_attempt():
        name = folder.relative(attempt)
        try:
            checked = verifier.check(attempt)
            ended = attempt.status() is not None
        except NephoscopeError as error:
            differences.append(error.message)
            continue
        if checked is None or not ended:
            not_ended += 1
            continue
        without += not checked.has_digests
        differences += [f"{name}/{one}" for one in checked.differences]
        if checked.has_digests:
            attempts += 1
            files += sum(1 for _ in walk(attempt.folder))
    differences += [f"{name} was changed since `analyze` wrote it" for name in folder.altered_analysis()]
    verifier.save()
    index.forget(folder.path)
    made_from.forget(folder.path)  # a file may differ that looks as it did
    return Verification(
        attempts=attempts, files=files, differences=differences, without_digests=without, not_ended=not_ended
    )


def _unreadable(folder: ResultsFolder) -> list[str]:
    """Files of the study itself that cannot be read; they have no digests."""
    found = []
    for read in (folder.study_text, folder.plan, folder.source, folder.looks):
        try:
            read()
        except NephoscopeError as error:
            found.append(error.message)
    return found
