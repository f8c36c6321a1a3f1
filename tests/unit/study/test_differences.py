from typing import Any

import pytest

from nephoscope.study.contrasts import only_difference
from nephoscope.study.differences import what_differs
from nephoscope.study.model import Configuration, DeclaredContrast
from nephoscope.study.starter import everyday_study, read_change
from tests.unit.app.test_everyday_question import FIRST, SECOND, loaded


def configurations(*plain: dict[str, Any]) -> list[Configuration]:
    return [Configuration.model_validate({"name": f"c{number}", **one}) for number, one in enumerate(plain)]


def cloud(provider: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"provider": provider, "region": "r", "database_machine": {"type": kind, **more}}


def on_host(host: str) -> dict[str, Any]:
    return {"provider": "ssh", "database_machine": {"hosts": [host]}}


GP3, IO2 = ({"volumes": [{"kind": kind, "size": 500, "iops": iops}]} for kind, iops in (("gp3", 3000), ("io2", 9000)))


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ([{}], ""),
        ([{}, {"price_usd_per_hour": 2}], "they are equal, so every difference between them is noise"),
        ([{"database_machine": {"cpus": 1}}, {}], "they differ only in CPUs: 1 and all"),
        (
            [{"database": {"settings": {"jit": "on"}}}, {}, {"database": {"settings": {"jit": "off"}}}],
            "they differ only in jit: on, not set and off",
        ),
        (
            [{"database": {"connections": 8}}, {"database": {"connections": 64}}],
            "they differ only in connections: 8 and 64",
        ),
        ([cloud("aws", "m6i.large"), cloud("aws", "m6i.xlarge")], "they differ only in vCPUs: 2 and 4"),
        ([cloud("aws", "m6i.large"), cloud("aws", "c6a.2xlarge")], "they differ only in machine type"),
        (
            [{**cloud("aws", kind), "load_machine": {"type": "m7i.large"}} for kind in ("m6i.large", "m7i.large")],
            "they differ only in generation",
        ),
        (
            [{**cloud("aws", kind), "load_machine": {"type": kind}} for kind in ("m6i.large", "m7i.large")],
            "they differ only in generation",
        ),
        ([cloud("aws", "m6i.large"), cloud("gcp", "n2-standard-2")], "they differ in provider and machine type"),
        ([cloud("aws", "m6i.large", **GP3), cloud("aws", "m6i.large", **IO2)], "they differ only in volumes"),
        (
            [
                {
                    **cloud("aws", "m6i.large", count=2),
                    "database": {"connections": 1, "settings": {"a": "1", "b": "2"}},
                },
                cloud("azure", "Standard_D2s_v5", filesystem="xfs"),
            ],
            "they differ in provider, machine type, connections, a and 3 more things",
        ),
        (
            [on_host("a"), on_host("b")],
            "they run on 2 hosts and are equal otherwise",
        ),
        (
            [{**on_host("a"), "load_machine": {"hosts": ["c"]}}, {**on_host("b"), "load_machine": {"hosts": ["d"]}}],
            "they run on 2 hosts and are equal otherwise",
        ),
        ([{"database": {"dsn": FIRST}}, {"database": {"dsn": SECOND}}], "they differ only in the server"),
        (
            [{"database": {"settings": {"a": one * 40}}} for one in "xy"],
            "they differ only in a",
        ),
    ],
)
def test_what_differs(plain: list[dict[str, Any]], said: str) -> None:
    assert what_differs(configurations(*plain)).clause == said


@pytest.mark.parametrize(
    ("compare", "dsns", "said"),
    [
        ("shared_buffers=128MB,1GB", (), "they differ only in shared_buffers: 128MB and 1GB"),
        ("version=15,18", (), "they differ only in server version: 15 and 18"),
        ("work_mem=4MB,8MB", (FIRST,), "they differ only in work_mem: 4MB and 8MB"),
        (
            "shared_buffers=128MB,1GB",
            (FIRST, SECOND),
            "they are servers that, as the study declares, differ only in shared_buffers: 128MB and 1GB",
        ),
        (None, (FIRST, SECOND), "they differ only in the server"),
    ],
)
def test_the_studies_of_everyday_questions_say_what_they_ask(
    compare: str | None, dsns: tuple[str, ...], said: str
) -> None:
    study = loaded(everyday_study(None if compare is None else read_change(compare), dsns))
    assert what_differs(study.configurations, study.contrasts).clause == said


def test_a_declared_contrast_of_some_servers_does_not_speak_for_all() -> None:
    servers = configurations(*({"database": {"dsn": f"{FIRST}{number}"}} for number in range(3)))
    declared = DeclaredContrast(name="jit", left=["c0"], right=["c1"], labels=["on", "off"])
    assert what_differs(servers, [declared]).clause == "they differ only in the server"


def test_an_address_is_no_difference_that_could_name_a_configuration() -> None:
    named = {one.name: one for one in configurations(on_host("a"), on_host("b"))}
    assert only_difference(named) is None
    named = {one.name: one for one in configurations({"database_machine": {"cpus": 1}}, {})}
    assert only_difference(named) == ("CPUs", {"c0": "1", "c1": "all"})


def test_files_of_others_need_not_say_what_was_measured() -> None:
    equal = configurations({}, {})
    assert what_differs(equal, imported=True).clause == "the imported files do not say what they differ in"
    assert "noise" in what_differs(equal).clause
    types = configurations(cloud("aws", "m6i.large"), cloud("aws", "c6a.2xlarge"))
    assert what_differs(types, imported=True).clause == "they differ in machine type"
