"""Whether stored files are what they were when their trial ended, and published answers what their data give."""

from pathlib import Path

from nephoscope.model.errors import NephoscopeError
from nephoscope.model.frozen import Frozen
from nephoscope.store import index
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


class BundleVerification(Frozen):
    """What `verify` found in a published report."""

    study: str
    measurements: int
    """Values of which everything was computed again."""
    differences: list[str]
    """'best, row 3: best is ['a'], and its measurements give ['b']'."""


def bundle_of(path: Path) -> Path | None:
    """The bundle of a published report at a path; None: it is a results folder, or nothing of ours."""
    from nephoscope.analysis import published

    return None if ResultsFolder(path).plan_path.exists() else published.bundle_at(path)


def verify_bundle(bundle: Path) -> BundleVerification:
    """Computes the answers of a published report again from the measurements in its bundle.

    Raises:
        InputError: this is no bundle, or its study file is none.
        DamagedFile, NewerSchema: a file in it cannot be read.
    """
    from nephoscope.analysis import published
    from nephoscope.analysis.published import differing_answers
    from nephoscope.app.stages.evaluation import study_of
    from nephoscope.model.rows import MeasurementRow

    study = published.read(bundle)
    asked = study_of(study.study_toml, f"{bundle}: study.toml", study.source)
    return BundleVerification(
        study=study.study, measurements=len(study[MeasurementRow]), differences=differing_answers(study, asked)
    )


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
    index.forget(folder.path)  # a file may differ that looks as it did
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
