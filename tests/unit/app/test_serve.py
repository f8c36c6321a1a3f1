"""`nephoscope serve` as a process: what it answers, to whom, what it never gives away, and how it ends."""

import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nephoscope.app import redraw, server
from nephoscope.machines.loopback import listening, loopback, user_of
from nephoscope.report.parts import Page
from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import nephoscope, start_nephoscope
from tests.support.made_results import made_results, write_trial

pytestmark = pytest.mark.whole

REPORT = f"/studies/1/report/{Page.MAIN}"


class Served:
    """A server, its study, and what it answers."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: ResultsFolder, port: int) -> None:
        self.process, self.folder, self.port = process, folder, port

    def ask(self, path: str, method: str = "GET", *hosts: str) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        for host in hosts or [f"127.0.0.1:{self.port}"]:
            if host:
                connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body, {name.lower(): value for name, value in answer.getheaders()}

    def ask_until(self, is_enough: Callable[[int, bytes], bool]) -> bytes:
        """The list of studies, once it is as it should be."""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            status, body, _ = self.ask("/")
            if is_enough(status, body):
                return body
            time.sleep(0.2)
        raise AssertionError(body)


def start(*folders: ResultsFolder) -> Served:
    process = start_nephoscope("serve", *(folder.path for folder in folders), "--port", "0")
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    assert line.startswith("http://127.0.0.1:"), line
    return Served(process, folders[0], int(line.rstrip("/\n").rpartition(":")[2]))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("serve")
    folder = made_results(path / "study", {"a": [100.0, None], "b": [None, None]})
    (path / "secret.txt").write_text("secret")
    attempt = next((path / "study" / "trials").glob("*/attempts/1"))
    (attempt / "raw" / "out.html").write_text("<script>alert(1)</script>")
    (attempt / "raw" / "link.txt").symlink_to(path / "secret.txt")
    os.mkfifo(attempt / "raw" / "pipe")
    (path / "study" / "trials" / "away").symlink_to(path)
    folder.report_dir.mkdir()
    (folder.report_dir / "link.html").symlink_to(path / "secret.txt")
    one = start(folder)
    yield one
    one.process.kill()
    one.process.wait()


def test_the_list_allows_its_own_style_and_nothing_else(served: Served) -> None:
    with served.folder.lock():
        status, body, headers = served.ask("/")
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["refresh"] == "3"
        assert b"http" not in body
        assert b"running; 1 of 4 trials ended: 3 planned, 1 done" in body
        assert b"There is no report yet; the run writes it when a block has ended." in body
        assert served.ask("/", method="HEAD")[:2] == (200, b"")


ASK = """
exec 3<>"/dev/tcp/127.0.0.1/$0" && printf 'GET %s HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\n\\r\\n' "$1" "$0" >&3 && cat <&3
"""


@pytest.mark.root
@pytest.mark.parametrize(("user", "status"), [(0, 200), (65534, 403)])
def test_another_user_of_this_machine_reads_nothing(served: Served, user: int, status: int) -> None:
    trial = next((served.folder.path / "trials").glob("*/trial.json")).parent.name
    argv = ["bash", "-c", ASK, str(served.port), f"/studies/1/trials/{trial}/trial.json"]
    said = subprocess.run(argv, user=user, capture_output=True, check=True, cwd="/", timeout=60).stdout
    assert said.startswith(b"HTTP/1.0 %d " % status), said
    assert (b'"benchmark"' in said) is (status == 200)


def test_the_other_end_of_a_connection_is_known() -> None:
    with (
        listening(loopback()) as listener,
        socket.create_connection(listener.getsockname()[:2]) as one,
        listener.accept()[0] as other,
    ):
        assert (user_of(other), user_of(one)) == (os.getuid(), os.getuid())


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_the_names_of_this_machine_are_answered(served: Served, name: str) -> None:
    assert served.ask("/studies/1/report/", "GET", f"{name}:{served.port}")[0] == 307


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.x:{port}"]
)
def test_no_other_name_is_answered(served: Served, host: str) -> None:
    status, body, headers = served.ask("/", "GET", host.format(port=served.port))
    assert (status, headers["x-frame-options"]) == (403, "DENY")
    assert body == b"this server answers only to the names of this machine\n"


def test_a_request_without_a_host_or_with_two_gets_nothing(served: Served) -> None:
    assert served.ask("/", "GET", "")[0] == 403
    own = f"127.0.0.1:{served.port}"
    assert served.ask("/", "GET", own, own)[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "<script>"])
def test_it_only_reads(served: Served, method: str) -> None:
    status, body, headers = served.ask("/", method=method)
    assert (status, headers["allow"], body) == (405, "GET, HEAD", b"this server only reads\n")


PARTS = st.sampled_from(
    ["studies", "1", "report", "trials", "index.html", "9" * 5_000, "-1", "1.0", "1e3", "x" * 300, "..", ".", "", "~"]
) | st.binary(max_size=12).map(quote_from_bytes)


@given(st.lists(PARTS, max_size=6))
@example(["studies", "9" * 5_000, "report", "index.html"])
@example(["studies", "9" * 5_000, "report", ""])
@example(["studies", "1", "report", "x" * 5_000])
@example(["studies", "1", "trials", "x" * 5_000])
@example(["studies", "1", "trials", "%00"])
@example(["studies", "1", "report", "%00"])
def test_any_path_has_an_answer_and_none_is_a_defect(served: Served, parts: list[str]) -> None:
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
        "/studies/1/trials/{trial}/attempts/1/raw/pipe",
        "/studies/1/trials/{trial}/attempts/1/raw",
        "/studies/1/trials/{trial}/attempts/1/raw/",
        "/studies/1/trials/%00",
        "/studies/1/trials/",
        "/studies/1/report/..",
        "/studies/1/report/%2e%2e%2fsecret.txt",
        "/studies/1/report/link.html",
        "/studies/1/report/%ff",
        "/studies/1/report/" + 300 * "x",
        "/studies/2/report/index.html",
        "/studies/0/report/index.html",
        "/study.toml",
        "/../../etc/passwd",
        "http://[/",
    ],
)
def test_nothing_outside_its_folders_is_given_away(served: Served, path: str) -> None:
    trial = next(row for row, trial in served.folder.planned() if trial.attempts())
    status, body, _ = served.ask(path.format(trial=trial.intent.id))
    assert status == 404
    assert b"secret" not in body
    assert b"root:" not in body


def test_raw_output_is_given_as_data(served: Served) -> None:
    trial = next(row for row, trial in served.folder.planned() if trial.attempts())
    status, body, headers = served.ask(f"/studies/1/trials/{trial.intent.id}/attempts/1/raw/out.html")
    assert (status, body) == (200, b"<script>alert(1)</script>")
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_scripts_of_a_foreign_report_cannot_read_other_studies(served: Served) -> None:
    (served.folder.report_dir / "theirs.html").write_text("<script>fetch('/studies/2/report/')</script>")
    policy = served.ask("/studies/1/report/theirs.html")[2]["content-security-policy"]
    assert "sandbox" in policy.split()
    assert "allow-same-origin" not in policy
    assert "connect-src 'none'" in policy


@pytest.mark.parametrize("request_text", [b"GET / HTTP/1.0\r\n" + 6000 * b"Name: value\r\n", 70_000 * b"x"])
def test_a_request_that_is_too_long_is_not_read_to_its_end(served: Served, request_text: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(request_text)
        status = b""
        with suppress(ConnectionResetError):  # the rest of it was never read
            status = connection.recv(12)
    assert status in {b"HTTP/1.0 431", b""}


def test_a_request_that_never_comes_ends_and_others_are_answered(served: Served) -> None:
    waiting = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(server.MAX_CONNECTIONS - 1)]
    waiting[0].sendall(b"GET / HTTP/1.0\r\n")
    assert served.ask("/studies/1/report/")[0] == 307
    for connection in waiting:
        connection.settimeout(3 * server.REQUEST_S)
        with connection, suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_a_study_gets_a_report_when_its_trials_have_changed(served: Served) -> None:
    for planned, trial in served.folder.planned():
        if not trial.attempts():
            rejected = planned.intent.configuration_name == "b" and planned.intent.replicate == 2
            write_trial(served.folder, planned.intent, "postgres used 1.3 CPUs" if rejected else 200.0)
    served.ask_until(lambda status, _: status == 307)
    assert redraw.written_ns(served.folder) > redraw.changed_ns(served.folder)
    assert served.ask("/")[2]["location"] == REPORT
    assert served.ask("/studies/1/report/")[2]["location"] == REPORT
    assert b"<title>" in served.ask(REPORT)[1]
    assert b"<title>" in served.ask(f"/studies/1/report/{Page.EVIDENCE}")[1]
    _, changed = next(served.folder.planned())
    os.utime(changed.folder)
    assert b"The report is being written." in served.ask_until(lambda status, _: status == 200)
    served.ask_until(lambda status, _: status == 307)


def test_ctrl_c_ends_it_well(served: Served) -> None:
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(timeout=20) == 0
    assert served.process.stdout is not None
    assert b"Traceback" not in served.process.stdout.read()


def test_a_study_that_cannot_be_read_is_told_beside_the_others(tmp_path: Path) -> None:
    damaged, other = (made_results(tmp_path / name, {"c": [1.0]}) for name in ("damaged", "other"))
    one = start(damaged, other)
    try:
        damaged.plan_path.write_text("{")
        body = one.ask_until(lambda _, body: b'<a href="/studies/2/report/">' in body and b"written" not in body)
        assert b"plan.json is not JSON" in body
        assert b"complete; 1 of 1 trial ended: 1 done" in body
    finally:
        one.process.terminate()
        assert one.process.wait(timeout=60) == 143


def test_the_first_page_is_the_one_of_the_report() -> None:
    assert redraw.FIRST_PAGE == Page.MAIN


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    folder = made_results(tmp_path / "study", {"a": [1.0]})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = nephoscope("serve", folder.path, "--port", str(port))
    assert said.exit_code == 3
    assert f"error: cannot listen on 127.0.0.1:{port}: Address already in use" in said.stderr
    assert "--port 0 picks a free one" in said.stderr
