"""Data sets in object storage, on moto's S3, gcplocal's Cloud Storage and a small fake of Azure's blobs."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.commands.fleet import fixtures
from nephoscope.app.stages import data_sets
from nephoscope.app.stages.data_sets import Stores
from nephoscope.app.stages.planning import read_study
from nephoscope.model.errors import InputError
from nephoscope.prices.kept import objects_usd
from nephoscope.providers.aws.kept import S3
from nephoscope.providers.azure.kept import Blobs
from nephoscope.providers.cloud.data_sets import ObjectStorage, StoredObject, data_sets_of
from nephoscope.providers.gcp.kept import CloudStorage
from nephoscope.run.clock import FakeClock, SystemClock
from nephoscope.study.address import Bucket, bucket_of
from tests.support import fake_blobs, gcplocal_compute, moto_ec2

TPCC, KV = "nephoscope_tpcc_0123456789ab", "nephoscope_ycsb_load_ba9876543210"
OTHERS = ("sets/readme.txt", "sets/nephoscope_tpcc/x", "sets/nephoscope_tpcc_0123456789abc/x", f"elsewhere/{TPCC}/x")
"""Not ours, although some names look like it."""
HELD = {
    f"sets/{TPCC}/a/1": b"x" * 1000,
    f"sets/{TPCC}/BACKUP": b"yy",
    f"sets/{KV}/b c/ü": b"z",
    **dict.fromkeys(OTHERS, b"o"),
}
STUDY = """
name = "kept"
seed = 1
replicates = 1
[[configurations]]
name = "a"
provider = "ssh"
database_machine = {{ hosts = ["root@192.0.2.1"] }}
database = {{ system = {database} }}
[[benchmarks]]
uses = "openssl-speed"
"""


@dataclass
class Cloud:
    """Object storage that is played, with `HELD` in it."""

    bucket: Bucket
    address: str
    storage: ObjectStorage
    names: Callable[[], list[str]]
    """Of all objects that there are."""


@contextmanager
def aws() -> Iterator[Cloud]:
    import boto3

    with moto_ec2.moto_server() as url:
        client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **moto_ec2.KEYS)
        client.create_bucket(Bucket="kept")
        for name, body in HELD.items():
            client.put_object(Bucket="kept", Key=name, Body=body)

        def names() -> list[str]:
            return [one["Key"] for one in client.list_objects_v2(Bucket="kept")["Contents"]]

        address = "s3://kept/sets?AUTH=implicit"
        yield Cloud(Bucket("aws", "kept", "sets"), address, S3(FakeClock(), lambda: client), names)
        for name in names():
            client.delete_object(Bucket="kept", Key=name)
        client.delete_bucket(Bucket="kept")


@contextmanager
def gcp() -> Iterator[Cloud]:
    import requests

    with gcplocal_compute.gcplocal() as server:
        session = requests.Session()
        for name, body in HELD.items():
            session.post(f"{server.url}/upload/storage/v1/b/kept/o", params={"name": name}, data=body)

        def names() -> list[str]:
            return [one["name"] for one in session.get(f"{server.url}/storage/v1/b/kept/o").json().get("items", ())]

        storage = CloudStorage(FakeClock(), lambda: session, server.url)
        yield Cloud(Bucket("gcp", "kept", "sets"), "gs://kept/sets?AUTH=implicit", storage, names)


@contextmanager
def azure() -> Iterator[Cloud]:
    from azure.core import PipelineClient
    from azure.core.pipeline.policies import HeadersPolicy

    with fake_blobs.blob_storage() as storage:
        storage.held.update(HELD)

        def client(account: str) -> Any:
            assert account == "mine"
            return PipelineClient(storage.url, policies=[HeadersPolicy({"Authorization": "Bearer t"})])

        bucket = Bucket("azure", "container", "sets", "mine", holds_stores=True)
        address = "azure-stores://mine/container/sets?AUTH=implicit"
        yield Cloud(bucket, address, Blobs(FakeClock(), client), lambda: list(storage.held))


@pytest.fixture(params=[aws, gcp, azure], ids=lambda make: make.__name__)
def cloud(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    with request.param() as found:
        yield found


def test_data_sets_are_listed_with_size_and_age_and_deleted_by_name(cloud: Cloud) -> None:
    stores = Stores({cloud.bucket.provider: cloud.storage}, {})
    assert data_sets.places_of(cloud.address) == [cloud.bucket]
    found = asyncio.run(data_sets.kept([cloud.bucket], stores))
    assert [(one.name, one.size_bytes, len(one.objects)) for one in found.sets] == [(TPCC, 1002, 2), (KV, 1, 1)]
    rows = data_sets.rows_of(found.sets, SystemClock().unix_ms())
    assert all(0 <= row.age_days < 400 for row in rows)
    assert rows[0].usd_per_month == objects_usd(cloud.bucket.provider, 1002)
    assert "2 data sets" in data_sets.total(rows)

    with pytest.raises(InputError, match="there is no data set other; nothing was deleted"):
        data_sets.chosen(found, [TPCC, "other"])
    assert sorted(cloud.names()) == sorted(HELD)
    assert asyncio.run(data_sets.delete(data_sets.chosen(found, [TPCC]), stores)) == []
    assert sorted(cloud.names()) == sorted({f"sets/{KV}/b c/ü", *OTHERS})
    asyncio.run(data_sets.delete(found.sets, stores))  # the first one is gone already
    assert sorted(cloud.names()) == sorted(OTHERS)
    assert asyncio.run(data_sets.kept([cloud.bucket], stores)) == data_sets.Kept([], {})


def test_a_bucket_that_cannot_be_read_is_named_and_hides_no_other() -> None:
    with gcp() as google, aws() as amazon, fake_blobs.blob_storage() as refusing:
        from azure.core import PipelineClient

        refusing.refuses = True
        storages = {
            "gcp": google.storage,
            "aws": amazon.storage,
            "azure": Blobs(FakeClock(), lambda _: PipelineClient(refusing.url, policies=[])),
        }
        denied, missing = Bucket("azure", "container", "", "mine"), Bucket("aws", "missing", "")
        found = asyncio.run(data_sets.kept([denied, missing, google.bucket], Stores(storages, {})))
    assert [one.name for one in found.sets] == [TPCC, KV]
    assert list(found.unread) == ["azure mine/container", "aws missing"]
    assert "403" in found.unread["azure mine/container"]
    assert "NoSuchBucket" in found.unread["aws missing"]


def test_only_whole_names_in_the_folder_are_data_sets() -> None:
    objects = [StoredObject(name, len(body), 5) for name, body in HELD.items()]
    assert [one.name for one in data_sets_of(Bucket("aws", "kept", "sets"), objects)] == [TPCC, KV]
    assert [one.name for one in data_sets_of(Bucket("aws", "kept", "elsewhere"), objects)] == [TPCC]
    assert data_sets_of(Bucket("aws", "kept", ""), objects) == []


@pytest.mark.parametrize(
    ("address", "bucket"),
    [
        ("s3://b/a/c?AUTH=implicit", Bucket("aws", "b", "a/c")),
        ("gs://b", Bucket("gcp", "b", "")),
        ("azure-blob://c/f/?AZURE_ACCOUNT_NAME=me&AUTH=implicit", Bucket("azure", "c", "f", "me")),
        ("azure-stores://me/c/f?AUTH=implicit", Bucket("azure", "c", "f", "me", holds_stores=True)),
        ("azure-blob://c/f", None),
        ("azure-stores://me", None),
        ("nodelocal://1/nephoscope", None),
        ("s3:///a", None),
    ],
)
def test_addresses_of_buckets(address: str, bucket: Bucket | None) -> None:
    assert bucket_of(address) == bucket


@pytest.mark.parametrize("account", ["evil.example/", "evil.example%2F%23", "me%40evil.example", "a.b", "x%3A1", ""])
def test_an_account_that_would_be_another_host_is_no_bucket(account: str) -> None:
    """Its host is sent the user's token."""
    assert bucket_of(f"azure-blob://container/folder?AZURE_ACCOUNT_NAME={account}") is None


