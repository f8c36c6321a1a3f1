import subprocess
from pathlib import Path

import pytest

from nephoscope.machines.ssh.jobs import JobEnd, JobSpec, Start, parse_end, parse_look, parse_start
from nephoscope.model.errors import OutputUnreadable

WHOLE = b"nephoscope ended 3 5 4 12\nhelloerr\n"


def test_an_answer_that_was_cut_anywhere_is_none() -> None:
    assert parse_end(WHOLE) == JobEnd(3, late=False, stdout=b"hello", stderr=b"err\n", free_bytes=12288)
    for length in range(len(WHOLE)):
        assert parse_end(WHOLE[:length]) is None, WHOLE[:length]


def test_how_a_job_ended() -> None:
    late, killed = parse_end(b"nephoscope ended late 0 0 0\n"), parse_end(b"nephoscope ended killed 0 0 \n")
    assert late == JobEnd(None, late=True, stdout=b"", stderr=b"", free_bytes=0)
    assert killed == JobEnd(None, late=False, stdout=b"", stderr=b"", free_bytes=None)
    with pytest.raises(OutputUnreadable, match="not on the host"):
        parse_end(b"nephoscope absent\n")


def test_how_a_job_started() -> None:
    assert parse_start(b"nephoscope started\n") == (Start.STARTED, "")
    assert parse_start(b"nephoscope unwritable mkdir: No space left on device\n") == (
        Start.UNWRITABLE,
        "mkdir: No space left on device",
    )
    for cut in (b"", b"nephoscope", b"nephoscope started", b"Welcome to host\n", WHOLE):
        assert parse_start(cut) is None


def test_a_login_shell_that_talks_is_refused() -> None:
    look = parse_look(b"1000\n/home/me\n8\nhost\naarch64\n\n")
    assert (look.user_id, look.home, look.cpus, look.hostname, look.missing) == (1000, "/home/me", 8, "host", ())
    assert parse_look(b"0\n/root\n2\nh\nx86_64\n flock pkill\n").missing == ("flock", "pkill")
    with pytest.raises(OutputUnreadable, match="Welcome"):
        parse_look(b"Welcome\n1000\n/home/me\n8\nhost\naarch64\n\n")
    for cpus in (b"999999999999", b"0", b"-1"):
        with pytest.raises(OutputUnreadable):
            parse_look(b"1000\n/home/me\n%b\nhost\naarch64\n\n" % cpus)


@pytest.mark.parametrize("stdin", [b"", b"in"])
def test_a_job_whose_input_or_environment_was_cut_is_not_begun_and_may_be_asked_for_again(
    tmp_path: Path, stdin: bytes
) -> None:
    began = tmp_path / "began"
    argv = ("sh", "-c", f'cat; echo "$PGPASSWORD" >>{began}')
    job = JobSpec(str(tmp_path), str(tmp_path / "job"), "sh", argv, 20.0, stdin, {"PGPASSWORD": "hush"})
    whole = job.input()
    for length in (0, 5, len(whole) - 1):
        cut = subprocess.run(
            ["sh", "-c", job.command(wait=True)], input=whole[:length], capture_output=True, check=False
        )
        assert (cut.returncode, cut.stdout) == (1, b""), length
        assert not (tmp_path / "job").exists()
    asked = subprocess.run(["sh", "-c", job.command(wait=True)], input=whole, capture_output=True, check=True)
    end = parse_end(asked.stdout)
    assert end is not None
    assert (end.exit_code, end.stdout) == (0, stdin)
    assert began.read_text() == "hush\n"
