"""What a plan's hours, dollars and quotas are, by chapter and region."""

import re
from dataclasses import replace
from math import isclose

import pytest

from nephoscope.app.planned import WIDTH, bill_lines, placement_lines, quota_lines, stop_lines, summary, transfer_words
from nephoscope.app.stages.advice import unpriced_transfer
from nephoscope.app.stages.planning import bill, load, plan, quotas, saved_by_sharing
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.subjects import Subject
from nephoscope.plan.bill import FULL_BLOCKS, Bill, kept_data
from nephoscope.plan.preparation import LOAD_BYTES_PER_S, MAKE_S, RESTORE_BYTES_PER_S, HasDataSet
from nephoscope.plan.quotas import RegionNeeds
from nephoscope.prices.book import shipped
from nephoscope.stats.sequential import FIRST_LOOK
from nephoscope.study.model import Study

TEXT = """
name = "clouds"
replicates = 4
PLACEMENT
clouds.aws = { image = "ami-1", ingress = "203.0.113.7/32", identity = "profile" }
clouds.azure = { image = "a:b:c:1", ingress = "203.0.113.7/32", reach = "private", subnet = "/subscriptions/s/subnet" }
clouds.gcp = { image = "projects/p/global/images/i", ingress = "203.0.113.7/32", identity = "a@p" }

[defaults]
database = { system = "cockroachdb", version = "22.1.6" }

[[configurations]]
name = "m6i-gp3"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
database_machine = { type = "m6i.2xlarge", count = 3, volumes = [{ kind = "gp3", size = 1000, iops = 8000 }] }
load_machine = { type = "c5.9xlarge" }
database.fixtures = "s3://bucket/sets?AUTH=implicit"

[[configurations]]
name = "m6i-io2"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
database_machine = { type = "m6i.8xlarge", count = 3, volumes = [{ kind = "io2", size = 2500, iops = 16000 }] }
load_machine = { type = "m6i.8xlarge" }
database.fixtures = "s3://bucket/sets?AUTH=implicit"

[[configurations]]
name = "d8s"
provider = "azure"
region = "eastus"
zone = "2"
database_machine = { type = "Standard_D8s_v5", count = 3, volumes = [{ kind = "Ultra Disk", size = 1000, iops = 16000 }] }
load_machine = { type = "Standard_D8s_v5" }

[[configurations]]
name = "n2"
provider = "gcp"
region = "us-east4"
zone = "us-east4-c"
database_machine = { type = "n2-standard-16", count = 3, local_ssds = 2 }
load_machine = { type = "n1-standard-16" }
database.fixtures = "gs://bucket/sets?AUTH=implicit"

[[benchmarks]]
uses = "tpcc"
parameters = { edition = "cr2022", dialect = "cockroachdb", isolation = "serializable", active_warehouses = 1200, warehouses = 2000 }

[[benchmarks]]
uses = "coremark"
configurations = ["m6i-gp3", "n2"]
"""  # noqa: E501


def study(placement: str = "fresh") -> Study:
    text = TEXT.replace("PLACEMENT", f'placement = "{placement}"')
    return load(text, "clouds.toml")


@pytest.fixture(scope="module")
def found() -> Bill:
    return bill(study(), plan(study()))


def needed(clusters: int, placement: str = "fresh") -> dict[str, RegionNeeds]:
    return {one.provider: one for one in quotas(study(placement), plan(study(placement)), clusters)}


def test_the_parts_add_up_to_the_plan(found: Bill) -> None:
    planned = plan(study())
    assert [row.chapter for row in found.chapters] == ["oltp", "cpu"] or [row.chapter for row in found.chapters] == [
        "cpu",
        "oltp",
    ]
    assert found.total.trials == len(planned.trials) == 4 * (4 + 2)
    for rows in (found.chapters, found.benchmarks):
        assert isclose(sum(row.total.time_s for row in rows), planned.expected_duration_s)
        assert isclose(sum(row.total.usd or 0 for row in rows), planned.price_usd or 0)
    assert found.total.creating.time_s == MAKE_S * len(planned.trials)
    cpu = next(row for row in found.chapters if row.chapter == "cpu")
    assert cpu.loading.time_s == 0
    assert cpu.measuring.time_s > 0


