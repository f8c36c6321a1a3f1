"""Generated parts are current, and name everything there is."""

from pathlib import Path

import pytest

from nephoscope.app.cli import app
from nephoscope.benchmarks.load import contract as load_contract
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model import errors
from tests.docs import generated, pages
from tests.support.generated import STALE

WITH_PARTS = [page for page in pages.PAGES if pages.generated_names(page.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def parts() -> dict[str, str]:
    return generated.parts()


@pytest.mark.parametrize("page", WITH_PARTS, ids=pages.name_of)
def test_generated_parts_are_current(page: Path, parts: dict[str, str]) -> None:
    text = page.read_text(encoding="utf-8")
    assert pages.with_generated(text, parts) == text, STALE


def test_every_part_stands_in_one_page(parts: dict[str, str]) -> None:
    named = [name for page in WITH_PARTS for name in pages.generated_names(page.read_text(encoding="utf-8"))]
    assert sorted(named) == sorted(parts)


def test_every_command_is_documented() -> None:
    names = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    assert names == set(generated.COMMANDS)
    groups = {
        group.name: {
            command.name or getattr(command.callback, "__name__", "") for command in members.registered_commands
        }
        for group in app.registered_groups
        if (members := group.typer_instance) is not None
    }
    assert groups == {group: set(members) for group, members in generated.GROUPS.items()}


def test_every_exit_code_of_an_error_stands_in_the_table(parts: dict[str, str]) -> None:
    listed = {code.strip() for line in parts["exit-codes"].splitlines()[2:] for code in line.split("|")[1].split(",")}
    kinds: list[type[errors.NephoscopeError]] = [errors.NephoscopeError, *generated.all_errors()]
    codes = {errors.EXIT_OK, errors.EXIT_DEFECT, errors.EXIT_TRIALS_FAILED, errors.EXIT_INTERRUPTED}
    assert listed == {
        str(code) for code in codes | {errors.EXIT_TERMINATED, errors.EXIT_HUNG_UP} | {kind.exit_code for kind in kinds}
    }
    for kind in kinds:
        (line,) = [line for line in parts["exit-codes"].splitlines() if line.startswith(f"| {kind.exit_code} |")]
        named = line.split("|")[3].strip()
        if named and named != "any other exception":
            assert issubclass(kind, tuple(getattr(errors, one) for one in named.split(", ")))


def test_exit_codes_of_the_load_generator_are_those_of_the_contract(parts: dict[str, str]) -> None:
    listed = {int(line.split("|")[1]) for line in parts["load-exit-codes"].splitlines()[2:]}
    assert listed == {value for name, value in vars(load_contract).items() if name.startswith("EXIT_")}


def test_every_benchmark_and_metric_is_documented(parts: dict[str, str]) -> None:
    for benchmark in BENCHMARKS.values():
        assert f"## `{benchmark.name}`" in parts["benchmarks"]
        for metric in benchmark.metrics(benchmark.parameters()):
            assert f"| `{generated.metric_name(benchmark, metric)}` |" in parts["benchmarks"]