@pytest.mark.parametrize("host", ["a.b", "me@evil.example", "evil.example:1", ""])
def test_a_host_that_is_no_account_is_no_bucket(host: str) -> None:
    assert bucket_of(f"azure-stores://{host}/container/folder") is None


def test_an_object_whose_address_would_be_another_one_is_of_no_data_set() -> None:
    objects = [StoredObject(f"sets/{TPCC}/{path}", 1, 1) for path in ("../../payroll", "a/./b", "..", "a..b")]
    [found] = data_sets_of(Bucket("azure", "kept", "sets", "me"), objects)
    assert found.objects == (f"sets/{TPCC}/a..b",)


def test_the_command_reads_the_study_of_a_folder_and_deletes_what_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with gcp() as google:
        monkeypatch.setattr("nephoscope.app.wiring.object_storages", lambda _clock: {"gcp": google.storage})
        (tmp_path / "study.toml").write_text(STUDY.format(database=f'"cockroachdb", fixtures = "{google.address}"'))
        fixtures(str(tmp_path), as_json=True)
        assert [row["name"] for row in json.loads(capsys.readouterr().out)] == [TPCC, KV]
        said = data_sets.reminder(read_study(tmp_path / "study.toml"), "results/a")
        assert said == "data sets stay in gcp kept/sets; to list and delete them: nephoscope fixtures results/a"
        fixtures(str(tmp_path), delete=[KV])
        said = capsys.readouterr().out
        assert f"deleted {KV} in gcp kept/sets" in said
        assert "1 data set, 0.0 GiB" in said
        assert sorted(google.names()) == sorted({*HELD} - {f"sets/{KV}/b c/ü"})