def test_data_are_loaded_once_for_each_bucket_and_again_where_there_is_none(found: Bill) -> None:
    loads = found.loads
    assert loads is not None
    assert (loads.trials, loads.loads) == (16, 1 + 1 + 4), "aws, gcp, and each trial on azure"
    oltp = next(row for row in found.chapters if row.chapter == "oltp")
    load_s = oltp.loading.time_s / (loads.loads + loads.trials * LOAD_BYTES_PER_S / RESTORE_BYTES_PER_S)
    assert isclose(loads.saved.time_s, 10 * load_s)
    assert isclose(loads.avoidable.time_s, 3 * load_s), "all loads on azure but the first"
    assert loads.avoidable_at == ["azure"]
    kept = bill(study("per-configuration"), plan(study("per-configuration")))
    assert kept.loads is not None
    assert kept.loads.loads == 1 + 1 + 1
    assert kept.total.creating.time_s == 4 * MAKE_S


def test_stopping_early_saves_most_of_the_fourth_block(found: Bill) -> None:
    assert found.decided is not None
    whole = found.total.total
    assert found.decided.trials == round(18 + 0.25 * 6)
    assert isclose(found.decided.expected.time_s + found.decided.saved.time_s, whole.time_s)
    (line, *_) = stop_lines(plan(study()), found)
    assert line.startswith('stop = "decided" would save about ')


def test_every_benchmark_of_a_database_has_a_data_set_that_a_plan_counts() -> None:
    """Also those that drive the workload of another benchmark."""
    for benchmark in BENCHMARKS.values():
        if benchmark.subject is Subject.DATABASE:
            assert isinstance(benchmark, HasDataSet), benchmark.name
            assert benchmark.fixture_bytes(benchmark.parameters.model_validate({})) > 0, benchmark.name


def test_faults_are_inflicted_on_the_data_set_of_kv() -> None:
    faults, kv = BENCHMARKS["adversity"], BENCHMARKS["kv"]
    assert isinstance(faults, HasDataSet)
    assert isinstance(kv, HasDataSet)
    of_faults = faults.parameters.model_validate({"parameters": {"rows": 5_000, "read_percent": 50}})
    of_kv = kv.parameters.model_validate({"rows": 5_000})
    assert faults.fixture_bytes(of_faults) == kv.fixture_bytes(of_kv)
    assert faults.fixture_name(of_faults, 1) == kv.fixture_name(of_kv, 1), "loaded once for both"


def test_quotas_are_those_of_the_largest_clusters() -> None:
    one = needed(1)
    standard = "Running On-Demand Standard instances"
    assert one["aws"].vcpus == {standard: 4 * 32}
    assert one["aws"].addresses == 4
    assert [(kind.kind, kind.count, kind.size, kind.iops) for kind in one["aws"].volumes] == [
        ("gp3", 3, 3000, 24_000),
        ("io2", 3, 7500, 48_000),
    ]
    assert one["azure"].vcpus == {"DSv5": 32}
    assert one["azure"].addresses == 0, "reached from inside"
    assert one["gcp"].vcpus == {"CPUS": 16, "N2_CPUS": 48}
    assert [(kind.kind, kind.count, kind.size) for kind in one["gcp"].volumes] == [("local SSD", 6, 2250)]
    assert needed(3)["aws"].vcpus == {standard: 3 * 4 * 32}
    assert needed(99)["aws"].vcpus == {standard: 4 * 128 + 8 * (3 * 8 + 36)}, "no more clusters than trials"
    assert needed(3, "per-configuration")["aws"].vcpus == {standard: 128 + 60}


def test_spot_machines_have_quotas_of_their_own_on_aws_and_azure() -> None:
    spot = load(
        TEXT.replace("PLACEMENT", "").replace('ingress = "203.0.113.7/32"', 'spot = true, ingress = "203.0.113.7/32"'),
        "spot.toml",
    )
    vcpus = {one.provider: one.vcpus for one in quotas(spot, plan(spot), 1)}
    assert vcpus == {
        "aws": {"All Standard Spot Instance Requests": 128},
        "azure": {"Total Regional Low-priority vCPUs": 32},
        "gcp": {"CPUS": 16, "N2_CPUS": 48},
    }


