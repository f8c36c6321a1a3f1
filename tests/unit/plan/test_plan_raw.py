"""Raw disks and what uses them must fit before a plan is made."""

from typing import Any

import pytest

from nephoscope.app.stages import planning
from nephoscope.model.errors import InputError, StudyError
from nephoscope.study.machines import disks_of, left_raw
from nephoscope.study.model import Configuration

CLOUD = {
    "aws": 'region = "us-east-1"\nzone = "us-east-1a"\ncloud = { image = "ami-1", ingress = "203.0.113.7/32" }',
    "gcp": 'region = "us-east4"\nzone = "us-east4-a"\ncloud = { image = "projects/x/i", ingress = "203.0.113.7/32" }',
    "azure": 'region = "eastus"\nzone = "1"\ncloud = { image = "a:b:c:1.0", ingress = "203.0.113.7/32" }',
}
DATA, RAW = '{ kind = "gp3", size = 100 }', '{ kind = "gp3", size = 1000, use = "raw" }'
FIO = 'uses = "fio"\nparameters = { raw_device = "volume" }'
NAMED = 'uses = "fio"\nparameters = { raw_device = "/dev/nvme1n1", destroys_data_on = "/dev/nvme1n1" }'
AEROSPIKE = 'uses = "ycsb"\nparameters = { rows = 1000 }'
ON_VOLUME = 'system = "aerospike"\naerospike = { replication_factor = 1, device = "volume" }'


def planned(
    benchmark: str, *disks: str, more: str = "", provider: str = "aws", database: str = "", placement: str = "fresh"
) -> None:
    volumes = f", volumes = [{', '.join(disks)}]" if disks else ""
    text = f"""
name = "raw"
replicates = 1
placement = "{placement}"
[[configurations]]
name = "a"
provider = "{provider}"
{CLOUD.get(provider, "")}
database_machine = {{ type = "x.large"{volumes}{more} }}
[configurations.database]
{database}
[[benchmarks]]
{benchmark}
"""
    planning.plan(planning.load(text, "raw.toml"))


def test_raw_disks_that_fit_are_planned_on_every_cloud(subtests: pytest.Subtests) -> None:
    for provider in CLOUD:
        for benchmark, disks, more, database in [
            (FIO, [RAW], "", ""),
            (FIO, [RAW, DATA], "", ""),
            (FIO, [DATA], "", ""),
            (FIO, [DATA], ', local_ssds = 1, local_ssd_use = "raw", local_ssd_gib = 50', ""),
            (FIO, [], ", local_ssds = 1, local_ssd_gib = 50", ""),
            (FIO, [RAW, DATA], ', local_ssds = 1, local_ssd_use = "raw"', ""),
            ('uses = "tpcc"', [RAW, DATA], "", ""),
            ('uses = "stress-ng"', [RAW], "", ""),
            (AEROSPIKE, [RAW], "", ON_VOLUME),
            (NAMED, [], "", ""),
        ]:
            with subtests.test(provider=provider, benchmark=benchmark):
                planned(benchmark, *disks, more=more, provider=provider, database=database)


