"""Packs what the report of PostgreSQL on Google Cloud reads of Spare Cores' data, without what it does not read.

`python website/extract.py FOLDER docs/examples/postgres-gcp-2026/data.tar.xz`; FOLDER is `data` of
SpareCores/sc-inspector-data. The files keep their names and form, so that the importer reads them as it reads the whole
data, and gives the same numbers. Left out: stress-ng between one worker and all, flags of CPUs, descriptions of
settings, usage of CPUs, and names of images and hosts.
"""

import io
import json
import lzma
import re
import sys
import tarfile
from pathlib import Path
from typing import Any

_EARLIEST = 1_000_000_000
_META = ("start", "end", "exit_code", "version")
_LSCPU = re.compile(
    r"(Architecture|CPU\(s\)|On-line CPU\(s\) list|Vendor ID|Model name|CPU family|Model|Thread\(s\) per core"
    r"|Core\(s\) per socket|Socket\(s\)|Stepping|NUMA node\(s\)|L[123][di]? cache):"
)
_POSTGRES = "pgbench_postgres_multi_ro_durable"
_RUNG = ("concurrency", "tpm", "latency_avg_ms", "run_seconds", "tx_processed", "tx_failed")
_LATENCY = ("p50", "p95", "p99", "samples")
_WHOLE = ("workload", "topology", "durability", "score", "score_unit", "run_seconds", "warmup_seconds")
_MACHINE = ("settle_seconds", "db_vcpus", "db_mem_gib", "client_vcpus", "storage_type", "storage_gib")


def packed(root: Path) -> bytes:
    """The archive, a file after another of its kind, as alike files shrink most; equal data give equal bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        files = (path for path in root.glob("gcp/*/*/*") if path.name in {"stdout", "meta.json"})
        for path in sorted(files, key=lambda path: (path.name, path.parent.name, path)):
            content = extract(path.parent.name, path.name, path.read_text(encoding="utf-8")).encode()
            entry = tarfile.TarInfo(path.relative_to(root).as_posix())
            entry.size, entry.mtime = len(content), _EARLIEST
            archive.addfile(entry, io.BytesIO(content))
    return lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def extract(task: str, name: str, text: str) -> str:
    """One file of a task, as far as it is read; tables of memory and of the web server are kept whole."""
    if name == "meta.json":
        return json.dumps(_chosen(json.loads(text), _META))
    if task == "lscpu":
        return json.dumps({"lscpu": [*_fields(json.loads(text)["lscpu"])]})
    if task == _POSTGRES:
        return json.dumps(_postgres(json.loads(text)))
    if task == "stressngfull":
        lines = text.splitlines(keepends=True)
        return "".join(dict.fromkeys((lines[0], lines[-1])))
    if task == "static_web":
        return re.sub(r'(?m)^("[^"]+",\d+,\d+,\d+,[\d.]+,\d+),.*$', r"\1,0,0,0,0", text)
    return text


def _chosen(values: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: values[key] for key in keys if key in values}


def _fields(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [*entries, *(one for entry in entries for one in _fields(entry.get("children", [])))]
    return [_chosen(one, ("field", "data")) for one in found if _LSCPU.fullmatch(one["field"])]


def _postgres(file: dict[str, Any]) -> dict[str, Any]:
    (size,) = file["sizes"]
    profile = [
        _chosen(rung, _RUNG) | ({"latency_ms": _chosen(rung["latency_ms"], _LATENCY)} if "latency_ms" in rung else {})
        for rung in size["profile"]
    ]
    server = file["postgres"]
    settings = {key: server["settings"][key] for key in server["nondefault_settings"] if key in server["settings"]}
    return _chosen(file, (*_WHOLE, *_MACHINE)) | {
        "sizes": [{"dataset": _chosen(size["dataset"], ("dataset",)), "profile": profile}],
        "postgres": {"server_version": server["server_version"], "settings": settings},
    }


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(packed(Path(sys.argv[1])))