def test_sharing_machines_is_advised_only_where_it_saves_with_the_saving() -> None:
    fresh = study()
    planned = plan(fresh)
    saved = saved_by_sharing(fresh, planned, scale=None, part=None)
    assert saved is not None
    other = plan(study("per-replicate"))
    assert isclose(saved.time_s, planned.expected_duration_s - other.expected_duration_s)
    (line, *_) = placement_lines(saved)
    assert re.match(r'placement = "per-replicate" would save \d.* h and \$\d', line)
    single = fresh.model_copy(update={"benchmarks": fresh.benchmarks[1:]})
    assert saved_by_sharing(single, plan(single), scale=None, part=None) is None, "one benchmark shares with none"
    shared = study("per-replicate")
    assert saved_by_sharing(shared, other, scale=None, part=None) is None
    assert not [*placement_lines(None)]


def test_it_fits_a_terminal(found: Bill) -> None:
    planned = plan(study())
    needs = quotas(study(), planned, 24)
    lines = [*bill_lines(found), *stop_lines(planned, found), *quota_lines(needs, 24)]
    assert max(map(len, lines)) <= WIDTH
    text = " ".join(line.strip() for line in lines)
    assert "dollars: on-demand prices of machines and their volumes in us-east-1, eastus, us-east4" in text
    twice = replace(found, listed_in=["us-east-1", "us-west-2"], stated=[])
    assert "dollars: on-demand prices of machines and their volumes in us-east-1, us-west-2" in [*bill_lines(twice)]
    assert "loading data takes the most" in text
    assert "16 trials need a loaded data set. 6 of them load it; the others restore it, which saves" in text
    assert "vCPUs of DSv5" in text
    assert f"${found.total.total.usd:,.0f}" in text


FAR = """
name = "far"
replicates = 2
clouds.aws = { image = "ami-1", ingress = "203.0.113.7/32" }

[defaults]
database = { system = "cockroachdb", version = "22.1.6" }
database_machine = { type = "m6i.2xlarge", volumes = [{ kind = "gp3", size = 1000, iops = 8000 }] }

[[matrix]]
name = "far"
provider = "aws"
axes.zone = ["us-east-1a"]
zone = "{zone}"
load_machine = { type = "m6i.2xlarge", region = "us-west-2", zones = ["us-west-2a"], image = "ami-2" }

[[matrix]]
name = "zones"
provider = "aws"
axes.zone = ["us-east-1a"]
zone = "{zone}"
database_machine = { count = 3, zones = ["us-east-1a", "us-east-1b", "us-east-1c"] }
load_machine = { type = "m6i.2xlarge" }

[[benchmarks]]
uses = "throughput"
configurations = ["far"]
parameters = { duration_s = 100 }

[[benchmarks]]
uses = "request-response"
configurations = ["far"]
parameters = { duration_s = 100 }

[[benchmarks]]
uses = "coremark"

[[benchmarks]]
uses = "kv"
configurations = ["zones"]
parameters = { dialect = "cockroachdb", isolation = "serializable" }
"""


