"""Defaults, matrices and selections: what they stand for, and what a person reads when one is wrong."""

import contextlib
import hashlib
import json
import re
from collections import defaultdict
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.app.planned import summary
from nephoscope.app.stages.planning import calendar_with, clusters_by_default, plan, read_study
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import StudyError
from nephoscope.model.records import Plan
from nephoscope.study.load import expanded_text, load_study
from nephoscope.study.selection import NotASelection, chosen, facts_of
from nephoscope.study.toml_text import toml_value
from tests.unit.study.study_example import KNOWN, ROOT

STUDIES = ROOT / "studies"
STORED = json.loads((ROOT / "tests" / "data" / "studies" / "preset-trials.json").read_text())
HEAD = 'name = "s"\nbenchmarks = [{ uses = "stress-ng", parameters.duration_s = 1 }]\n'
MATRIX = """\
[[matrix]]
name = "{cpus}-{buffers:slug}"
axes.cpus = [1, 2]
axes.buffers = ["128MB", "1GB"]
by.cpus.1 = { connections = 4 }
by.cpus."*" = { connections = 16 }
database_machine.cpus = "{cpus}"
database = { connections = "{connections}", settings = { shared_buffers = "{buffers}" } }
"""


def names(text: str) -> list[str]:
    return [one.name for one in load_study(text, "s.toml", KNOWN).configurations]


def problems(text: str) -> list[str]:
    with pytest.raises(StudyError) as caught:
        load_study(text, "s.toml", KNOWN)
    return str(caught.value).splitlines()


GUIDE = (ROOT / "docs" / "how-to" / "run-an-edition.md").read_text(encoding="utf-8")
TOLD = dict(re.findall(r"^\| `studies/([a-z0-9-]+)\.toml` \|.*\| ([^|]*) \|$", GUIDE, re.MULTILINE))
"""Preset -> trials and dollars, as the guide says."""


@cache
def planned(preset: str) -> Plan:
    return plan(read_study(STUDIES / f"{preset}.toml"))


@pytest.mark.parametrize("preset", sorted(STORED))
def test_presets_keep_their_trials(preset: str) -> None:
    """By configuration: how many trials, and the digest of their benchmarks, replicates and ids.

    The stored file changes only where a preset is corrected.
    """
    lines: dict[str, list[str]] = defaultdict(list)
    for trial in planned(preset).trials:
        intent = trial.intent
        lines[intent.configuration_name].append(f"{intent.benchmark.name} {intent.replicate} {intent.id}")
    found = {
        name: [len(many), hashlib.sha256("\n".join(sorted(many)).encode()).hexdigest()[:16]]
        for name, many in lines.items()
    }
    assert found == STORED[preset]


@pytest.mark.parametrize("preset", sorted({*STORED, *TOLD}))
def test_the_guide_says_how_many_trials_each_preset_has_and_what_they_cost(preset: str) -> None:
    found = planned(preset)
    assert TOLD[preset] == f"{len(found.trials):,} trials, ${found.price_usd:,.0f}"
    if preset in GUIDE.partition("| head -2")[0].rpartition("\n")[2]:
        study = read_study(STUDIES / f"{preset}.toml")
        calendar = calendar_with(study, found, clusters_by_default(study))
        assert "\n".join([*summary(found, calendar=calendar)][:2]) in GUIDE


