"""`nephoscope serve` as a process: what it answers, to whom, what it never gives away, and how it ends."""

import http.client
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nephoscope.report.parts import Page
from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import nephoscope, start_nephoscope
from tests.support.made_results import made_results, write_trial


class Asked:
    """A server, its study, and what it says."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: ResultsFolder, port: int) -> None:
        self.process, self.folder, self.port = process, folder, port

    def ask(self, path: str, method: str = "GET", host: str | None = None) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body, {name.lower(): value for name, value in answer.getheaders()}

    def study(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("/api/state")[1])["studies"][0]
        return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    path = tmp_path_factory.mktemp("serve")
    folder = made_results(path / "study", {"a": [100.0, None], "b": [None, None]})
    (path / "secret.txt").write_text("secret")
    attempt = next((path / "study" / "trials").glob("*/attempts/1"))
    (attempt / "raw" / "out.html").write_text("<script>alert(1)</script>")
    (attempt / "raw" / "link.txt").symlink_to(path / "secret.txt")
    (path / "study" / "trials" / "away").symlink_to(path)
    process = start_nephoscope("serve", folder.path, "--port", "0", "--every", "1")
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    assert line.startswith("http://127.0.0.1:"), line
    yield Asked(process, folder, int(line.rstrip("/\n").rpartition(":")[2]))
    process.kill()
    process.wait()


def test_the_page_allows_its_own_script_and_nothing_else(served: Asked) -> None:
    status, body, headers = served.ask("/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert b"http" not in body.replace(b"http://www.w3.org/2000/svg", b"")
    assert served.ask("/", method="HEAD")[:2] == (200, b"")


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_the_names_of_this_machine_are_answered(served: Asked, name: str) -> None:
    assert served.ask("/", host=f"{name}:{served.port}")[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.x:{port}"]
)
def test_no_other_name_is_answered(served: Asked, host: str) -> None:
    assert served.ask("/", host=host.format(port=served.port))[0] == 403


def test_a_request_without_a_host_gets_nothing(served: Asked) -> None:
    assert served.ask("/", host="")[0] in {400, 403}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_only_reads(served: Asked, method: str) -> None:
    status, _, headers = served.ask("/api/state", method=method)
    assert (status, headers["allow"]) == (405, "GET, HEAD")


PARTS = st.sampled_from(
    ["studies", "1", "report", "trials", "index.html", "9" * 5_000, "-1", "1.0", "1e3", "x" * 300, "..", ".", "", "~"]
) | st.binary(max_size=12).map(quote_from_bytes)


@settings(deadline=None, max_examples=80)
@given(st.lists(PARTS, max_size=6))
@example(["studies", "9" * 5_000, "report", "index.html"])
@example(["studies", "9" * 5_000, "report", ""])
@example(["studies", "1", "report", "x" * 5_000])
@example(["studies", "1", "trials", "x" * 5_000])
@example(["studies", "1", "trials", "%00"])
@example(["studies", "1", "report", "%00"])
def test_any_path_has_an_answer_and_none_is_a_defect(served: Asked, parts: list[str]) -> None:
    assert served.ask("/" + "/".join(parts))[0] in {200, 307, 400, 403, 404, 405}


@pytest.mark.parametrize(
    "path",
    [
        "/studies/1/trials/../study.toml",
        "/studies/1/trials/%2e%2e/study.toml",
        "/studies/1/trials/..%2f..%2fsecret.txt",
        "/studies/1/trials/%2fetc%2fpasswd",
        "/studies/1/trials//etc/passwd",
        "/studies/1/trials/away/secret.txt",
        "/studies/1/trials/{trial}/attempts/1/raw/link.txt",
        "/studies/1/report/..",
        "/studies/1/report/%2e%2e%2fsecret.txt",
        "/studies/2/report/index.html",
        "/study.toml",
        "/../../etc/passwd",
    ],
)
def test_nothing_outside_its_folders_is_given_away(served: Asked, path: str) -> None:
    trial = next(row for row, trial in served.folder.planned() if trial.attempts())
    status, body, _ = served.ask(path.format(trial=trial.intent.id))
    assert status == 404
    assert b"secret" not in body
    assert b"root:" not in body


def test_raw_output_is_given_as_data(served: Asked) -> None:
    trial = next(row for row, trial in served.folder.planned() if trial.attempts())
    status, body, headers = served.ask(f"/studies/1/trials/{trial.intent.id}/attempts/1/raw/out.html")
    assert (status, body) == (200, b"<script>alert(1)</script>")
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_a_study_shows_its_trials_and_gets_a_report(served: Asked) -> None:
    for planned, trial in served.folder.planned():
        if not trial.attempts():
            rejected = planned.intent.configuration_name == "b" and planned.intent.replicate == 2
            write_trial(served.folder, planned.intent, "postgres used 1.3 CPUs" if rejected else 200.0)
    end = time.monotonic() + 300
    study = served.study()
    assert (study["ended_count"], study["trials"], study["words"]) == (4, 4, "3 done, 1 invalid")
    while not study["report"]["href"] and time.monotonic() < end:
        time.sleep(0.5)
        study = served.study()
    report = {"trials": 4, "newer": 0, "drawing": False, "held": False, "problem": ""}
    assert study["report"] == {"href": "/studies/1/report/", **report}
    (refused,) = study["refused"]
    assert refused["reasons"] == ["foreign-load: postgres used 1.3 CPUs"]
    assert study["cards"]
    assert b"<title>" in served.ask(f"/studies/1/report/{Page.MAIN}")[1]
    assert served.ask("/studies/1/report/")[2]["location"] == f"/studies/1/report/{Page.MAIN}"
    assert b"<title>" in served.ask(f"/studies/1/report/{Page.EVIDENCE}")[1]
    assert not served.folder.report_dir.exists(), "nothing is written into the study's folder"


def test_ctrl_c_ends_it_well(served: Asked) -> None:
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(timeout=20) == 0
    assert served.process.stdout is not None
    assert b"Traceback" not in served.process.stdout.read()


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    folder = made_results(tmp_path / "study", {"a": [1.0]})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = nephoscope("serve", folder.path, "--port", str(port))
    assert said.exit_code == 3
    assert f"error: cannot listen on 127.0.0.1:{port}: Address already in use" in said.stderr
    assert "--port 0 picks a free one" in said.stderr
