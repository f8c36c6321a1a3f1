"""Tools that were built elsewhere: their files, and what they print. The outputs are described in tests/data/peers."""

import re
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bench.harness import peers
from bench.harness.contenders import Done, Setting
from bench.harness.measure import Ran
from bench.load_generator import arguments

DATA = Path("tests/data/peers")
FILES = sorted(peers.FOLDER.glob("*.toml"))
NAMES = ("path", "folder", "host", "port", "user", "database", "warehouses", "connections", "rows", "seconds",
         "minutes", "script")  # fmt: skip


def commands(name: str) -> dict[str, Any]:
    """A peer's file."""
    return tomllib.loads((peers.FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def read(name: str, text: str) -> Done:
    """What a peer's output comes to."""
    return peers.read(Ran(text, "", 0, 8.0, cpu_s=2.0, peak_bytes=1, lost=0.25), 3.0, commands(name), 8.0)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_command_lines_and_scripts_know_their_placeholders(file: Path) -> None:
    known = tomllib.loads(file.read_text(encoding="utf-8"))
    words = [word for key in ("prepare", "run") for argv in known[key] for word in argv]
    words += [known[key] for key in ("prepare_script", "run_script") if key in known]
    assert all("{" not in word.format(**dict.fromkeys(NAMES, "x")) for word in words)
    assert known["beside"].startswith("nephoscope-load ")


def test_a_program_is_known_by_its_name() -> None:
    (peer,) = arguments(["--peer", "/opt/go/bin/go-tpc"]).peer
    assert (peer.name, peer.path, peer.template) == ("go-tpc", Path("/opt/go/bin/go-tpc"), "peer_go_tpc")
    (peer,) = arguments(["--peer", f"{peers.FOLDER}/go-ycsb.toml=/opt/mine"]).peer
    assert (peer.name, peer.path) == ("go-ycsb", Path("/opt/mine"))


def test_a_script_is_written_for_tools_that_read_one(tmp_path: Path) -> None:
    server, setting = Mock(folder=tmp_path, port=5432), Setting(7, 1, 3, 90.0, Path(), Path())
    peer = peers.found("/opt/hammerdb/hammerdbcli")
    ((_, _, command),) = peer.run_words("run", server, setting, "trial")
    (script,) = tmp_path.iterdir()
    assert command.startswith("cd /opt/hammerdb && ")
    assert command.endswith(str(script))
    said = script.read_text(encoding="utf-8").splitlines()
    assert {"diset tpcc pg_duration 2", "diset tpcc pg_dbase trial", "vuset vu 3"} <= set(said)


def test_an_unknown_program_is_told_which_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["--peer", "/opt/tpccbench"])
    said = capsys.readouterr().err
    assert "tpccbench is none of" in said
    assert "hammerdbcli" in said


def test_go_tpc_counts_what_did_not_fail() -> None:
    done = read("go-tpc", (DATA / "go-tpc.txt").read_text(encoding="utf-8"))
    assert (done.transactions, done.elapsed_s, done.server_cpu_s, done.lost) == (
        12 + 163 + 12 + 152 + 18,
        8.0,
        3.0,
        0.25,
    )


def test_hammerdb_tells_transactions_a_minute() -> None:
    text = (DATA / "hammerdb.txt").read_text(encoding="utf-8")
    done = read("hammerdb", text)
    assert (done.transactions, done.elapsed_s) == (141, 60.0)
    assert read("hammerdb", text.replace(" 141 PostgreSQL", " 28532 PostgreSQL")).transactions == 28_532


def test_go_ycsb_prints_totals_more_than_once() -> None:
    """The form is that of the sources; no output was recorded."""
    line = "READ   - Takes(s): 5.0, Count: {}, OPS: 10.0, Avg(us): 5, Min(us): 1\n"
    text = line.format(50) + "Run finished, takes 8s\n" + line.format(80) + line.format(80).replace("READ  ", "TOTAL ")
    assert read("go-ycsb", text).transactions == 80
    with pytest.raises(ValueError, match="no transactions"):
        read("go-ycsb", line.format(50))


@pytest.mark.parametrize("name", ["go-tpc", "hammerdb"])
def test_an_output_without_its_result_is_rejected(name: str) -> None:
    text = (DATA / f"{name}.txt").read_text(encoding="utf-8")
    first = re.search(commands(name)["transactions"], text, re.MULTILINE)
    assert first is not None
    for damaged in ("", text[: first.start()], text.replace("Count: ", "Count: x").replace("NOPM", "")):
        with pytest.raises(ValueError, match="no transactions in the output"):
            read(name, damaged)
