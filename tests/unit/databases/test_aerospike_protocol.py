"""Aerospike's configuration file by version, and its info protocol: pure parts, held against what is documented."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.benchmarks.load.spec import AerospikeTarget
from nephoscope.databases.aerospike import config, info
from nephoscope.databases.base import Upkeep
from nephoscope.databases.upkeep import together
from nephoscope.model.errors import DatabaseFailed, InputError, OutputUnreadable, ToolFailed
from nephoscope.model.units import GIB, MIB
from nephoscope.study.aerospike import Aerospike, against_setting
from nephoscope.study.model import Database as DatabaseSettings
from tests.support import fake_asd

ADDRESSES = ("192.0.2.1", "192.0.2.2", "192.0.2.3")
PLACE = config.ServerLayout("/data/aerospike", "192.0.2.2", 2, 12 * GIB, None, 40 * GIB)

WRITTEN = """\
service {
	cluster-name nephoscope
	node-id a2
	min-cluster-size 3
	proto-fd-max 1024
	work-directory /data/aerospike
}
logging {
	console {
		context any info
	}
}
mod-lua {
	user-path /data/aerospike/lua
}
network {
	service {
		address 192.0.2.2
		port 22300
		disable-localhost true
	}
	fabric {
		address 192.0.2.2
		port 22301
	}
	heartbeat {
		mode mesh
		port 22302
		mesh-seed-address-port 192.0.2.1 22302
		mesh-seed-address-port 192.0.2.2 22302
		mesh-seed-address-port 192.0.2.3 22302
		interval 150
		timeout 10
		address 192.0.2.2
	}
}
namespace ssd {
	replication-factor 2
	memory-size 12884901888
	storage-engine device {
		device /dev/nvme1n1
		write-block-size 1048576
		defrag-lwm-pct 55
	}
}
"""
"""The shape of the file that the public qualification used (memory, device, block size, two copies), for 6.4."""


def build(version: str = "8.1.2.0", edition: str = "Community") -> config.Build:
    return config.build_of(f"Aerospike {edition} Edition build {version}\n")


def database(own: Aerospike | None = None, settings: dict[str, str] | None = None) -> DatabaseSettings:
    return DatabaseSettings(system="aerospike", aerospike=own, settings=settings or {})


def test_the_file_of_the_published_qualification() -> None:
    own = Aerospike(namespace="ssd", device="/dev/nvme1n1", destroys_data_on="/dev/nvme1n1", memory_gib=12)
    layout = config.ServerLayout("/data/aerospike", "192.0.2.2", 2, 12 * GIB, "/dev/nvme1n1", 0)
    settings = database(own, {"namespace.storage-engine.defrag-lwm-pct": "55"})
    assert config.configuration(build("6.4.0.34"), layout, ADDRESSES, settings) == WRITTEN


@pytest.mark.parametrize("text", ["6.0.0.10", "6.4.0.34", "7.0.0.26", "7.1.0.23", "7.2.0.17", "8.0.0.15", "8.1.2.0"])
def test_every_version_is_told_the_keys_that_it_has(text: str) -> None:
    version = build(text).version
    written = config.configuration(build(text), PLACE, ADDRESSES, database())
    told = fake_asd.parse(written, version)
    storage = told["namespace"]["storage-engine"]
    assert storage["file"] == ["/data/aerospike/data/namespace.dat"]
    assert storage["direct-files"] == "true"
    assert ("memory-size" in told["namespace"]) == (version < (7, 0))
    assert ("indexes-memory-budget" in told["namespace"]) == (version >= (7, 1))
    assert ("flush-size" in storage) == (version >= (7, 1))
    assert ("address" in told["network"]["heartbeat"]) == (version < (8, 1))
    assert ("admin" in told["network"]) == (version >= (8, 1))


def test_a_rack_is_a_zone_and_the_community_edition_is_not_told() -> None:
    place = replace(PLACE, rack=2)
    enterprise = config.namespace_of(build(edition="Enterprise"), place, 3, database())
    assert enterprise["rack-id"] == "2"
    assert "rack-id" not in config.namespace_of(build(edition="Enterprise"), PLACE, 3, database())
    assert "rack-id" not in config.namespace_of(build(), place, 3, database())


def test_what_it_takes_for_a_setting_has_its_place() -> None:
    settings = {"service.service-threads": "8", "network.fabric.send-threads": "4", "namespace.default-ttl": "30d"}
    told = fake_asd.parse(config.configuration(build(), PLACE, ADDRESSES, database(settings=settings)), (8, 1))
    assert told["service"]["service-threads"] == "8"
    assert told["network"]["fabric"]["send-threads"] == "4"
    assert told["namespace"]["default-ttl"] == "30d"
    with pytest.raises(InputError, match="its name contains a space or a brace"):
        config.configuration(build(), config.ServerLayout("/a b", "h", 1, 1, None, 1), ADDRESSES, database())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("service.service-threads", "8", ""),
        ("namespace.storage-engine.defrag-sleep", "500", ""),
        ("nsup-period", "120", "is not a setting of Aerospike's configuration file"),
        ("logging.console", "x", "is not a setting"),
        ("namespace.replication-factor", "3", "is set by nephoscope"),
        ("network.service.port", "3000", "is set by nephoscope"),
        ("namespace.default-ttl", "1 }\nnamespace other {", "must be words on one line"),
        ("namespace.default-ttl", "", "must be words on one line"),
    ],
)
def test_settings_that_have_no_place_are_refused(name: str, value: str, words: str) -> None:
    assert (words in against_setting(name, value)) if words else not against_setting(name, value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"device": "/dev/sdb"}, "you must name it twice"),
        ({"destroys_data_on": "/dev/sdb"}, "you must name it twice"),
        ({"device": "/dev/sdb", "destroys_data_on": "/dev/sdb", "disk_gib": 4}, "remove one of them"),
        ({"write_block_kib": 1000}, "must be a power of two"),
        ({"device": "/dev/sdb; rm", "destroys_data_on": "/dev/sdb; rm"}, "pattern"),
    ],
)
def test_storage_that_does_not_fit_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Aerospike(**changes)


def test_versions() -> None:
    assert str(build("6.4.0.34", "Enterprise")) == "Aerospike Enterprise 6.4.0.34"
    for said in ("Aerospike Community Edition build 5.7.0.9", "Aerospike Community Edition build 9.0.0.1"):
        with pytest.raises(DatabaseFailed, match="is not supported"):
            config.build_of(said)
    with pytest.raises(DatabaseFailed, match="which is not a version"):
        config.build_of("redis-server 7")


def test_what_an_edition_cannot_do_is_refused_before_it_is_started() -> None:
    committed = Aerospike(commit_to_device=True)
    config.require_fit(build(edition="Enterprise"), committed, 9)
    with pytest.raises(InputError, match="needs the Enterprise Edition"):
        config.require_fit(build(), committed, 3)
    with pytest.raises(InputError, match="clusters of at most 8 servers, not 9"):
        config.require_fit(build(), Aerospike(), 9)
    with pytest.raises(InputError, match="no limit for a namespace's index"):
        config.require_fit(build("7.0.0.26"), Aerospike(memory_gib=1), 3)
    config.require_fit(build("7.1.0.23"), Aerospike(memory_gib=1), 3)


def test_data_files_stand_for_each_other_unless_the_namespace_differs() -> None:
    def of(settings: DatabaseSettings, text: str = "8.1.2.0") -> str:
        return config.identity(build(text), [PLACE], settings)

    same = of(database())
    assert of(database(settings={"service.service-threads": "8"}).model_copy(update={"connections": 99})) == same
    others = [database(Aerospike(namespace="other")), database(Aerospike(write_block_kib=128))]
    others += [database(settings={"namespace.index-stage-size": "128M"})]
    assert len({same, of(database(), "8.1.1.0"), *map(of, others)}) == 5


def test_addresses_of_all_servers_are_the_load_generators_target() -> None:
    dsn = config.dsn(["192.0.2.1", "2001:db8::1"], "test")
    assert dsn == "aerospike://192.0.2.1:22300,[2001:db8::1]:22300/test"
    target = AerospikeTarget.of(dsn)
    assert (target.hosts, target.namespace) == (["192.0.2.1:22300", "[2001:db8::1]:22300"], "test")
    assert AerospikeTarget.of(f"{dsn}/mine").set == "mine"


def test_durability_is_a_stated_condition() -> None:
    def durability(servers: int, level: str = "off", **own: object) -> str:
        settings = {"namespace.write-commit-level-override": level}
        asked = DatabaseSettings(system="aerospike", settings=settings, aerospike=Aerospike.model_validate(own))
        return config.durability(asked, servers)

    assert durability(3).startswith("acknowledged when 2 of 2 copies are in memory; flushed")
    assert durability(1, commit_to_device=True) == "acknowledged when its only copy is on its device"
    assert durability(3, "master").startswith("acknowledged when the master copy of 2 copies is in memory; flushed")
    assert durability(3, "master", commit_to_device=True).endswith("the master copy of 2 copies is on its device")
    assert durability(1, "master").startswith("acknowledged when its only copy is in memory")


def message(*lines: str) -> bytes:
    body = "".join(f"{line}\n" for line in lines).encode()
    return b"\x02\x01" + len(body).to_bytes(6, "big") + body


def test_a_request_is_a_header_and_lines() -> None:
    assert info.request(["status", "build"]) == b"\x02\x01\x00\x00\x00\x00\x00\x0dstatus\nbuild\n"
    assert info.answers(message("status\tok", "build\t8.1.2.0"), ["status", "build"]) == ["ok", "8.1.2.0"]
    assert info.answers(message("namespaces\t"), ["namespaces"]) == [""]


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        (b"", "not an info message"),
        (b"HTTP/1.1 400 Bad Request\r\n", "not an info message"),
        (b"\x02\x03" + message("status\tok")[2:], "not an info message"),
        (message("status\tok")[:-1], "cut off: 9 bytes of 10"),
        (message("status\tok") + b"x", "cut off: 11 bytes of 10"),
        (message("build\t8"), "does not match the commands status"),
        (message("status\tok", "build\t8"), "does not match the commands status"),
    ],
)
def test_another_answer_is_refused(damaged: bytes, words: str) -> None:
    with pytest.raises(OutputUnreadable, match=words):
        info.answers(damaged, ["status"])


@given(st.binary(max_size=64))
def test_any_bytes_are_an_answer_or_refused(garbage: bytes) -> None:
    for head in (b"", b"\x02\x01" + len(garbage).to_bytes(6, "big")):
        try:
            found = info.answers(head + garbage, ["status"])
        except OutputUnreadable:
            continue
        assert len(found) == 1


GOOD = {
    "migrate_tx_partitions_remaining": "0",
    "migrate_rx_partitions_remaining": "0",
    "dead_partitions": "0",
    "unavailable_partitions": "0",
    "evicted_objects": "0",
    "stop_writes": "false",
    "clock_skew_stop_writes": "false",
    "hwm_breached": "false",
}


def said(**changes: str) -> list[str]:
    namespace = ";".join(f"{name}={value}" for name, value in {**GOOD, **changes}.items())
    return ["cluster_size=3;cluster_key=8A0F2;uptime=3", f"ns_cluster_size=3;{namespace}"]


def test_a_good_server_is_whole_and_has_no_trouble() -> None:
    found = info.state(said())
    assert found.whole(3)
    assert not found.whole(2)
    assert found.trouble == ""
    assert str(found).startswith("cluster 8A0F2 of 3, partitions 0 to migrate, 0 dead, 0 unavailable, writes taken")


@pytest.mark.parametrize(
    ("changes", "whole", "trouble"),
    [
        ({"migrate_tx_partitions_remaining": "7"}, False, ""),
        ({"migrate_rx_partitions_remaining": "7"}, False, ""),
        ({"unavailable_partitions": "7"}, False, ""),
        ({"dead_partitions": "7"}, False, "7 of its partitions are dead"),
        ({"stop_writes": "true"}, True, "it rejects writes: memory or storage is too full"),
        ({"clock_skew_stop_writes": "true"}, True, "it rejects writes: the servers' clocks differ"),
        ({"evicted_objects": "7"}, True, "7 records were evicted"),
        ({"hwm_breached": "true"}, True, ""),
    ],
)
def test_what_is_wrong_with_a_server_is_said(changes: dict[str, str], whole: bool, trouble: str) -> None:
    found = info.state(said(**changes))
    assert (found.whole(3), found.trouble) == (whole, trouble)
    assert str(found) != str(info.state(said())), "before and after a trial it would look the same"


@pytest.mark.parametrize("name", list(GOOD))
def test_statistics_that_lack_a_number_are_refused(name: str) -> None:
    for changed in ({name: "many"}, {name: ""}):
        with pytest.raises(OutputUnreadable, match=r"differ from those of 6\.0 to 8\.1"):
            info.state(said(**changed))
    whole, namespace = said()
    with pytest.raises(OutputUnreadable):
        info.state([whole, namespace.replace(name, "renamed")])


@pytest.mark.parametrize(
    "words", ["ERROR::unstable-cluster", "ERROR:4:unrecognized command", "Error::invalid id", "FAIL:"]
)
def test_a_refusal_is_no_value(words: str) -> None:
    assert info.refused(words)
    with pytest.raises(ToolFailed, match="Aerospike answered"):
        info.values(words)
    assert not info.refused("8A0F2")


def test_settings_stand_by_their_places_without_secrets_and_places_of_the_machine() -> None:
    answered = [
        "proto-fd-max=15000;work-directory=/data;feature-key-file=/etc/features.conf",
        "service.port=3000;service.address=192.0.2.1;tls[0].key-file-password=x;heartbeat.mode=mesh",
        "storage-engine=device;storage-engine.direct-files=true;storage-engine.filesize=4294967296;storage-engine.file[0]=/d",
    ]
    assert info.settings(answered) == {
        "namespace.storage-engine": "device",
        "namespace.storage-engine.direct-files": "true",
        "namespace.storage-engine.filesize": "4294967296",
        "network.heartbeat.mode": "mesh",
        "network.service.port": "3000",
        "service.proto-fd-max": "15000",
    }


def storage(era: str, free: int = 100) -> list[str]:
    what = {"6": "device", "8": "data"}[era]
    room = f"{what}_total_bytes={200 * MIB};{what}_used_bytes={20 * MIB}"
    queues = f"storage-engine.device[0].free_wblocks={free};storage-engine.device[1].free_wblocks=1"
    more = "storage-engine.device[0].write_q=3;storage-engine.device[0].defrag_q=4;storage-engine.device[1].defrag_q=5"
    settings = {
        "6": "storage-engine.min-avail-pct=5;storage-engine.write-block-size=131072",
        "8": "storage-engine.stop-writes-avail-pct=5;storage-engine.flush-size=131072"
        ";storage-engine.stop-writes-used-pct=70",
    }[era]
    cluster, namespace = said()
    return [cluster, f"{namespace};{room};{queues};{more}", settings]


@pytest.mark.parametrize(
    ("era", "block", "free"), [("6", 131_072, 101 * 131_072 - 10 * MIB), ("8", 8 * MIB, 140 * MIB - 20 * MIB)]
)
def test_free_space_ends_where_writes_stop(era: str, block: int, free: int) -> None:
    found = info.upkeep(storage(era))
    assert (found.free_bytes, found.debt_bytes) == (free, 12 * block)
    assert info.upkeep(storage(era, free=0)).free_bytes == 0
    assert (found.log_bytes, found.cache_hits) == (None, None)


def test_blocks_that_a_server_keeps_for_defragmentation_are_not_free() -> None:
    cluster, namespace, settings = storage("8", free=20)
    wide = namespace.replace(f"data_total_bytes={200 * MIB}", f"data_total_bytes={1024 * MIB}")
    assert info.upkeep([cluster, wide, settings]).free_bytes == (21 - 2 * 8) * 8 * MIB


def half_full(cache: int, waiting: int = 0) -> list[str]:
    """What a real server of 8.1 reported about a file of 512 MiB near the end of a search."""
    cluster, namespace = said()
    room = f"data_total_bytes={512 * MIB};data_used_bytes=152975904;storage-engine.file[0].free_wblocks=15"
    queues = f"storage-engine.file[0].write_q=0;storage-engine.file[0].defrag_q={waiting}"
    limits = "storage-engine.stop-writes-avail-pct=5;storage-engine.stop-writes-used-pct=70"
    settings = f"{limits};storage-engine.defrag-lwm-pct=50;storage-engine.post-write-cache={cache}"
    return [cluster, f"{namespace};{room};{queues}", settings]


def test_space_that_remains_while_defragmentation_keeps_up() -> None:
    # Twice the data, the header, the cache, four open blocks and eight kept ones leave this of 512 MiB.
    rest = 512 * MIB - 2 * 152975904 - (8 + 4 * 8 + 8 * 8) * MIB
    assert info.upkeep(half_full(8 * MIB)).assured_bytes == rest - 8 * MIB
    assert info.upkeep(half_full(0)).assured_bytes == rest
    assert info.upkeep(half_full(8 * MIB, waiting=3)).assured_bytes == rest - 8 * MIB - 3 * 8 * MIB
    assert info.upkeep(half_full(256 * MIB)).assured_bytes == 0  # the cache alone may fill half of it
    assert info.upkeep(storage("8")).assured_bytes is None  # it does not say when a block is defragmented
    queue = [part.replace("post-write-cache=8388608", "post-write-queue=1") for part in half_full(8 * MIB)]
    assert info.upkeep(queue).assured_bytes == rest - 8 * MIB


def test_storage_that_says_too_little_is_refused() -> None:
    for era, word in product("68", ("total_bytes", "used_bytes", "free_wblocks", "write_q", "defrag_q")):
        answered = storage(era)
        with pytest.raises(OutputUnreadable):
            info.upkeep([answered[0], answered[1].replace(word, "renamed"), answered[2]])


def test_trouble_of_any_server_is_trouble() -> None:
    each = [
        Upkeep(free_bytes=3, assured_bytes=1, debt_bytes=1),
        Upkeep(free_bytes=2, assured_bytes=2, debt_bytes=1, trouble="it rejects writes"),
    ]
    assert together([*each, each[1]]) == Upkeep(
        free_bytes=2, assured_bytes=1, debt_bytes=3, trouble="it rejects writes"
    )
    assert together([*each, Upkeep(free_bytes=2)]).assured_bytes is None
