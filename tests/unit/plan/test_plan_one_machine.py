"""A benchmark of one machine gets one: no idle machines are rented beside it, and its trials stay the same trials."""

from nephoscope.app.stages.planning import bill, load, plan
from nephoscope.model.records import PlannedTrial
from nephoscope.prices.quote import quote
from nephoscope.study.machines import first_machine
from nephoscope.study.model import Configuration, Study

TEXT = """
name = "alone"
replicates = 2
placement = "PLACEMENT"

[[configurations]]
name = "m6i"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
cloud = { image = "ami-0123456789abcdef0", ingress = "203.0.113.7/32" }
database_machine = { type = "m6i.2xlarge", count = 3, volumes = [{ kind = "gp3", size = 1000 }] }
load_machine = { type = "m6i.2xlarge" }
database = { system = "cockroachdb", version = "22.1.6" }

[[benchmarks]]
uses = "fio"
parameters = { edition = "cr2022", raw_device = "volume" }

[[benchmarks]]
uses = "coremark"

[[benchmarks]]
uses = "request-response"

[[benchmarks]]
uses = "tpcc"
parameters = { dialect = "cockroachdb", isolation = "serializable", warehouses = 100 }
"""


def study(placement: str) -> Study:
    return load(TEXT.replace("PLACEMENT", placement), "alone.toml")


def machines(placement: str) -> dict[str, int]:
    """Benchmark -> machines that its trials are given."""
    return {row.intent.benchmark.name: given(row) for row in plan(study(placement)).trials}


def given(planned: PlannedTrial) -> int:
    found = Configuration.model_validate(planned.intent.configuration)
    return found.database_machine.count + (found.load_machine.count if found.load_machine else 0)


def test_a_trial_with_a_cluster_of_its_own_gets_no_more_machines_than_it_measures() -> None:
    assert machines("fresh") == {"fio": 1, "coremark": 1, "request-response": 4, "tpcc": 4}


def test_on_a_shared_cluster_machines_are_left_out_only_if_no_trial_measures_them() -> None:
    assert machines("per-replicate") == {"fio": 1, "coremark": 4, "request-response": 4, "tpcc": 4}, (
        "the volume of fio has no filesystem: its cluster is another one"
    )


def test_idle_machines_do_not_change_the_id_of_a_trial() -> None:
    alone, shared = (
        {row.intent.id: given(row) for row in plan(study(placement)).trials if row.intent.benchmark.name == "coremark"}
        for placement in ("fresh", "per-replicate")
    )
    assert {*alone.values()} == {1}
    assert {*shared.values()} == {4}
    assert alone.keys() == shared.keys()


def test_the_price_is_that_of_the_machine_with_its_volumes_and_the_parts_of_the_bill_add_up() -> None:
    asked = study("per-replicate")
    planned = plan(asked)
    per_hour_usd = quote(first_machine(asked.configurations[0]), 1).price_usd
    assert per_hour_usd is not None
    for row in planned.trials:
        if row.intent.benchmark.name == "fio":
            assert row.price_usd == per_hour_usd * row.expected_duration_s / 3600
    found = bill(asked, planned)
    assert found.total.total.usd is not None
    assert abs(found.total.total.usd - (planned.price_usd or 0)) < 1e-9
    hours = sum(given(row) * row.expected_duration_s for row in planned.trials)
    assert abs(found.machine_time_s - hours) < 1e-6


def test_hosts_that_are_there_anyway_stay() -> None:
    hosts = Configuration.model_validate({"name": "a", "provider": "local", "database_machine": {"count": 1}})
    assert first_machine(hosts) is hosts