def test_what_is_deleted_does_not_mix_with_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with gcp() as google:
        monkeypatch.setattr("nephoscope.app.wiring.object_storages", lambda _clock: {"gcp": google.storage})
        fixtures(google.address, delete=[KV], as_json=True)
        said = capsys.readouterr()
    assert [row["name"] for row in json.loads(said.out)] == [TPCC]
    assert f"deleted {KV} in gcp kept/sets" in said.err


class Refused:
    """An answer of Cloud Storage that is a fault of its own."""

    status_code, reason = 503, "Service Unavailable"

    def json(self) -> dict[str, Any]:
        return {"error": {"message": "try again", "errors": [{"reason": "backendError"}]}}


class Empty:
    """An answer of Cloud Storage: a bucket without objects."""

    status_code = 200

    def json(self) -> dict[str, Any]:
        return {}


def test_a_fault_of_the_cloud_is_asked_again() -> None:
    class Session:
        """Answers at the third request."""

        asked = 0

        def get(self, *_args: Any, **_named: Any) -> Any:
            self.asked += 1
            return Refused() if self.asked < 3 else Empty()

    session = Session()
    assert asyncio.run(CloudStorage(FakeClock(), lambda: session).objects(Bucket("gcp", "kept", ""))) == []
    assert session.asked == 3


def test_a_study_without_a_bucket_and_a_wrong_address_are_explained(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(database='"cockroachdb"'))
    assert data_sets.reminder(read_study(study), "results/a") == ""
    with pytest.raises(InputError, match="keeps data sets in object storage or snapshots"):
        data_sets.places_of(str(study))
    with pytest.raises(InputError, match="not an address of object storage"):
        data_sets.places_of("nodelocal://1/nephoscope")
    with pytest.raises(InputError, match="not an address"):
        data_sets.places_of("snapshots://aws")
