"""`openssl speed`: a recorded output, everything that is not it, and the program itself.

`tests/data/openssl-speed/aes-256-gcm-multi-2.txt` is the stdout of
`openssl speed -elapsed -mr -seconds 1 -multi 2 -evp aes-256-gcm` by OpenSSL 3.0.19 of Debian 12 on two CPUs of an AMD
EPYC virtual machine, which was busy with other things, on 2026-11-23.
"""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.benchmarks.cpu.openssl_speed import OpensslSpeed, OpensslSpeedParameters
from nephoscope.model.errors import OutputUnreadable
from tests.support.site import raw_of, site_here

RECORDED = (Path(__file__).resolve().parents[3] / "data/openssl-speed/aes-256-gcm-multi-2.txt").read_bytes()
MULTI = "openssl-speed-aes-256-gcm-multi.stdout"
OPENSSL = OpensslSpeed()
ONE_RUN = {"algorithms": ("aes-256-gcm",), "kinds": ("multi",)}
FIRST_CHILD = b"Got: +H:16:64:256:1024:8192:16384 from 0\n"


def values(output: bytes, name: str = MULTI, **given_parameters: Any) -> dict[str, float]:
    parameters = OpensslSpeedParameters(**(ONE_RUN | given_parameters))
    return {one.metric: one.value for one in OPENSSL.parse({name: output}, parameters)}


def test_recorded_output() -> None:
    assert values(RECORDED) == {
        "aes-256-gcm-multi.bytes_per_s_at_16_bytes": 13032255.80,
        "aes-256-gcm-multi.bytes_per_s_at_64_bytes": 45452260.75,
        "aes-256-gcm-multi.bytes_per_s_at_256_bytes": 200369172.28,
        "aes-256-gcm-multi.bytes_per_s_at_1024_bytes": 348068793.03,
        "aes-256-gcm-multi.bytes_per_s_at_8192_bytes": 1033822208.00,
        "aes-256-gcm-multi.bytes_per_s_at_16384_bytes": 915877486.43,
    }


def test_the_headlines_are_the_rates_of_16_kib_and_those_of_all_cpus_are_per_cpu() -> None:
    metrics = OPENSSL.metrics(OpensslSpeedParameters())
    headlines = {metric.name for metric in metrics if metric.headline}
    kinds = ("aes-256-gcm-single", "aes-256-gcm-multi", "sha256-single", "sha256-multi")
    assert headlines == {f"{kind}.bytes_per_s_at_16384_bytes" for kind in kinds}
    assert {metric.name for metric in metrics if metric.headline and metric.per_cpu} == {
        "aes-256-gcm-multi.bytes_per_s_at_16384_bytes",
        "sha256-multi.bytes_per_s_at_16384_bytes",
    }


def test_an_output_that_was_cut_at_any_byte_gives_no_number() -> None:
    for length in range(len(RECORDED)):
        with pytest.raises(OutputUnreadable):
            values(RECORDED[:length])


@given(at=st.integers(0, len(RECORDED) - 1), byte=st.integers(0, 255))
def test_a_damaged_byte_gives_no_wrong_number(at: int, byte: int) -> None:
    damaged = RECORDED[:at] + bytes([byte]) + RECORDED[at + 1 :]
    try:
        found = values(damaged)
    except OutputUnreadable:
        return
    assert found == pytest.approx(values(RECORDED), abs=0.1)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (b"", "is empty"),
        (b"speed: Unknown algorithm aes-256-gcm\n", "a line is not output of"),
        (RECORDED.replace(FIRST_CHILD, b""), "the output of a process is missing"),
        (RECORDED.replace(b"Forked child 1\n", b""), "the output of a process is missing"),
        (RECORDED.replace(b":16384 from", b":32768 from"), "block sizes other than"),
        (RECORDED.replace(b"AES-256-GCM", b"AES-128-GCM"), "algorithms other than aes-256-gcm"),
        (RECORDED.replace(b"+F:25:AES-256-GCM:13032255.80", b"+F:25:AES-256-GCM:13132255.80"), "not the sum"),
        (RECORDED.replace(b"13032255.80:", b""), "expected one rate above 0"),
        (RECORDED.replace(b"6387691.09", b"0.00"), "expected one rate above 0"),
        (RECORDED + RECORDED.splitlines(keepends=True)[-1], "exactly one sum"),
        (b"".join(RECORDED.splitlines(keepends=True)[:-1]), "exactly one sum"),
    ],
)
def test_other_output_is_refused(output: bytes, words: str) -> None:
    with pytest.raises(OutputUnreadable, match=words):
        values(output)


def test_a_single_process_is_one_and_an_output_of_another_run_is_refused() -> None:
    with pytest.raises(OutputUnreadable, match="2 processes instead of one"):
        values(RECORDED, "openssl-speed-aes-256-gcm-single.stdout", kinds=("single",))
    with pytest.raises(OutputUnreadable, match="contains algorithms other than sha256"):
        values(RECORDED, "openssl-speed-sha256-multi.stdout", algorithms=("sha256",))
    with pytest.raises(OutputUnreadable, match="openssl-speed-aes-256-gcm-single is empty"):
        values(RECORDED, kinds=("single", "multi"))


def test_the_scale_shortens_every_run() -> None:
    whole, scaled = OpensslSpeedParameters(duration_s=100), OpensslSpeedParameters(duration_s=100, scale=0.05)
    assert (whole.run_s, scaled.run_s) == (100, 5)
    assert OPENSSL.expected_duration_s(whole) == 4 * (6 * 100 + 0.5)
    assert any("Scaled to 5" in note for note in OPENSSL.notes(scaled))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_the_program_itself(tmp_path: Path) -> None:
    site, recorder = site_here(tmp_path, cpus=(0,))
    parameters = OpensslSpeedParameters(duration_s=1, algorithms=("sha256",), kinds=("multi",))
    asyncio.run(OPENSSL.run(site, parameters))
    assert [argv[-4:] for _, argv in recorder.ran] == [["-multi", "1", "-evp", "sha256"]]
    found = {one.metric: one.value for one in OPENSSL.parse(raw_of(site), parameters) if one.at_s is None}
    assert found.keys() >= {metric.name for metric in OPENSSL.metrics(parameters) if metric.unit == "B/s"}
    assert all(value > 0 for value in found.values())
