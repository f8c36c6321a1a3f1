"""`nephoscope compare` and `report --against` as a person and a CI run call them: exit codes, files, streams."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nephoscope.app.cli import main
from nephoscope.app.outcomes import Outcome, write
from nephoscope.model.words import SIMULATED
from tests.support.made_results import made_results

STEADY = [1000.0, 1001.0, 999.0, 1002.0, 998.0, 1000.5]


def slower(percent: float) -> list[float]:
    return [(1 - percent / 100) * value for value in STEADY]


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results")
    made_results(path / "main", {"pg": STEADY, "lost": STEADY})
    made_results(path / "slow", {"pg": slower(8), "lost": ["busy"] * 6})
    made_results(path / "same", {"pg": slower(0.1), "lost": STEADY})
    made_results(path / "empty", {"other": STEADY, "another": slower(1)}, extra="")
    return path


def suite_of(file: Path) -> ElementTree.Element:
    return ElementTree.parse(file).getroot()  # noqa: S314  # our own


def run(studies: Path, new: str, *options: str) -> int:
    return main(["compare", str(studies / "main"), str(studies / new), *options])


def test_a_change_that_is_surely_worse_fails_with_its_own_code(
    studies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(studies, "slow", "--fail-if", "worse", "--by", "3%") == 8
    said = capsys.readouterr()
    assert "error: certainly worse by at least 3 %: pg, fake: " in said.err
    assert "n OLD ┃ n NEW" in said.out
    assert "compared like for like: 1; left out: 1" in said.out
    assert "left out: lost (fake rate): the later study has no valid trial of it" in said.err


def test_less_than_the_margin_or_no_gate_is_no_failure(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(studies, "same", "--fail-if", "worse", "--fail-if", "undecided", "--by", "3") == 0
    assert "no headline metric is certainly worse by at least 3 %" in capsys.readouterr().out
    assert run(studies, "slow") == 0


def test_a_named_metric_is_compared_beside_the_headline_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, percent in (("old", 0), ("new", 9)):
        values = [
            {"read-multi.bandwidth": read, "copy-multi.bandwidth": copied}
            for read, copied in zip(STEADY, slower(percent), strict=True)
        ]
        made_results(tmp_path / name, {"here": values}, uses="memory")
    words = ["compare", str(tmp_path / "old"), str(tmp_path / "new"), "--fail-if", "worse"]
    assert main(words) == 0
    assert main([*words, "--metric", "copy-multi.bandwidth"]) == 8
    assert "here, memory: memory copy by a thread on each CPU" in capsys.readouterr().err
    assert main([*words, "--metric", "copy-multi.bandwith"]) == 2
    assert "did you mean copy-multi.bandwidth?" in capsys.readouterr().err


def test_what_is_undecided_is_said_and_fails_only_if_asked(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(studies, "slow", "--fail-if", "worse", "--by", "50%") == 0
    assert "not known whether worse by 50 %: lost, fake: rate: no counterpart" in capsys.readouterr().err
    assert run(studies, "slow", "--fail-if", "worse", "--fail-if", "undecided", "--by", "50%") == 8
    assert "measure more replicates" in capsys.readouterr().err


def test_without_a_margin_the_verdicts_of_the_table_decide(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tie is decided, though its interval does not exclude a change that is smaller than the study's margin."""
    assert run(studies, "same", "--fail-if", "worse", "--fail-if", "undecided") == 0
    said = capsys.readouterr().out
    assert "tie" in said
    assert "no headline metric is certainly worse\n" in said
    assert run(studies, "same", "--fail-if", "undecided", "--by", "0.001%") == 8
    assert re.search(r"not known whether worse by 0\.001 %: .*: tie \(", capsys.readouterr().err)


