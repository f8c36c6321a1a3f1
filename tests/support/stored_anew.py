"""Stored results that a test has changed on purpose."""

import shutil

from nephoscope.store import files
from nephoscope.store.attempt import Attempt


def stored_anew(attempt: Attempt) -> None:
    """As if the trial itself had written its files as they are now: with their digests."""
    committed = attempt.committed()
    assert committed is not None
    attempt.write_status(committed)


def as_stored_without_digests(attempt: Attempt) -> None:
    """As in a folder that was published without digests: `parse` replaced what was derived."""
    status, derived = attempt.status(), attempt.folder / "derived"
    assert status is not None
    for path in derived.glob("*"):
        path.rename(attempt.folder / path.name)
    shutil.rmtree(derived, ignore_errors=True)
    files.write(attempt.folder / "status.json", status.model_copy(update={"files": None}))
