"""Which configurations compete, and which questions about one thing a study holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.errors import StudyError
from nephoscope.model.written import OVERALL, Scope
from nephoscope.study.contrasts import Question, contrasts_of, scopes_of, vcpus_of
from nephoscope.study.load import load_study
from nephoscope.study.machine_names import MachineName, machine_name
from nephoscope.study.model import Configuration, Database, DeclaredContrast, Machine, Volume
from tests.unit.study.study_example import KNOWN, MINIMAL


def machine(type_: str, kind: str = "gp3", provider: str = "aws", **database: object) -> Configuration:
    iops = {"gp3": 3000.0, "io2": 16000.0}.get(kind, 0.0)
    volumes = [Volume(kind=kind, size=1000, iops=iops)]
    return Configuration.model_validate(
        {
            "name": f"{type_}-{kind}",
            "provider": provider,
            "region": "r",
            "database_machine": Machine(type=type_, volumes=volumes),
            "load_machine": Machine(type=type_),
            "database": Database.model_validate(database),
        }
    )


def asked(*many: Configuration, declared: tuple[DeclaredContrast, ...] = ()) -> dict[str, Question]:
    found = contrasts_of({one.name: one for one in many}, declared)
    return {f"{one.name}: {one.left} against {one.right}": one for one in found}


def test_one_question_is_about_all_pairs_that_differ_in_one_thing() -> None:
    found = asked(*(machine(type_, kind) for type_ in ("m5.xlarge", "m5a.xlarge") for kind in ("gp3", "io2")))
    assert {name: one.pairs for name, one in found.items()} == {
        "volume kind: gp3 against io2": (
            ("m5.xlarge-gp3", "m5.xlarge-io2"),
            ("m5a.xlarge-gp3", "m5a.xlarge-io2"),
        ),
        "CPU vendor: AMD against Intel": (
            ("m5a.xlarge-gp3", "m5.xlarge-gp3"),
            ("m5a.xlarge-io2", "m5.xlarge-io2"),
        ),
    }


def test_numbers_are_compared_with_the_next_one_only() -> None:
    found = asked(*(machine(f"m5.{size}") for size in ("large", "xlarge", "2xlarge")))
    assert sorted(found) == ["size: 4 vCPUs against 2 vCPUs", "size: 8 vCPUs against 4 vCPUs"]


def test_architecture_generation_version_and_a_setting() -> None:
    assert list(asked(machine("m6g.xlarge"), machine("m6i.xlarge"))) == ["architecture: Arm against Intel"]
    assert list(asked(machine("m5.xlarge"), machine("m6i.xlarge"))) == ["generation: 6 against 5"]
    old, new = machine("m5.xlarge", version="16"), machine("m5.xlarge", version="17")
    new = new.model_copy(update={"name": "new"})
    assert list(asked(old, new)) == ["server version: 16 against 17"]
    small = machine("m5.xlarge", settings={"shared_buffers": "1GB"}).model_copy(update={"name": "small"})
    plain = machine("m5.xlarge")
    assert list(asked(small, plain)) == ["shared_buffers: 1GB against not set"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (machine("m5.xlarge"), machine("c5.xlarge")),
        (machine("m5.xlarge"), machine("m6a.2xlarge")),
        (machine("e2-standard-8", provider="gcp"), machine("n2-standard-8", provider="gcp")),
        (machine("odd", provider="other"), machine("name", provider="other")),
    ],
)
def test_configurations_that_differ_in_more_are_no_contrast(one: Configuration, other: Configuration) -> None:
    assert asked(one, other) == {}


def loaded_by(type_: str, one: Configuration) -> Configuration:
    return one.model_copy(update={"name": f"{one.name}-by-{type_}", "load_machine": Machine(type=type_)})


def test_one_type_of_load_machines_beside_different_databases_is_no_other_difference() -> None:
    found = asked(*(loaded_by("m6i.xlarge", machine(type_)) for type_ in ("m5.xlarge", "m6i.xlarge")))
    assert list(found) == ["generation: 6 against 5"]
    assert asked(machine("m5.xlarge"), loaded_by("m5.xlarge", machine("m6i.xlarge")), machine("m6i.xlarge")).keys() == {
        "generation: 6 against 5"
    }, "the load machine of the second is like that of the first, the load machine of the third is like its database"
    assert asked(machine("m5.xlarge"), loaded_by("c5.xlarge", machine("m6i.xlarge"))) == {}


def test_a_declared_question_is_not_found_again() -> None:
    both = machine("m5.xlarge", "gp3"), machine("m5.xlarge", "io2")
    by_key = DeclaredContrast(name="storage", key="volume kind", values=["io2", "gp3"])
    assert [(one.name, one.left, one.declared) for one in asked(*both, declared=(by_key,)).values()] == [
        ("storage", "io2", True)
    ]
    by_name = DeclaredContrast(name="mine", left=[both[1].name], right=[both[0].name], labels=["dear", "cheap"])
    assert "mine: dear against cheap" in asked(*both, declared=(by_name,))


def test_a_wrong_contrast_is_an_error_with_its_line() -> None:
    wrong = MINIMAL + '\n[[contrasts]]\nname = "x"\nkey = "database.version"\nvalues = ["16", "17"]\n'
    with pytest.raises(StudyError, match=rf"s.toml:{wrong.count(chr(10)) - 3}: .*no two configurations have these"):
        load_study(wrong, "s.toml", KNOWN)
    both = MINIMAL + '\n[[contrasts]]\nname = "x"\nkey = "a"\nleft = ["b"]\n'
    with pytest.raises(StudyError, match="either `left` and `right`, or `key` and `values`"):
        load_study(both, "s.toml", KNOWN)
    unknown = MINIMAL + '\n[[contrasts]]\nname = "x"\nleft = ["nobody"]\nright = ["nothing"]\n'
    with pytest.raises(StudyError, match='unknown configuration "nobody"'):
        load_study(unknown, "s.toml", KNOWN)


def test_scopes_are_overall_clouds_and_sizes() -> None:
    many = [
        machine("m5.xlarge"),
        machine("m5.2xlarge"),
        machine("n2-standard-8", provider="gcp"),
        machine("n2-standard-16", provider="gcp"),
    ]
    a, b, c, d = (one.name for one in many)
    assert scopes_of({one.name: one for one in many}) == {
        OVERALL: tuple(sorted([a, b, c, d])),
        Scope("cloud", "aws"): tuple(sorted([a, b])),
        Scope("cloud", "gcp"): tuple(sorted([c, d])),
        Scope("size", 8): tuple(sorted([b, c])),
    }
    assert list(scopes_of({one.name: one for one in many[:2]})) == [OVERALL]
    assert scopes_of({many[0].name: many[0]}) == {}


def test_sizes_that_differ_little_compete_and_cpu_options_count() -> None:
    large = [machine("m5.8xlarge"), machine("c5.9xlarge"), machine("c2-standard-30", provider="gcp")]
    found = scopes_of({one.name: one for one in [*large, machine("m5.2xlarge"), machine("r5.2xlarge")]})
    assert [str(one) for one in found if one.kind == "size"] == ["size: 8 vCPUs", "size: 30 to 36 vCPUs"]
    assert found[Scope("size", 30, 36)] == tuple(sorted(one.name for one in large))
    fewer = {"type": "i3en.6xlarge", "cores": 8, "threads_per_core": 2}
    asked_of = [Machine.model_validate(one) for one in (fewer, {"type": "i3en.6xlarge", "cores": 8})]
    found_of = [vcpus_of(large[0].model_copy(update={"database_machine": one})) for one in asked_of]
    assert found_of == [16, None], "how many threads a core has, a type's name does not say"


CLOUDS = st.builds(Scope, st.just("cloud"), st.text(min_size=1))
SIZES = st.integers(1).flatmap(
    lambda least: st.builds(Scope, st.just("size"), st.just(least), st.none() | st.integers(least + 1))
)


@given(st.one_of(st.just(OVERALL), CLOUDS, SIZES))
def test_a_stored_scope_is_read_as_it_was_written(scope: Scope) -> None:
    assert Scope.read(str(scope)) == scope


@pytest.mark.parametrize("text", ["", "cloud: ", "size: many vCPUs", "size: 8", "size: 8 to vCPUs", "region: eu"])
def test_a_text_that_is_no_scope_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is no scope"):
        Scope.read(text)


@pytest.mark.parametrize(
    ("provider", "name", "series", "generation", "vendor"),
    [
        ("aws", "m6i.2xlarge", "m", 6, "Intel"),
        ("aws", "c5n.9xlarge", "cn", 5, "Intel"),
        ("aws", "m5a.4xlarge", "m", 5, "AMD"),
        ("aws", "c7gn.xlarge", "cn", 7, "Arm"),
        ("gcp", "n2d-highmem-8", "n-highmem", 2, "AMD"),
        ("gcp", "e2-standard-4", "e-standard", 2, None),
        ("gcp", "c4d-standard-8-lssd", "c-standard-lssd", 4, "AMD"),
        ("gcp", "n2-custom-8-16384", "n-custom-2gib", 2, "Intel"),
        ("gcp", "n2d-custom-32-131072-ext", "n-custom-4gib", 2, "AMD"),
        ("azure", "Standard_D8as_v5", "Ds", 5, "AMD"),
        ("azure", "Standard_F16s_v2", "Fs", 2, "Intel"),
    ],
)
def test_the_name_of_a_type_says_vendor_and_generation(
    provider: str, name: str, series: str, generation: int, vendor: str | None
) -> None:
    found = machine_name(provider, name)
    assert (found.series, found.generation, found.vendor) == (series, generation, vendor)


def test_an_unknown_name_says_nothing() -> None:
    assert machine_name("other", "m5.xlarge") == MachineName(family=None, vcpus=None)