@pytest.mark.parametrize(
    ("preset", "before", "why"), re.findall(r"^\| ([a-z0-9-]+) \| \$([0-9,]+) \| (.*) \|$", GUIDE, re.MULTILINE)
)
def test_the_guide_explains_each_dollar_by_which_a_plan_has_moved(preset: str, before: str, why: str) -> None:
    moved = [int(amount.replace("$", "").replace(",", "")) for amount in re.findall(r"\(([+-]\$[0-9,]+)\)", why)]
    now_usd = float(TOLD[preset].rpartition("$")[2].replace(",", ""))
    assert sum(moved, start=int(before.replace(",", ""))) == pytest.approx(now_usd, abs=2)


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_an_expanded_preset_is_the_same_study_in_plain_configurations(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    plain = expanded_text(text, path.name, BENCHMARKS)
    assert "[matrix]" not in plain
    assert "[defaults]" not in plain
    assert load_study(plain, path.name, BENCHMARKS) == load_study(text, path.name, BENCHMARKS)


def test_a_matrix_is_every_combination_of_its_axes() -> None:
    study = load_study(HEAD + MATRIX, "s.toml", KNOWN)
    said = [(one.name, one.database_machine.cpus, one.database.connections) for one in study.configurations]
    assert said == [("1-128mb", 1, 4), ("1-1gb", 1, 4), ("2-128mb", 2, 16), ("2-1gb", 2, 16)]
    assert study.configurations[1].database.settings == {"shared_buffers": "1GB"}


def test_combinations_are_left_out_and_added() -> None:
    more = 'exclude = [{ cpus = 1, buffers = "1*" }]\ninclude = [{ cpus = 8, buffers = "4GB", connections = 99 }]\n'
    study = load_study(HEAD + MATRIX + more, "s.toml", KNOWN)
    assert [one.name for one in study.configurations] == ["2-128mb", "2-1gb", "8-4gb"]
    assert study.configurations[-1].database.connections == 99


def test_what_has_no_value_is_left_out_only_where_that_is_allowed() -> None:
    text = HEAD + MATRIX.replace('by.cpus."*" = { connections = 16 }\n', "")
    optional = text.replace('"{connections}"', '"{connections?}"')
    assert [one.database.connections for one in load_study(optional, "", KNOWN).configurations] == [4, 4, 8, 8]
    assert problems(text) == [
        "s.toml:7: matrix[0].by.cpus: nothing gives a value to `{connections}` for cpus = 2; add one here"
    ]


def test_defaults_lie_below_each_configuration_and_tables_are_merged() -> None:
    own = '[[configurations]]\nname = "a"\ndatabase.settings.work_mem = "{1}"\n'
    text = HEAD + '[defaults]\ndatabase = { connections = 3, settings = { shared_buffers = "1GB" } }\n' + own + MATRIX
    first, *_, last = load_study(text, "s.toml", KNOWN).configurations
    assert first.database.settings == {"shared_buffers": "1GB", "work_mem": "{1}"}
    assert (first.database.connections, last.database.connections) == (3, 16)


def test_a_matrix_makes_benchmarks() -> None:
    text = """\
name = "s"
configurations = [{ name = "a" }]
[defaults]
rented = true
[[matrix]]
makes = "benchmarks"
uses = "stress-ng"
name = "for-{s}"
axes.s = [1, 2.5]
parameters.duration_s = "{s}"
"""
    entries = load_study(text, "s.toml", KNOWN).benchmarks
    (line,) = problems(text.replace("for-{s}", "same"))
    assert line.startswith('s.toml:8: matrix[0].name: "same" is made twice')
    assert [(one.name, one.parameters["duration_s"]) for one in entries] == [("for-1", 1), ("for-2.5", 2.5)]


SCALARS = st.integers(1, 64)


@given(st.lists(SCALARS, min_size=1, max_size=4, unique=True), st.lists(SCALARS, min_size=1, max_size=4, unique=True))
def test_a_matrix_equals_the_configurations_written_by_hand(cpus: list[int], connections: list[int]) -> None:
    matrix = (
        f'[[matrix]]\nname = "a-{{cpus}}-{{n}}"\naxes = {{ cpus = {cpus}, n = {connections} }}\n'
        'database_machine.cpus = "{cpus}"\ndatabase.connections = "{n}"\nlabels.n = "n{n}"\n'
    )
    by_hand = "".join(
        f'[[configurations]]\nname = "a-{c}-{n}"\ndatabase_machine.cpus = {c}\ndatabase.connections = {n}\n'
        f'labels.n = "n{n}"\n'
        for c in cpus
        for n in connections
    )
    made = load_study(HEAD + matrix, "s.toml", KNOWN)
    assert made == load_study(HEAD + by_hand, "s.toml", KNOWN)
    assert made == load_study(expanded_text(HEAD + matrix, "s.toml", KNOWN), "s.toml", KNOWN)


SHORTER = """\
[[matrix]]
name = "{cpus}-{buffers:slug}"
axes.cpus = { 1 = { connections = 4 }, 2 = { connections = 16, zone = "b" } }
axes.buffers = ["128MB", "1GB"]
values.memory.buffers = { "*GB" = 2, "*" = 1 }
values.connections.cpus."*" = 99
database_machine.expect_memory_gib = "{memory}"
other_zones = ["{zone?}"]
database = { connections = "{connections}", settings = { "shared_{key}" = "{buffers}" } }
by.buffers."*".key = "buffers"
"""


def test_values_stand_with_their_axis_or_by_placeholder_and_keys_may_hold_one_too() -> None:
    """A list without an element left is left out; what an axis gives counts before `by`, and that before `values`."""
    longer = """\
[[matrix]]
name = "{cpus}-{buffers:slug}"
axes.cpus = [1, 2]
axes.buffers = ["128MB", "1GB"]
by.cpus = { 1 = { connections = 4 }, 2 = { connections = 16, zones = ["b"] } }
by.buffers = { "1GB" = { memory = 2 }, "*" = { memory = 1 } }
database_machine.expect_memory_gib = "{memory}"
other_zones = "{zones?}"
database = { connections = "{connections}", settings = { shared_buffers = "{buffers}" } }
"""
    texts = [HEAD + one.replace("[[matrix]]", '[[matrix]]\nprovider = "other"') for one in (SHORTER, longer)]
    short, long = [load_study(text, "s.toml", KNOWN) for text in texts]
    assert short == long
    assert [one.other_zones for one in short.configurations] == [None, None, ["b"], ["b"]]
    assert load_study(expanded_text(texts[0], "s.toml", KNOWN), "s.toml", KNOWN) == short


@pytest.mark.parametrize(
    ("provider", "zone", "region"),
    [
        ("aws", "us-gov-west-1b", "us-gov-west-1"),
        ("aws", "us-west-2-lax-1a", "us-west-2"),
        ("gcp", "europe-west12-c", "europe-west12"),
        ("gcp", "c", None),
        ("azure", "1", None),
    ],
)
def test_a_zone_says_its_region(provider: str, zone: str, region: str | None) -> None:
    text = f'{HEAD}[[configurations]]\nname = "a"\nprovider = "{provider}"\nzone = "{zone}"\n'
    assert [one.region for one in load_study(text, "s.toml", KNOWN).configurations] == [region]
    own = load_study(f'{text}region = "mine"\n', "s.toml", KNOWN).configurations
    assert [one.region for one in own] == ["mine"]


def test_the_preset_of_2022_is_short() -> None:
    """63 lines are for TPC-C; the other chapters, the pairs of regions and the report have the rest."""
    lines = (STUDIES / "cloud-report-2022.toml").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    others = kept[kept.index('uses = "{benchmark}"') - 1 :]
    regions = ("axes.volume.us-west", "axes.volume.westus", "load_machine.im")
    report = ("[costs]", "bases", "[report]", "headline")
    apart = [line for line in kept if line.startswith((*regions, *report))]
    assert len(kept) - len(others) - len(apart) <= 63
    assert max(map(len, kept)) <= 120


def changed(old: str, new: str) -> str:
    assert old in MATRIX
    return HEAD + MATRIX.replace(old, new)


def test_what_is_wrong_with_a_matrix_is_said_at_its_line(subtests: pytest.Subtests) -> None:
    for text, problem in [
        (
            changed("{cpus}-", ""),
            (
                's.toml:4: matrix[0].name: "128mb" is made twice, by cpus = 1, buffers = "128MB" and by cpus = 2, '
                'buffers = "128MB"; use every axis in the name'
            ),
        ),
        (
            f'{HEAD}[[configurations]]\nname = "2-1gb"\n{MATRIX}',
            (
                's.toml:6: matrix[0].name: "2-1gb" is made for cpus = 2, buffers = "1GB", but line 4 has this name, too'
                "; names must be unique"
            ),
        ),
        (changed("[1, 2]", "[]"), "s.toml:5: matrix[0].axes.cpus: [] is not allowed; expected: a list of at least 1"),
        (changed("[1, 2]", "[1, 2, 1]"), "s.toml:5: matrix[0].axes.cpus[2]: 1 appears twice in this axis; remove one"),
        (
            f'{HEAD}{MATRIX}exclude = [{{ cpus = "*" }}]',
            "s.toml:11: matrix[0].exclude: leaves out every combination, so that this matrix makes nothing",
        ),
        (
            f"{HEAD}{MATRIX}exclude = [{{ cpus = 3 }}]",
            "s.toml:11: matrix[0].exclude[0]: matches no combination of this matrix; check its values, or remove it",
        ),
        (
            f"{HEAD}{MATRIX}exclude = [{{ cpu = 1 }}]",
            "s.toml:11: matrix[0].exclude[0].cpu: `cpu` is not an axis of this matrix; did you mean `cpus`?",
        ),
        (
            f"{HEAD}{MATRIX}include = [{{ cpus = 1 }}]",
            "s.toml:11: matrix[0].include[0]: has no value for the axis `buffers`",
        ),
        (
            f'{HEAD}{MATRIX}include = [{{ cpus = 1, buffers = "1GB" }}]',
            's.toml:11: matrix[0].include[0]: this matrix already has cpus = 1, buffers = "1GB"; remove it',
        ),
        (changed("by.cpus.1 ", "by.cpus.3 "), "s.toml:7: matrix[0].by.cpus.3: matches no value of the axis `cpus`"),
        (
            changed("{ connections = 4 }", "{ conections = 4 }"),
            "s.toml:7: matrix[0].by.cpus.1.conections: no placeholder uses `conections`; did you mean `connections`?",
        ),
        (
            changed('"{buffers}"', '"{bufers}"'),
            (
                "s.toml:10: matrix[0].database.settings.shared_buffers: nothing gives a value to `{bufers}`; did you "
                "mean `{buffers}`?"
            ),
        ),
        (changed('"{buffers}"', '"{buffers"'), "s.toml:10: matrix[0].database.settings.shared_buffers: "),
        (
            changed("= 4 }", '= "{connections}" }'),
            "s.toml:7: matrix[0].by.cpus.1.connections: the values of placeholders contain each other",
        ),
        (
            changed("[1, 2]", "[1, 0]"),
            "s.toml:5: matrix[0].axes.cpus[1]: 0 is not allowed; expected: ",
        ),
        (
            changed("database_machine.cpus", "database_machine.cpu"),
            "s.toml:9: matrix[0].database_machine.cpu: unknown key; did you mean",
        ),
        (
            f'{HEAD}[defaults]\nload_machine.type = "{{type}}"\n[[configurations]]\nname = "a"',
            "s.toml:4: defaults.load_machine.type: nothing gives a value to `{type}`; only a [[matrix]] gives values",
        ),
        (changed("[1, 2]", str(list(range(9999)))), "s.toml:5: matrix[0].axes: these axes have 19,998 combinations"),
        (changed("[1, 2]", "{}"), "s.toml:5: matrix[0].axes.cpus: {} is not allowed; expected: a table of at least 1"),
        (
            changed("[1, 2]", "{ 1 = { conections = 4 }, 2 = {} }"),
            "s.toml:5: matrix[0].axes.cpus.1.conections: no placeholder uses `conections`; did you mean",
        ),
        (
            f"{HEAD}{MATRIX}values.connections.cpu.1 = 3",
            "s.toml:11: matrix[0].values.connections.cpu: `cpu` is not an axis of this matrix; did you mean `cpus`?",
        ),
        (
            f"{HEAD}{MATRIX}values.connections.cpus.3 = 3",
            "s.toml:11: matrix[0].values.connections.cpus.3: matches no value of the axis `cpus`",
        ),
        (
            changed("shared_buffers =", '"{bufers}" ='),
            's.toml:10: matrix[0].database.settings."{bufers}": nothing gives',
        ),
        (f"{HEAD}matrix = 3", "s.toml:3: matrix: 3 is not allowed; expected: a list, each a table"),
        (f"{HEAD}defaults = 3", "s.toml:3: defaults: 3 is not allowed; expected: a table"),
    ]:
        with subtests.test(text=text):
            found = problems(text)
            assert any(line.startswith(problem) for line in found), found


def test_one_slip_in_a_matrix_is_one_problem() -> None:
    (line,) = problems(changed("database = {", "pice = 3\ndatabase = {"))
    assert line.startswith("s.toml:10: matrix[0].pice: unknown key")
    assert line.endswith('(configuration "1-128mb", as in 4 configurations)')


MACHINES = [
    facts_of(one)
    for one in (
        {
            "name": "a",
            "provider": "aws",
            "database_machine": {"type": "m6i.2xlarge", "volumes": [{"kind": "gp3"}]},
            "labels": {"use": "storage"},
        },
        {"name": "b", "provider": "aws", "database_machine": {"type": "i3.8xlarge", "local_ssds": 2}},
        {
            "name": "c",
            "provider": "azure",
            "database_machine": {"type": "Standard_D8s_v5", "volumes": [{"kind": "Ultra Disk"}]},
            "labels": {"use": "general"},
        },
        {"name": "d", "provider": "gcp", "database_machine": {"type": "n2-custom-8-32768"}},
    )
]


def test_a_selection_chooses_by_what_machines_are(subtests: pytest.Subtests) -> None:
    for selection, names in [
        ("aws", "ab"),
        ("AWS and storage", "a"),
        ("aws or azure and general", "abc"),
        ("(aws or azure) and general", "c"),
        ("not aws", "cd"),
        ("not not aws and not (storage or local-ssd) or gcp", "d"),
        ("vcpus:8", "acd"),
        ("'Ultra Disk' or volume:gp3", "ac"),
        ('volume:"ultra disk"', "c"),
        ("m6?", "a"),
        ("use:general", "c"),
        ("name:b or type:m6i.*", "ab"),
    ]:
        with subtests.test(selection=selection):
            assert chosen(selection, MACHINES) == ["abcd".index(name) for name in names]


def test_what_is_wrong_with_a_selection(subtests: pytest.Subtests) -> None:
    for selection, problem in [
        ("", "it is empty; write words"),
        ("aws and", "a word is missing at the end; write words"),
        ("aws gcp", '"gcp" is not allowed there; write words'),
        ("and aws", '"and" is not allowed there; write words'),
        ("()", '")" is not allowed there; write words'),
        ("(aws", "an opening parenthesis has no closing one"),
        ("aws)", "a closing parenthesis has no opening one"),
        ("'aws", "a closing quote is missing"),
        ("azur", '"azur" matches no configuration; did you mean "azure"?'),
        ("not nowhere", '"nowhere" matches no configuration; there are: '),
        ("vcpu:8", '"vcpu" is not a key; did you mean `vcpus`?'),
        ("aws and gcp", "no configuration matches it"),
        ("(" * 5000 + "aws", "an opening parenthesis has no closing one"),
    ]:
        with subtests.test(selection=selection):
            with pytest.raises(NotASelection) as caught:
                chosen(selection, MACHINES)
            assert str(caught.value).startswith(problem)


def test_a_benchmark_runs_on_what_its_selection_chooses() -> None:
    study = """\
name = "s"
configurations = [{ name = "a", labels.size = "big" }, { name = "b", labels.size = "small" }]
[[benchmarks]]
uses = "stress-ng"
for = SELECTION
parameters.duration_s = 1
"""
    assert load_study(study.replace("SELECTION", '"big"'), "", KNOWN).benchmarks[0].configurations == ["a"]
    (line,) = problems(study.replace("SELECTION", '"bigger"'))
    assert line == 's.toml:5: benchmarks[0].for: "bigger": "bigger" matches no configuration; did you mean "big"?'
    (line,) = problems(study.replace("SELECTION", '"big"\nconfigurations = ["a"]'))
    assert line.endswith("a benchmark has `for` or `configurations`, not both; remove one")
    (line,) = problems(study.replace("SELECTION", "3"))
    assert line.startswith("s.toml:5: benchmarks[0].for: 3 is not allowed; expected: a selection in quotes")


def test_labels_are_not_part_of_a_trial() -> None:
    text = HEAD + '[[configurations]]\nname = "a"\n'
    plans = [plan(load_study(one, "", BENCHMARKS)) for one in (text, f'{text}labels.x = "y"')]
    assert len({tuple(row.intent.id for row in one.trials) for one in plans}) == 1


TOKENS = re.findall(
    r"\w+|\s+|.", f'{HEAD}[defaults]\nrented = true\n{MATRIX}include = [{{ cpus = 8, buffers = "4GB" }}]\n'
)
JUNK = st.sampled_from(
    ['"', "{", "}", "[", "]", "=", ".", "{x}", "{{", "?", "-1", "true", "[]", "{}", "\n", "*", "for"]
)


@given(st.lists(st.tuples(st.integers(0, len(TOKENS) - 1), JUNK), min_size=1, max_size=3))
def test_damaged_matrices_raise_nothing_but_study_errors(changes: list[tuple[int, str]]) -> None:
    tokens = list(TOKENS)
    for index, junk in changes:
        tokens[index] = junk
    with contextlib.suppress(StudyError):
        load_study("".join(tokens), "s.toml", KNOWN)


WILD = st.recursive(
    st.booleans() | st.integers(-2, 99) | st.sampled_from(["a", "{a}", "{b?}", "{", "*", "aws"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "name"]), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["name", "axes", "by", "include", "exclude", "makes", "labels"]), WILD), WILD)
def test_wild_values_of_matrices_raise_nothing_but_study_errors(matrix: dict[str, Any], defaults: Any) -> None:
    text = f"{HEAD}defaults = {toml_value(defaults)}\nmatrix = [{toml_value(matrix)}]\n"
    with contextlib.suppress(StudyError):
        load_study(text, "s.toml", KNOWN)
