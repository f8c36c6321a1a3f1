"""A document is one document: two joined, a doubled key, text around it and odd encodings, for every tool."""

import json
import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.errors import OutputUnreadable
from nephoscope.parsers.cpuinfo import parse_cpu_lines
from nephoscope.parsers.documents import json_documents, json_in
from nephoscope.parsers.fio import parse_fio, parse_fio_log
from nephoscope.parsers.identify import PARSERS, identify
from nephoscope.parsers.iperf2 import parse_iperf_client
from nephoscope.parsers.iperf3 import parse_iperf3
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.remarks import remarks_on
from nephoscope.parsers.stress_ng import parse_stress_ng_yaml
from nephoscope.parsers.text import decoded
from tests.support.parser_samples import IDENTIFIED, SAMPLES, parse_any

JSON_SAMPLES = [(parse, name, text) for parse, name, text in SAMPLES if re.search(r"^\{", text, re.MULTILINE)]
NUMBER = re.compile(r'"(?P<key>[^"]+)"\s*:\s*"?[0-9.]+"?(?=\s*[,}\n])')
MANY = {parse_cpu_lines, parse_fio_log}
"""What is joined here is a longer file of the same kind."""


def test_two_documents_are_refused_with_their_number(subtests: pytest.Subtests) -> None:
    for parse, name, text in JSON_SAMPLES:
        with subtests.test(name=name):
            for between in ("", "\n", "\nnothing known\n", ","):
                with pytest.raises(OutputUnreadable, match=r"2 (documents|tests)"):
                    parse(text.strip() + between + text)
            if not text.startswith("fio"):
                with pytest.raises(OutputUnreadable, match=r"2 (documents|tests)"):
                    parse(f"[\n{text},\n{text}]\n")


def test_two_outputs_are_refused_or_both_read(subtests: pytest.Subtests) -> None:
    for parse, name, text in SAMPLES:
        with subtests.test(name=name):
            if parse in MANY:
                continue
            try:
                both, alone = parse(text + text), parse(text)
            except OutputUnreadable:
                continue
            assert isinstance(both, tuple)
            assert isinstance(alone, tuple)
            assert len(both) == 2 * len(alone), name


