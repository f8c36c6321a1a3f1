"""Rules about the databases of a study. They read raw values, because other keys may be wrong too."""

from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.study.explain import Problem
from nephoscope.study.model import SNAPSHOTS
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.toml_text import Path

_A_BUCKET = "set `fixtures` to the address of a bucket"


def snapshot_problems(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of one configuration at `path`."""
    database, machine = configuration.get("database"), configuration.get("database_machine")
    if not isinstance(database, Mapping) or database.get("fixtures") != SNAPSHOTS:
        return
    here = (*path, "database", "fixtures")
    if configuration.get("provider", "local") not in CLOUDS:
        yield Problem(here, f"only providers {', '.join(sorted(CLOUDS))} have snapshots of volumes; remove it")
        return
    described = machine if isinstance(machine, Mapping) else {}
    volumes = [one for one in _list(described.get("volumes")) if isinstance(one, Mapping) and one.get("use") != "raw"]
    if "local_ssds" in described and described.get("local_ssd_use") != "raw":
        yield Problem(here, f"the data folder is on local SSDs, which no cloud can snapshot; {_A_BUCKET}")
    elif not volumes:
        yield Problem(here, f"the data folder is on the image's disk; give the machine `volumes`, or {_A_BUCKET}")
    elif described.get("disks") != "apart" and (len(volumes) > 1 or volumes[0].get("count", 1) != 1):
        text = (
            "the data folder is striped over several volumes, whose snapshots are not taken at the same moment; use "
            'one volume, or disks = "apart"'
        )
        yield Problem(here, text)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
