"""Managed databases in a study: what it must and may not say, what its provider sees, its plan, bill and price."""

import re
from pathlib import Path

import pytest

from nephoscope.app.stages import planning
from nephoscope.app.stages.architecture import require_builds
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import InputError, StudyError
from nephoscope.model.records import CO_LOCATED, NOT_OBSERVED
from nephoscope.plan.expand import expand
from nephoscope.prices.quote import quote
from nephoscope.providers.base import Cluster
from nephoscope.run.gate import stated_conditions
from nephoscope.study.load import load_study
from nephoscope.study.managed import as_provided, plain_as_provided, provider_of_machines
from nephoscope.study.model import Configuration, Database, Study
from tests.support.local_remote import this_machine
from tests.unit.study.study_example import ROOT

HEAD = 'name = "managed"\nreplicates = 6\n'
POINT = '[[benchmarks]]\nuses = "point-select"\n'
SERVICE = """
[[configurations]]
name = "service"
provider = "managed"
{lines}
"""
ON_AWS = """zone = "us-east-1a"
price_usd_per_hour = 2.0
price_basis = "on-demand list price of db.m8g.2xlarge, us-east-1, aws.amazon.com, 2026-11-20"
database_machine = { type = "db.m8g.2xlarge" }
load_machine = { provider = "aws", type = "m6i.2xlarge" }
cloud = { image = "ami-1", ingress = "203.0.113.7/32" }
database = { dsn = "postgresql://bench@service.example.com:5432/bench", connections = 32 }"""
HERE = 'database = { dsn = "postgresql://bench@service.example.com/bench" }'

LOCAL = '[[configurations]]\nname = "a"\nload_machine = { provider = "aws" }\n'


def study(lines: str, more: str = POINT) -> Study:
    return load_study(HEAD + SERVICE.format(lines=lines) + more, "s.toml", BENCHMARKS)