@pytest.mark.parametrize(
    ("benchmark", "disks", "given", "why"),
    [
        (FIO, [], {}, "fio on a uses a raw volume, but its machines have none; hint: give a volume"),
        (
            FIO,
            [DATA],
            {"placement": "per-configuration"},
            'get a filesystem at boot; hint: use `placement = "per-replicate"`',
        ),
        (NAMED, [DATA], {}, 'overwrites /dev/nvme1n1, but .* boot formats and mounts its disks; hint: write "volume"'),
        (NAMED, [RAW], {}, 'overwrites /dev/nvme1n1, but .* its disks are raw; hint: write "volume" instead'),
        (
            'uses = "tpcc"',
            [RAW],
            {},
            "tpcc on a needs a filesystem for its data, but all disks of its machines are raw",
        ),
        ('uses = "fio"', [RAW], {}, "fio on a needs a filesystem for its data"),
        (AEROSPIKE, [DATA], {"database": ON_VOLUME}, "ycsb on a uses a raw volume, but its machines have none"),
        (
            AEROSPIKE,
            [DATA],
            {"database": ON_VOLUME.replace('"volume"', '"/dev/sdb", destroys_data_on = "/dev/sdb"')},
            "ycsb on a overwrites /dev/sdb",
        ),
        (FIO, [RAW, '{ kind = "io2", size = 1000 }'], {}, "are both 1000 GiB, but a machine tells them apart by their"),
    ],
)
def test_a_pair_that_must_fail_is_refused(benchmark: str, disks: list[str], given: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        planned(benchmark, *disks, **given)


@pytest.mark.parametrize(
    ("disks", "more", "why"),
    [
        ([], ', local_ssd_use = "raw"', "there are no `local_ssds`; remove it"),
        ([], ", local_ssd_gib = 50", "there are no `local_ssds`; remove it"),
        ([DATA], ", local_ssds = 1", "the data folder is either on `volumes` or on local SSDs"),
        (['{ kind = "gp3", size = 1, use = "swap" }'], "", 'volumes.0..use: "swap" is not allowed'),
    ],
)
def test_keys_that_contradict_each_other_are_refused_with_their_line(disks: list[str], more: str, why: str) -> None:
    with pytest.raises(StudyError, match=rf"raw.toml:\d+: .*{why}"):
        planned(FIO, *disks, more=more)


def test_filling_the_volume_is_part_of_the_hours_so_that_no_machine_ends_itself_meanwhile() -> None:
    def hours(volume: str, benchmark: str = FIO) -> float:
        text = f'name = "s"\nreplicates = 1\n[[configurations]]\nname = "a"\nprovider = "aws"\n{CLOUD["aws"]}\n'
        text += f'database_machine = {{ type = "x.large", volumes = [{volume}] }}\n[[benchmarks]]\n{benchmark}\n'
        return planning.plan(planning.load(text, "s.toml")).expected_duration_s / 3600

    small, large = '{ kind = "gp3", size = 1 }', '{ kind = "gp3", size = 2500 }'
    assert hours(large) - hours(small) == pytest.approx(2499 * 1024 / 200 / 3600)
    fast = hours('{ kind = "gp3", size = 2500, throughput = 1000 }') - hours('{ kind = "gp3", size = 1 }')
    assert fast == pytest.approx((2500 * 1024 / 1000 - 1024 / 200) / 3600)
    assert hours(large, 'uses = "fio"') == hours(small.replace("1 }", "9 }"), 'uses = "fio"')


def hours_with_local_ssd(provider: str, machine: str, more: str = "", benchmark: str = FIO) -> tuple[float, str]:
    """Of the plan, and the id of its trial."""
    text = f'name = "s"\nreplicates = 1\n[[configurations]]\nname = "a"\nprovider = "{provider}"\n{CLOUD[provider]}\n'
    text += f'database_machine = {{ type = "{machine}", local_ssds = 1{more} }}\n[[benchmarks]]\n{benchmark}\n'
    (trial,) = planning.plan(planning.load(text, "s.toml")).trials
    return trial.expected_duration_s / 3600, trial.intent.id


def test_filling_a_local_ssd_is_part_of_the_hours_and_its_size_of_no_trial_id() -> None:
    small, first = hours_with_local_ssd("aws", "i4i.large", ", local_ssd_gib = 1")
    large, second = hours_with_local_ssd("aws", "i4i.large", ", local_ssd_gib = 2001")
    assert large - small == pytest.approx(2000 * 1024 / 200 / 3600)
    assert first == second
    known, stated = (hours_with_local_ssd("gcp", "n2-standard-8", more)[0] for more in ("", ", local_ssd_gib = 375"))
    assert known == stated
    assert known > 375 * 1024 / 200 / 3600
    hours_with_local_ssd("aws", "i4i.large", benchmark='uses = "fio"')


@pytest.mark.parametrize(("provider", "machine"), [("aws", "i4i.large"), ("gcp", "z3-highmem-88")])
def test_a_local_ssd_of_unknown_size_is_not_filled(provider: str, machine: str) -> None:
    with pytest.raises(InputError, match=f"fills a local SSD of {machine}.*hint: set `database_machine.local_ssd_gib`"):
        hours_with_local_ssd(provider, machine)


def test_only_a_cloud_creates_raw_volumes() -> None:
    with pytest.raises(InputError, match="nephoscope creates raw volumes only on clouds; hint: name the device"):
        planning.plan(
            planning.load(f'name = "s"\n[[configurations]]\nname = "here"\n[[benchmarks]]\n{FIO}\n', "s.toml")
        )


def test_a_trial_on_a_raw_volume_leaves_every_disk_raw_unless_one_is() -> None:
    def disks(*volumes: dict[str, Any], **more: Any) -> tuple[int, int]:
        machine = {"type": "x.large", "volumes": list(volumes) or None, **more}
        given = Configuration.model_validate({"name": "a", "provider": "aws", "database_machine": machine})
        left = left_raw(given).database_machine
        return disks_of(left, raw=True), disks_of(left, raw=False)

    gp3 = {"kind": "gp3", "size": 100}
    assert disks({**gp3, "count": 2}) == (2, 0)
    assert disks(gp3, {**gp3, "size": 1000, "use": "raw"}) == (1, 1)
    assert disks(local_ssds=2) == (2, 0)
    assert disks() == (0, 0)
