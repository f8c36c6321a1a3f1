"""The study of 2026: its machine types are sold where it asks for them, and each question has both of its sides."""

import re
from collections import Counter

import pytest

from nephoscope.app.stages.planning import load, plan
from nephoscope.prices.catalogue.index import architectures
from nephoscope.prices.catalogue.machines import prices
from nephoscope.study.machine_names import machine_name
from nephoscope.study.model import Study
from nephoscope.study.shorthands import with_chosen
from tests.unit.study.study_example import ROOT

TEXT = (ROOT / "studies" / "cloud-report-2026.toml").read_text(encoding="utf-8")
PAGE = ROOT / "docs" / "studies" / "cloud-report-2026.md"


@pytest.fixture(scope="module")
def study() -> Study:
    return load(TEXT, "cloud-report-2026.toml")


def machine_types(study: Study) -> set[tuple[str, str, str]]:
    """(provider, region, machine type)"""
    return {(one.provider, one.region or "", one.database_machine.type or "") for one in study.configurations}


def test_every_type_is_in_the_catalogue_with_a_price_in_its_region(study: Study) -> None:
    priced = prices()
    sure = priced.filter((priced["basis"] == "on-demand") & (priced["disputed"] == "") & (priced["wrong"] == ""))
    sold = set(sure.select("provider", "region", "type").iter_rows())
    found = machine_types(study)
    assert len(found) == 62
    assert found - sold == set()


def test_each_cloud_has_small_and_large_machines_of_every_vendor_and_purpose(study: Study) -> None:
    found: Counter[tuple[object, ...]] = Counter()
    for one in study.configurations:
        machine = one.database_machine
        name = machine_name(one.provider, machine.type or "")
        assert name.vcpus in {8, 32}
        assert (name.vendor == "Arm") == (architectures()[one.provider, machine.type or ""] == "arm64")
        found[one.provider, one.labels["made-for"], name.vendor, name.vcpus, one.labels["setup"]] += 1
    for setup in ("usual-disk", "fast-disk", "valkey"):
        for cloud in ("aws", "gcp", "azure"):
            for purpose in ("everything", "computing", "memory"):
                for vendor in ("Intel", "AMD", "Arm"):
                    assert {found[cloud, purpose, vendor, vcpus, setup] for vcpus in (8, 32)} & {1, 2}


def test_one_option_turns_it_into_a_study_of_cockroachdb() -> None:
    """As the page says it."""
    (chosen,) = set(re.findall(r"--choose (\S+)", PAGE.read_text(encoding="utf-8")))
    planned = plan(load(with_chosen(TEXT, [chosen]), "cloud-report-2026.toml"))
    asked = [row.intent for row in planned.trials if row.intent.benchmark.name in {"tpcc", "most-cockroachdb"}]
    assert {one.benchmark.name for one in asked} == {"tpcc", "most-cockroachdb"}
    assert {one.configuration["database"]["system"] for one in asked} == {"cockroachdb"}
    inner = [{**one.benchmark.parameters, **one.benchmark.parameters.get("parameters", {})} for one in asked]
    assert {(one["dialect"], one["isolation"]) for one in inner} == {("cockroachdb", "serializable")}
    valkey = [row.intent for row in planned.trials if row.intent.benchmark.name in {"kv", "most-valkey"}]
    assert {one.configuration["database"]["system"] for one in valkey} == {"valkey"}
    assert planned.unpriced == []


def test_one_option_turns_it_into_a_study_of_mariadb() -> None:
    planned = plan(load(with_chosen(TEXT, ["database=mariadb"]), "cloud-report-2026.toml"))
    asked = [row.intent for row in planned.trials if row.intent.benchmark.name in {"tpcc", "most-mariadb"}]
    assert {one.benchmark.name for one in asked} == {"tpcc", "most-mariadb"}
    assert {one.configuration["database"]["system"] for one in asked} == {"mariadb"}
    assert {one.benchmark.parameters.get("profile") for one in asked if one.benchmark.name == "tpcc"} == {"chatty"}
    packages = [one.configuration["cloud"]["packages"] for one in asked]
    assert all({"mariadb-server-core", "mariadb-client-core"} <= set(names) for names in packages)
