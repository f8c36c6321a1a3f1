"""What a shell or a service denies this process is named with its limit and how to raise it; it is no defect."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.app.limits import Limits, lacking, low, require_enough
from nephoscope.importers import tree
from nephoscope.model.errors import EnvironmentProblem, StorageFailed
from nephoscope.model.missing import MissingPart, contained
from nephoscope.model.units import GIB
from nephoscope.store import files
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results

NONE = Limits()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    return made_results(tmp_path_factory.mktemp("limits") / "r", {"a": [1.0, 2.0]})


def run(limit: int, soft: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command line in a process with a limit."""
    return subprocess.run(
        [sys.executable, "-m", "nephoscope", *arguments],
        preexec_fn=lambda: resource.setrlimit(limit, (soft, soft)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("limit", "option"), [(resource.RLIMIT_AS, "-v"), (resource.RLIMIT_DATA, "-d")])
@pytest.mark.parametrize("command", ["report", "compare", "plan"])
def test_a_limit_of_memory_is_named_before_a_library_ends_the_process(
    folder: ResultsFolder, command: str, limit: int, option: str
) -> None:
    arguments = {"compare": [folder.path, folder.path], "plan": [folder.path / "study.toml"]}.get(
        command, [folder.path]
    )
    ended = run(limit, 400 << 20, command, *map(str, arguments))
    assert ended.returncode == EnvironmentProblem.exit_code
    assert f"`ulimit {option}` allows 409,600 KiB" in ended.stderr
    assert f"hint: `ulimit {option} unlimited`" in ended.stderr


def test_a_limit_of_files_is_named(folder: ResultsFolder) -> None:
    ended = run(resource.RLIMIT_NOFILE, 16, "report", str(folder.path))
    assert ended.returncode == EnvironmentProblem.exit_code
    assert "`ulimit -n` allows 16" in ended.stderr
    assert "hint: this process may open no more files: `ulimit -n 1024`" in ended.stderr
    assert run(resource.RLIMIT_NOFILE, 16, "report", "--help").returncode == 0


def test_a_limit_of_a_files_size_is_named(folder: ResultsFolder) -> None:
    ended = run(resource.RLIMIT_FSIZE, 100, "analyze", str(folder.path))
    assert ended.returncode == StorageFailed.exit_code
    assert "File too large\nhint: a limit on the size of a file is reached: `ulimit -f unlimited`" in ended.stderr


@pytest.mark.parametrize(
    ("now", "refused"),
    [
        (NONE, False),
        (Limits(200 * GIB, 3 * GIB, files=1024, processes=10), False),
        (Limits(60 * GIB, files=1024), True),
        (Limits(data_bytes=2 * GIB), True),
        (Limits(files=63), True),
    ],
)
def test_a_report_is_refused_where_it_would_crash(now: Limits, refused: bool) -> None:
    require_enough("status", now, cpus=4)
    if not refused:
        require_enough("report", now, cpus=4)
        return
    with pytest.raises(EnvironmentProblem, match="`ulimit"):
        require_enough("report", now, cpus=4)


@pytest.mark.parametrize(
    ("error", "now", "hint"),
    [
        (MemoryError(), NONE, "free some"),
        (MemoryError(), Limits(GIB, 3 * GIB), "ulimit -v 1048576 and ulimit -d 3145728 may be too low"),
        (OSError(errno.EMFILE, "x"), NONE, "ulimit -n"),
        (OSError(errno.ENFILE, "x"), NONE, "fs.file-max"),
        (OSError(errno.ENOMEM, "x"), NONE, "free some"),
        (BlockingIOError(errno.EAGAIN, "x"), NONE, "ulimit -u"),
    ],
)
def test_what_a_process_lacks_is_no_defect(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    now: Limits,
    hint: str,
) -> None:
    monkeypatch.setattr("nephoscope.app.cli.app", raising(error))
    monkeypatch.setattr("nephoscope.app.cli.limits", lambda: now)
    assert main([]) == EnvironmentProblem.exit_code
    told = capsys.readouterr().err
    assert hint in told
    assert "defect" not in told


def test_a_panic_is_a_defect_and_names_low_limits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Panic(BaseException):
        """As pyo3 has it."""

    now = Limits(GIB, files=32, processes=50)
    monkeypatch.setattr("nephoscope.app.cli.app", raising(Panic()))
    monkeypatch.setattr("nephoscope.app.cli.limits", lambda: now)
    assert main([]) == 1
    assert "may be the cause: ulimit -v 1048576, ulimit -n 32, ulimit -u 50" in capsys.readouterr().err
    assert lacking(Panic(), now) is None
    assert low(NONE) == low(Limits(files=1024, processes=96_365)) == []


def test_a_file_that_no_process_could_open_is_not_called_damaged(
    folder: ResultsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "open", raising(OSError(errno.EMFILE, os.strerror(errno.EMFILE))))
    with pytest.raises(EnvironmentProblem, match="Too many open files"):
        files.read_bytes(folder.plan_path, mend="")
    with pytest.raises(EnvironmentProblem, match="Too many open files"):
        tree.content_of(folder.plan_path, Path(folder.path))


def test_a_report_is_not_written_without_what_there_was_no_memory_for() -> None:
    missing: list[MissingPart] = []
    with pytest.raises(MemoryError), contained(missing, "figure", "f"):
        raise MemoryError
    assert missing == []


def raising(error: BaseException) -> Callable[..., None]:
    def fails(*_: object, **__: object) -> None:
        raise error

    return fails