def test_a_provider_sees_the_load_machine_alone() -> None:
    (service,) = study(ON_AWS).configurations
    assert (service.provider, service.database_machine.type) == ("managed", "db.m8g.2xlarge")
    seen = as_provided(service)
    assert (seen.provider, seen.region, seen.zone) == ("aws", "us-east-1", "us-east-1a")
    assert (seen.database_machine.type, seen.load_machine) == ("m6i.2xlarge", None)
    assert seen.database == service.database
    assert (
        as_provided(study(ON_AWS.replace("connections =", "connections_per_cpu = 8, connections =")).configurations[0])
        == seen
    )
    assert as_provided(seen) is seen
    (here,) = study(HERE).configurations
    assert as_provided(here).provider == "local"
    stored = service.model_dump(mode="json")
    assert provider_of_machines(stored) == plain_as_provided(stored)["provider"] == "aws"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "s.toml:6: configurations[0].provider: provider \"managed\" needs the address of the service"),
        ("database = { connections = 4 }", "configurations[0].database: provider \"managed\" needs the address"),
        ('database = { system = "valkey" }', 'supports only `system` "postgres"'),
        (f"{HERE}\nprice_usd_per_hour = 2.0", "configurations[0].price_usd_per_hour: add price_basis, the source and"),
        (f"{HERE}\ndatabase_machine = {{ cpus = 4 }}", "database_machine.cpus: the machine of a managed database"),
        (f"{HERE}\nload_machine = {{ hosts = ['a'] }}", 'load_machine.hosts: only provider "ssh" supports this'),
        (f"{HERE}\nload_machine = {{ provider = 'ssh' }}", "needs `hosts` for `load_machine`"),
        (f"{HERE}\nload_machine = {{ type = 'm6i.large' }}", "configurations[0].load_machine.type: "),
        (HERE.replace(" }", ", connections_per_cpu = 2 }"), "database.connections_per_cpu: the CPUs of a managed"),
        (HERE.replace("bench@", "bench:secret@"), "holds a password"),
    ],
)  # fmt: skip
def test_what_it_needs_and_what_it_cannot_have_is_said_with_its_key(lines: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        study(lines)
    assert said in str(caught.value)
    assert "database_machine.hosts" not in str(caught.value)


def test_services_that_keep_unequal_copies_are_compared_only_where_the_study_asks_for_it() -> None:
    two = HERE.replace(" }", ", copies = { count = 2, synchronous = true } }")
    other = SERVICE.replace("service", "other").format(lines=HERE.replace(" }", ", copies = { count = 1 } }"))
    with pytest.raises(StudyError, match=r'copies: "service" keeps other copies of the data'):
        study(two, POINT + other)
    asked = load_study(f"{HEAD}unequal_copies = true\n{SERVICE.format(lines=two)}{POINT}{other}", "s.toml", BENCHMARKS)
    assert [one.database.copies and one.database.copies.count for one in asked.configurations] == [2, 1]
    assert len(study(two, POINT + other.replace("count = 1", "synchronous = true, count = 2")).configurations) == 2


def test_only_a_managed_database_names_the_provider_of_its_load_machine() -> None:
    with pytest.raises(StudyError, match=r"load_machine\.provider: only the load machine of"):
        load_study(HEAD + LOCAL + POINT, "s.toml", BENCHMARKS)


def test_only_benchmarks_of_databases_run_on_it() -> None:
    other = '[[benchmarks]]\nuses = "stress-ng"\n[[configurations]]\nname = "here"\n'
    plan = expand(study(HERE, POINT + other), BENCHMARKS)
    cells = {(row.intent.configuration_name, row.intent.benchmark.name) for row in plan.trials}
    assert cells == {("service", "point-select"), ("here", "point-select"), ("here", "stress-ng")}
    assert "stress-ng does not measure a database, and service is a managed database: skipped there" in map(
        str, plan.warnings
    )
    with pytest.raises(InputError, match="'stress-ng' does not measure a database, but every configuration is"):
        expand(study(HERE, POINT + '[[benchmarks]]\nuses = "stress-ng"\n'), BENCHMARKS)


def test_a_load_that_grows_with_cpus_that_nobody_knows_is_rejected_at_its_key() -> None:
    tpcc = (
        '[[benchmarks]]\nuses = "tpcc"\nfor = "{0}"\nparameters = {{ warehouses = 4, active_warehouses_per_cpu = 2 }}\n'
    )
    other = '[[configurations]]\nname = "here"\n'
    assert study(HERE, f"{tpcc.format('local')}\n{other}").benchmarks
    with pytest.raises(
        StudyError, match=r'active_warehouses_per_cpu: how many CPUs the managed database "service" has'
    ):
        study(HERE, f"{tpcc.format('local or managed')}\n{other}")


def test_an_edition_of_a_benchmark_of_machines_stands_beside_a_managed_database() -> None:
    fio = '[[benchmarks]]\nuses = "multi-stream"\nparameters = { edition = "cr2022" }\n'
    assert study(HERE, f'{POINT}{fio}[[configurations]]\nname = "here"\n').benchmarks


def test_the_study_of_2026_takes_a_managed_database_beside_its_machines() -> None:
    text = (ROOT / "studies" / "cloud-report-2026.toml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "studies" / "cloud-report-2026.md").read_text(encoding="utf-8")
    (more,) = [block for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL) if '"managed"' in block]
    read = load_study(text + more, "s.toml", BENCHMARKS)
    plan = expand(read, BENCHMARKS)
    mine = [row for row in plan.trials if row.intent.configuration["provider"] == "managed"]
    assert {row.intent.benchmark.name for row in mine} == {"tpcc-managed"}
    assert len(mine) == read.replicates
    assert plan.price_usd is not None


def test_its_hour_costs_what_the_study_says_and_the_load_machine_what_the_book_says() -> None:
    (service,) = study(ON_AWS).configurations
    load = quote(as_provided(service), 1)
    found = quote(service, 1)
    assert load.price_usd is not None
    assert found.price_usd == pytest.approx(2.0 + load.price_usd)
    assert str(found.basis).startswith("the database: on-demand list price of db.m8g.2xlarge, us-east-1")
    assert "its load machine: on-demand, us-east-1" in str(found.basis)
    (here,) = study(f'{HERE}\nprice_usd_per_hour = 2.0\nprice_basis = "a list, 2026-11-20"').configurations
    assert (quote(here, 3).price_usd, quote(here, 3).basis) == (6.0, "a list, 2026-11-20")
    (unknown,) = study(ON_AWS.replace("m6i.2xlarge", "m99.huge")).configurations
    assert quote(unknown, 1).price_usd is None
    assert quote(service.model_copy(update={"price_usd_per_hour": None}), 1).price_usd is None


def test_its_plan_makes_one_load_machine_for_each_trial_and_loads_the_data_once() -> None:
    read = study(ON_AWS, '[[benchmarks]]\nuses = "tpcc"\nparameters = { warehouses = 100 }\n')
    plan = planning.plan(read)
    bill = planning.bill(read, plan, planning.clusters(read, plan))
    assert bill.loads is not None
    assert (bill.loads.trials, bill.loads.loads, bill.loads.avoidable_at) == (6, 1, [])
    assert bill.total.creating.time_s == 6 * 240
    assert [one.clusters for one in bill.calendar] == [1, 6]
    (needs,) = planning.quotas(read, plan, 1, planning.clusters(read, plan))
    assert (needs.provider, needs.region, needs.machines, needs.vcpus) == (
        "aws",
        "us-east-1",
        1,
        {"Running On-Demand Standard instances": 8},
    )
    assert not any("loads its data set again" in str(warning) for warning in plan.warnings)
    assert {row.intent.disturbance for row in plan.trials} == {"record"}
    require_builds(read)


def test_what_the_trials_of_a_managed_database_depend_on_is_in_their_ids() -> None:
    def ids(text: str) -> set[str]:
        return {row.intent.id for row in expand(study(text), BENCHMARKS).trials}

    assert ids(ON_AWS) != ids(ON_AWS.replace("m6i.2xlarge", "m6i.4xlarge"))
    assert ids(ON_AWS) == ids(ON_AWS.replace("2.0", "3.0"))


@pytest.mark.parametrize("host", ["127.0.0.1", "service.example.com"])
def test_its_machine_was_not_observed_wherever_its_address_leads(host: str, tmp_path: Path) -> None:
    """A service is often reached through a proxy on the load machine, as Cloud SQL is."""
    machine = this_machine(tmp_path, cpus=(0,))
    database = Database(dsn=f"postgresql://me@{host}/bench")
    assert stated_conditions(database, Cluster("k", (machine,), machine, managed=True)) == [NOT_OBSERVED]
    lax = Database(system="mariadb", settings={"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "1"})
    assert "not durable: innodb_flush_log_at_trx_commit 2" in stated_conditions(lax, Cluster("k", (machine,), machine))
    assert CO_LOCATED in stated_conditions(Database(), Cluster("k", (machine,), machine))
    assert not Cluster("k", (machine,), machine, managed=True).shares_cpus


def test_a_configuration_that_is_not_managed_is_left_as_it_is() -> None:
    one = Configuration(name="a", provider="aws")
    assert as_provided(one) is one