def test_a_key_with_two_values_is_refused_wherever_it_is(subtests: pytest.Subtests) -> None:
    for parse, name, text in JSON_SAMPLES:
        with subtests.test(name=name):
            places = list(NUMBER.finditer(text))
            for place in islice(places, 0, None, 1 + len(places) // 40):
                doubled = f'{text[: place.start()]}"{place["key"]}": 8128, {text[place.start() :]}'
                with pytest.raises(OutputUnreadable, match=r"stands twice|2 documents"):
                    parse(doubled)


def test_an_encoding_of_windows_changes_nothing(subtests: pytest.Subtests) -> None:
    for parse, name, text in SAMPLES:
        with subtests.test(name=name):
            lines, parsed = text.replace("\n", "\r\n"), parse(text)
            for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"):
                assert parse(decoded(lines.encode(encoding))) == parsed, (name, encoding)


@given(st.binary())
def test_any_bytes_are_text(content: bytes) -> None:
    for mark in (b"", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\xef\xbb\xbf"):
        try:
            parse_any(decoded(mark + content))
        except OutputUnreadable:
            continue


FAILURES = [
    "fio: terminating on signal 2",
    "fio: pid=5509, err=5/file:io_u.c:1896, func=io_u error, error=Input/output error",
    "fio: io_u error on file /dev/sdb: No space left on device: write offset=0, buflen=4096",
    "iperf3: error - control socket has closed unexpectedly",
    "iperf3: interrupt - the client has terminated",
    "[  4] WARNING: did not receive ack of last datagram after 10 tries.",
    "write failed: Broken pipe",
    "sockperf: ERROR: Test ended with error",
    "stress-ng: fail:  [123] cpu: verification failed",
    "FATAL: mysql_stmt_execute() returned error 2013 (Lost connection)",
    "netperf: send_tcp_rr: data send error: errno 104",
    "Killed",
    "run.sh: line 3: 4711 Segmentation fault      (core dumped) fio job.fio",
    "Command exited with non-zero status 1",
    "timeout: sending signal TERM to command 'fio'",
    "client_loop: send disconnect: Broken pipe",
]


def test_a_line_that_says_that_the_run_failed_refuses_it(subtests: pytest.Subtests) -> None:
    for name in sorted({name for _, name, _ in SAMPLES if "server" not in name}):
        with subtests.test(name=name):
            parse, text = next((parse, text) for parse, of, text in SAMPLES if of == name)
            for failure in FAILURES:
                for whole in (f"{failure}\n{text}", f"{text}{failure}\n"):
                    with pytest.raises(OutputUnreadable, match=re.escape(repr(failure)[1:40])):
                        parse(whole)


def test_text_around_a_document_that_is_not_known_is_shown(subtests: pytest.Subtests) -> None:
    for parse, name, text in JSON_SAMPLES:
        with subtests.test(name=name):
            note = "note: both iodepth >= 1 and synchronous I/O engine are selected"
            around = f"{note}\n{text}\n[0] 0 errors\n"
            assert parse(around) == parse(text)
            shown = set(remarks_on(identify(text).tool, around)) - set(remarks_on(identify(text).tool, text))
            assert shown == {f"around the document: {note}", "around the document: [0] 0 errors"}
            with pytest.raises(OutputUnreadable, match="the text around it says 'mount: error 5"):
                parse(f"mount: error 5\n{text}")


TEXTS = [(tool, name, text) for tool, name, text in IDENTIFIED if (PARSERS[tool], name, text) not in JSON_SAMPLES]


def test_text_around_an_output_that_is_not_known_is_shown(subtests: pytest.Subtests) -> None:
    for tool, name, text in TEXTS:
        with subtests.test(name=name):
            if tool == "stress-ng-yaml":
                continue
            assert remarks_on(tool, text) == (), name
            for before, behind in (("job 7 on node_a begins", "real 0m10.2s"), ("+ run the test", "done; 3 left")):
                around = f"{before}\n{text.rstrip()}\n{behind}\n"
                assert remarks_on(tool, around) == (f"around the document: {before}", f"around the document: {behind}")
            with pytest.raises(OutputUnreadable, match="the text around it says 'mount: error 5"):
                remarks_on(tool, f"mount: error 5\n{text}")


def test_a_value_that_is_no_number_is_left_out_by_name() -> None:
    text = '{"mean": -nan, "max": 3, "of": {"least": inf}}'
    found = json_documents(text, "it")
    assert found.values == ({"mean": None, "max": 3, "of": {"least": None}},)
    assert found.left_out == ("mean: -nan", "least: inf")
    assert remarks_on("fio", text) == ("left out, no number: mean: -nan", "left out, no number: least: inf")


def test_equal_keys_with_equal_values_are_one() -> None:
    assert json_in('{"0.00": 0, "0.00": 0}', "it") == {"0.00": 0}


def side(runtime_ms: int) -> dict[str, object]:
    done = {"io_bytes": 4096_000 * runtime_ms // 1000, "bw": 4000, "bw_bytes": 4096_000, "iops": 1000.0}
    return {**done, "runtime": runtime_ms, "total_ios": runtime_ms, "clat_ns": {"min": 1, "max": 9, "mean": 5}}


def fio(runtime_ms: int, **changes: object) -> str:
    job = {"jobname": "rr", "job_start": 1_700_000_000_000, "error": 0, "read": side(runtime_ms), **changes}
    document = {"fio version": "fio-3.36", "timestamp": 1_700_000_000 + runtime_ms // 1000, "jobs": [job]}
    return json.dumps(document, indent=1) + "\n"


@pytest.mark.parametrize("start", [1_700_000_000_000, None])
def test_of_the_reports_of_one_fio_run_the_last_one_counts(start: int | None) -> None:
    reports = [fio(length, job_start=start) for length in (10_000, 20_000, 30_000)]
    (job,) = parse_fio("".join(reports)).jobs
    assert job.read
    assert (job.read.ios, job.read.duration_s) == (30_000, 30.0)
    with pytest.raises(OutputUnreadable, match="3 documents of different runs"):
        parse_fio("".join(reversed(reports)))
    with pytest.raises(OutputUnreadable, match="2 documents of different runs"):
        parse_fio(reports[0] + reports[2].replace("1700000000000", "1700000060000").replace("1700000030", "1700000090"))


def test_a_fio_job_that_failed_has_no_numbers() -> None:
    with pytest.raises(OutputUnreadable, match="it failed with error 5"):
        parse_fio(fio(9_000, error=5))


def test_of_several_clients_of_fio_the_sum_counts() -> None:
    document = json.loads(fio(30_000))
    (job,) = document.pop("jobs")
    both = {**job["read"], "iops": 2000.0, "total_ios": 60_000, "io_bytes": 245_760_000, "bw_bytes": 8_192_000}
    document["client_stats"] = [job, job, {**job, "jobname": "All clients", "read": both}]
    (found,) = parse_fio(json.dumps(document)).jobs
    assert found.read
    assert (found.name, found.read.ios_per_s) == ("rr", 2000.0)


def test_a_latency_of_fio_without_a_number_is_left_out() -> None:
    text = fio(30_000).replace('"mean": 5', '"mean": nan')
    (job,) = parse_fio(text).jobs
    assert job.read
    assert (job.read.ios, job.read.completion) == (30_000, None)
    assert remarks_on("fio", text) == ("left out, no number: mean: nan",)


YAML = """---
metrics:
    - stressor: cpu
      bogo-ops: 1000
      bogo-ops-per-second-usr-sys-time: 100.0
      bogo-ops-per-second-real-time: 100.0
      wall-clock-time: 10.0
      user-time: 10.0
      system-time: 0.0
...
"""


def test_of_yaml_the_same_holds() -> None:
    whole = parse_stress_ng_yaml(YAML)
    assert parse_stress_ng_yaml(f"stress-ng: info:  [1] setting to a 10 second run\n{YAML}") == whole
    assert remarks_on("stress-ng-yaml", f"nothing known\n{YAML}") == ("around the document: nothing known",)
    for damaged, why in (
        (YAML + YAML, "2 documents"),
        (YAML.replace("      bogo-ops: 1000\n", "      bogo-ops: 1000\n      bogo-ops: 8\n"), "stands twice"),
        (YAML.replace("time: 10.0", "time: 10,0"), "LC_ALL=C"),
        (f"ssh: connection closed\n{YAML}", "the text around it says"),
        (YAML + "stress-ng: error: [1] aborted early\n", "aborted early"),
    ):
        with pytest.raises(OutputUnreadable, match=why):
            parse_stress_ng_yaml(damaged)


@pytest.mark.parametrize(
    "text",
    [
        "架构:  x86_64\nCPU: 4\n",
        "Architektur:              aarch64\nCPU(s):   4\n",
        "PING h (10.0.0.9) 56(84) Bytes an Daten.\n64 Bytes von 10.0.0.9: icmp_seq=1 ttl=64 Zeit=0.059 ms\n",
        "PING h (10.0.0.9) 56(84) octets de données.\n64 octets de 10.0.0.9 : icmp_seq=1 ttl=64 temps=0.059 ms\n",
        "stress-ng: metrc: [1] dentry  460800  101,93  1,83  19870,79  4520,60  23,19\n",
    ],
)
def test_another_language_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(OutputUnreadable, match="LC_ALL=C"):
        parse_any(text)


@pytest.mark.parametrize("name", ["CPU(s)", "On-line CPU(s) list", "Architecture"])
def test_a_field_of_lscpu_with_two_values_is_refused(name: str) -> None:
    rows = {"Architecture": "x86_64", "CPU(s)": "2", "On-line CPU(s) list": "0,1"}
    doubled = [{"field": f"{field}:", "data": data} for field, data in (*rows.items(), (name, "1"))]
    with pytest.raises(OutputUnreadable, match="stands twice"):
        parse_lscpu(json.dumps({"lscpu": doubled}))


def test_two_streams_of_iperf3_are_two_tests() -> None:
    start = '{"event": "start", "data": {"version": "iperf 3.17"}}\n'
    with pytest.raises(OutputUnreadable, match="2 tests"):
        parse_iperf3(start * 2)


def test_what_nobody_received_has_no_rate() -> None:
    text = "Client connecting to h, UDP port 5002\n[  4]  0.0-20.0 sec  1.61 GBytes   693 Mbits/sec\n"
    assert identify(text).tool == "iperf2"
    with pytest.raises(OutputUnreadable, match="did not receive ack"):
        parse_iperf_client(f"{text}[  4] WARNING: did not receive ack of last datagram after 10 tries.\n")
