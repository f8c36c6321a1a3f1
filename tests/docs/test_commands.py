"""What pages show, works: studies plan, commands run, specs and output lines fit their contract, claims have tests."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from nephoscope.app.stages import planning
from nephoscope.benchmarks.load.contract import OUTPUT_LINE
from nephoscope.benchmarks.load.spec import LoadSpec
from nephoscope.model.publication import references
from nephoscope.study.model import Report
from tests.docs import pages
from tests.support.generated import STALE

pytestmark = pytest.mark.whole

TEXTS = {page: page.read_text(encoding="utf-8") for page in pages.PAGES}
RUNNING = [page for page in pages.PAGES if pages.sessions(TEXTS[page])]
STUDIES = [(page, study) for page in pages.PAGES for _, study in pages.studies(TEXTS[page])]
MAKEFILE = (pages.ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", RUNNING, ids=pages.name_of)
def test_commands_run_and_say_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    variables = pages.environment(tmp_path / "programs")
    for session in pages.sessions(TEXTS[page]):
        assert session.commands
        folder = pages.place(session, TEXTS[page], tmp_path)
        for command in session.commands:
            said = pages.run(command, folder, variables)
            assert said.returncode == 0, f"{command.text}\n{said.stdout}"
            if not session.varies:
                assert said.stdout == command.output, f"{command.text}: {STALE}"


def test_studies_plan(subtests: pytest.Subtests) -> None:
    for page, study in STUDIES:
        with subtests.test(page=page):
            assert planning.plan(planning.load(study, pages.name_of(page))).trials


def test_a_workflow_runs_the_commands_that_its_page_tries() -> None:
    page = TEXTS[pages.ROOT / "docs" / "how-to" / "use-in-ci.md"]
    (text,) = pages.blocks(page, "yaml")
    steps = yaml.safe_load(text)["jobs"]["performance"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    tried = {command.text for session in pages.sessions(page) for command in session.commands}
    ours = {line for script in scripts for line in script.splitlines() if line.startswith("nephoscope ")}
    assert ours == tried
    for script in scripts:
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0, script
    targets = re.findall(r"^make -C nephoscope ([a-z-]+)", "\n".join(scripts), re.MULTILINE)
    assert targets
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets)


def test_every_study_of_a_page_is_marked() -> None:
    marked = {study for _, study in STUDIES}
    for page, text in TEXTS.items():
        assert [
            body
            for body in pages.blocks(text, "toml")
            if "[[" in body
            and body not in marked
            and not any(part in body for part in ("[[claims]]", "[[report.text]]"))
        ] == [], page


def test_the_example_of_an_authors_text_can_be_read() -> None:
    page = TEXTS[pages.ROOT / "docs" / "how-to" / "publish-a-report.md"]
    (example,) = (body for body in pages.blocks(page, "toml") if "[[report.text]]" in body)
    (text,) = Report.model_validate(tomllib.loads(example)["report"]).text
    assert [one.kind for one in references(text.markdown)] == ["best", "level", "ratio", "price"]


def test_every_console_block_is_marked() -> None:
    for page, text in TEXTS.items():
        assert len(pages.sessions(text)) == len(pages.blocks(text, "console")), page


def test_the_example_of_a_spec_and_of_its_output_fit_the_contract() -> None:
    *specs, output = pages.blocks(TEXTS[pages.ROOT / "docs" / "reference" / "load-generator.md"], "json")
    assert {LoadSpec.model_validate_json(spec).target.kind for spec in specs} == {"postgres", "resp", "aerospike"}
    decoder, events, place = json.JSONDecoder(), [], 0
    while place < len(output.rstrip()):
        row, place = decoder.raw_decode(output, place)
        events.append(OUTPUT_LINE.validate_python(row).event)
        place += 1
    assert events == ["started", "interval", "finished"]


def test_targets_of_make_exist() -> None:
    for page, text in TEXTS.items():
        for block in pages.blocks(text, "sh"):
            for target in re.findall(r"^make ([a-z-]+)", block, re.MULTILINE):
                assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), (page, target)


def test_modules_and_tests_that_pages_name_exist() -> None:
    for page, text in TEXTS.items():
        for module in re.findall(r"python -m ((?:nephoscope|tests)[\w.]*)", text):
            source = Path(*module.split("."))
            places = [pages.ROOT / "src" / source, pages.ROOT / source]
            assert any(place.with_suffix(".py").exists() for place in places), (page, module)
        for path in re.findall(r"`((?:src|tests|load|studies|scripts|docs)/[\w./-]+)(?::\w+)?`", text):
            assert (pages.ROOT / path).exists() or path.startswith("load/target"), (page, path)


def test_every_proof_names_a_test_that_holds_tests() -> None:
    page = pages.ROOT / "docs" / "concepts" / "proofs.md"
    claims = re.split(r"^- ", TEXTS[page].partition("## Reliability")[0], flags=re.MULTILINE)[1:]
    assert len(claims) > 10
    for claim in claims:
        files = [target for target in pages.links(claim) if target.endswith((".py", ".rs"))]
        assert files, claim
        for file in files:
            assert re.search(r"def test_|#\[test\]", (page.parent / file).read_text(encoding="utf-8")), file


def test_bash_reads_every_shell_block() -> None:
    for page, text in TEXTS.items():
        for block in pages.blocks(text, "sh"):
            said = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
            assert said.returncode == 0, f"{page}: {said.stderr}"