def test_transfer_stands_beside_the_dollars_at_most() -> None:
    far = load(FAR, "far.toml")
    planned = plan(far)
    found = bill(far, planned)
    regions, zones = sorted(found.transfers, key=lambda one: one.way)
    assert (regions.way, regions.trials) == ("between regions", 4)
    assert {regions.here, regions.there} == {"us-east-1", "us-west-2"}
    expected_s = BENCHMARKS["throughput"].expected_duration_s(
        BENCHMARKS["throughput"].parameters.model_validate({"duration_s": 100})
    )
    full = 2 * expected_s * 10e9 / 8
    assert full < regions.count_bytes < 1.01 * full, "request and response send next to nothing"
    assert regions.usd is not None
    assert isclose(regions.usd, regions.count_bytes / 1e9 * 0.02)
    assert (zones.way, zones.trials, zones.both_ends) == ("between zones", 2, True)
    sent_s = sum(one.total.time_s - one.creating.time_s for one in found.benchmarks if one.chapter == "kv")
    assert isclose(zones.count_bytes, sent_s * 1e9 / 8)
    assert zones.usd is not None
    assert isclose(zones.usd, 2 * zones.count_bytes / 1e9 * 0.01)
    assert isclose(found.total.total.usd or 0, planned.price_usd or 0), "no dollar of it is in the plan"
    text = " ".join(line.strip() for line in bill_lines(found))
    assert f"aws, between us-east-1 and us-west-2, 4 trials: ${regions.usd:.2f} ($0.02 per GB)" in text
    assert "aws, between zones of us-east-1, 2 trials: " in text
    assert "($0.01 per GB, at both ends)" in text
    words = transfer_words(found.transfers)
    assert words == f"plus at most ${regions.usd + zones.usd:.2f} for transfer"
    assert [*summary(planned, words)][1].endswith(f", {words}")
    assert unpriced_transfer(found.transfers) == []
    elsewhere = load(FAR.replace("us-west-2", "mx-central-1"), "far.toml")
    lacking = bill(elsewhere, plan(elsewhere))
    assert transfer_words(lacking.transfers).endswith(
        f"${zones.usd:.2f} for transfer (aws, between us-east-1 and mx-central-1: no price)"
    )
    (warning,) = unpriced_transfer(lacking.transfers)
    assert warning.startswith("aws mx-central-1: transfer between regions: not in the price book: neither this plan")
    near = load(FAR.partition("[[benchmarks]]")[0] + '[[benchmarks]]\nuses = "coremark"\n', "near.toml")
    assert transfer_words(bill(near, plan(near)).transfers) == "", "nothing is sent on those ways"
    unknown = " ".join(line.strip() for line in bill_lines(lacking))
    assert "4 trials: unknown: aws mx-central-1: transfer between regions: not in the price book" in unknown


def test_machine_hours_stand_beside_cluster_hours(found: Bill) -> None:
    by_name = {row.chapter: row.total.time_s for row in found.chapters}
    assert isclose(found.machine_time_s, 4 * by_name["oltp"] + by_name["cpu"]), "three and a load machine, or one"
    text = " ".join(line.strip() for line in bill_lines(found))
    cluster_h, machine_h = found.total.total.time_s / 3600, found.machine_time_s / 3600
    assert f"cluster hours: {cluster_h:,.0f} h in all; machine hours: {machine_h:,.0f} h" in text


def test_data_sets_that_stay_are_priced_once_for_each_bucket(found: Bill) -> None:
    tpcc = BENCHMARKS["tpcc"]
    assert isinstance(tpcc, HasDataSet)
    used = next(row.intent.benchmark for row in plan(study()).trials if row.intent.benchmark.uses == "tpcc")
    size_bytes = tpcc.fixture_bytes(tpcc.parameters.model_validate(used.parameters))
    assert [(one.where, one.data_sets, one.size_bytes) for one in found.kept] == [
        ("aws bucket/sets", 1, size_bytes),
        ("gcp bucket/sets", 1, size_bytes),
    ]
    assert found.kept[0].usd_per_month is not None
    assert isclose(found.kept[0].usd_per_month, 0.023 * size_bytes / 2**30)
    text = " ".join(line.strip() for line in bill_lines(found))
    assert "until `nephoscope fixtures` deletes them" in text
    assert (
        f"aws bucket/sets: 1 data set, {size_bytes / 2**30:,.0f} GiB, ${found.kept[0].usd_per_month:.2f} a month"
        in text
    )


def test_stores_hold_every_copy_and_fit_clusters_of_one_size() -> None:
    [one] = [one for one in study().configurations if one.name == "d8s"]
    stores = one.database.model_copy(update={"fixtures": "azure-stores://me/sets?AUTH=implicit"})
    three = one.model_copy(update={"database": stores})
    nine = three.model_copy(update={"database_machine": three.database_machine.model_copy(update={"count": 9})})
    [kept] = kept_data([(three, 10), (three, 10), (nine, 10), (nine, 0), (one, 10)], shipped())
    assert (kept.where, kept.data_sets, kept.size_bytes) == ("azure me/sets", 2, 60)


def test_without_prices_there_are_hours_alone(found: Bill) -> None:
    row = found.total
    free = replace(
        row, **{part: replace(getattr(row, part), usd=None) for part in ("creating", "loading", "measuring")}
    )
    text = "\n".join(
        bill_lines(replace(found, total=free, chapters=[free], listed_in=[], stated=[], loads=None, kept=[]))
    )
    assert "$" not in text
    assert "of the hours" in text


def test_the_blocks_in_full_are_those_before_the_first_look() -> None:
    assert FULL_BLOCKS == FIRST_LOOK