def test_the_terminal_has_the_words_of_the_report(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(studies, "same") == 0
    assert [line.split("│")[4].strip() for line in capsys.readouterr().out.splitlines() if "│ pg " in line] == ["tie"]


def test_ci_servers_and_monitoring_get_the_verdicts_that_the_command_acts_on(studies: Path, tmp_path: Path) -> None:
    files = ("--junit", str(tmp_path / "verdicts.xml"), "--prometheus", str(tmp_path / "verdicts.prom"))
    assert run(studies, "slow", "--fail-if", "worse", "--by", "3%", *files) == 8
    suite = suite_of(tmp_path / "verdicts.xml")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failing = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failing == ["pg, fake: fake operations per second"]
    text = (tmp_path / "verdicts.prom").read_text()
    labels = 'configuration="pg",benchmark="fake",metric="rate"'
    assert f'nephoscope_compare_fails{{{labels},verdict="worse"}} 1.0\n' in text
    ratio = re.search(rf"nephoscope_compare_ratio{{{labels}}} (\S+)\n", text)
    assert ratio is not None
    assert float(ratio[1]) == pytest.approx(0.92, abs=0.001)
    assert 'verdict="missing"} 0.0' in text
    assert run(studies, "slow", *files) == 0
    assert suite_of(tmp_path / "verdicts.xml").get("failures") == "0"


def test_text_of_others_stays_one_label(tmp_path: Path) -> None:
    odd = Outcome('a "b"\n\\', {"claim": 'x"}\n\\'}, "refuted", fails=True)
    write("claims", [odd], tmp_path / "a.xml", tmp_path / "a.prom")
    (case,) = suite_of(tmp_path / "a.xml")
    assert "\n" not in str(case.get("name"))
    samples = [text for text in (tmp_path / "a.prom").read_text().splitlines() if not text.startswith("#")]
    assert len(samples) == 1
    assert re.fullmatch(r'nephoscope_claims_fails{claim="(?:[^"\\]|\\.)*",verdict="refuted"} 1\.0', samples[0])


def test_a_claim_that_does_not_hold_is_named_with_its_ratio(
    studies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = made_results(tmp_path / "both", {"pg": STEADY, "old": slower(8)})
    claims = [
        f"[[claims]]\nid = '{left}'\ntext = 'it is fast enough'\nsource = 'us'\nkind = 'not-worse'\nbenchmark = '*'\n"
        f"left = {{ configuration = '{left}' }}\nright = {{ configuration = '{right}' }}\n"
        for left, right in (("pg", "old"), ("old", "pg"))
    ]
    (tmp_path / "claims.toml").write_text("".join(claims))
    assert main(["claims", str(both.path), "--file", str(tmp_path / "claims.toml")]) == 7
    assert "error: 1 of 2 claims does not hold: old (fake rate 0.920×)" in capsys.readouterr().err


def test_a_gate_that_can_check_nothing_is_an_error(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(studies, "empty", "--fail-if", "worse") == 2
    assert "nothing in the two studies can be compared" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "3%"), "--by needs --fail-if"),
        (("--fail-if", "worse", "--by", "much"), "'much' is not a percentage"),
        (("--fail-if", "better"), "'better' is not one of 'worse', 'undecided'"),
    ],
)
def test_mistakes_are_told(
    studies: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    assert run(studies, "same", *options) == 2
    assert message in capsys.readouterr().err


def test_a_summary_goes_to_a_file_or_alone_to_standard_output(
    studies: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, file = tmp_path / "changes.html", tmp_path / "summary.md"
    assert run(studies, "slow", "--fail-if", "worse", "--html", str(page), "--markdown", str(file)) == 8
    assert file.read_text().startswith("## slow against main\n\n**Certainly worse: pg, fake: ")
    assert "What changed from main to slow" in page.read_text()
    capsys.readouterr()
    assert run(studies, "same", "--markdown", "-") == 0
    assert capsys.readouterr().out.startswith("## same against main\n\n| configuration |")
    assert run(studies, "same", "--json") == 0
    assert {card["verdict"] for card in json.loads(capsys.readouterr().out)["cards"]} == {"tie"}


def test_a_report_against_an_earlier_study_has_a_page_beside_it(
    studies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = studies / "same" / "report" / "changes.html"
    assert main(["report", str(studies / "same"), "--against", str(studies / "main")]) == 0
    assert capsys.readouterr().out.splitlines() == [str(changes.with_name("index.html")), str(changes)]
    assert '<a href="index.html">the report of same</a>' in changes.read_text()
    assert '<a href="changes.html">What changed since main</a>' in changes.with_name("index.html").read_text()
    assert main(["report", str(studies / "same")]) == 0
    assert "changes.html" not in changes.with_name("index.html").read_text()
    assert not changes.exists(), "an earlier comparison is not left beside a newer report"


def test_rehearsals_are_compared_among_themselves_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("real", "old", "new"):
        folder = made_results(tmp_path / name, {"pg": STEADY})
        folder.write_plan(folder.study_text(), folder.plan().model_copy(update={"simulated": name != "real"}))
    real, old, new = (str(tmp_path / name) for name in ("real", "old", "new"))
    for argv in (["compare", real, new], ["compare", new, real], ["report", new, "--against", real]):
        assert main(argv) == 2
        assert "new holds a rehearsal" in capsys.readouterr().err
    page, summary = tmp_path / "page.html", tmp_path / "summary.md"
    assert main(["compare", old, new, "--html", str(page), "--markdown", str(summary)]) == 0
    for text in (page.read_text(), summary.read_text(), capsys.readouterr().out):
        assert SIMULATED in text
    assert main(["compare", real, real, "--markdown", "-"]) == 0
    assert SIMULATED not in capsys.readouterr().out
