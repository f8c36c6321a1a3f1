"""Packs results for the repository: `python website/store.py RESULTS docs/examples/NAME/results.tar.xz`.

Left out: the raw output of the load generator, nine tenths of the size, and what names the machine (its verbatim
answers, boot id, build of the kernel, paths, programs). What the report shows stays.
"""

import io
import json
import lzma
import re
import sys
import tarfile
from pathlib import Path
from typing import Any

_LEFT_OUT = re.compile(
    r"lock|verified\.json|.*\.parquet|analysis\.json|report/.*|.*/raw/load-(?:run|calibration)\.stdout"
)
_KERNEL = re.compile(r"\b([4-9]\.\d+\.\d+)-[\w.-]+")
_PROGRAM = re.compile(r'("pid":\d+,"name":")[^"]*(")')
_EARLIEST = 1_000_000_000


def packed(results: Path) -> bytes:
    """The archive; equal results give equal bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(path for path in results.rglob("*") if path.is_file()):
            name = path.relative_to(results).as_posix()
            if not _LEFT_OUT.fullmatch(name):
                content = _neutral(path.read_text(encoding="utf-8"), path, results.resolve()).encode()
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime = len(content), _EARLIEST
                archive.addfile(entry, io.BytesIO(content))
    return lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def _neutral(text: str, path: Path, results: Path) -> str:
    plain = _KERNEL.sub(r"\1", text.replace(str(results), "results"))
    plain = _PROGRAM.sub(r"\1program\2", plain)
    if path.name == "status.json" and path.parent.name != "derived":  # its digests are of the files before
        return json.dumps({**json.loads(plain), "files": None}, indent=1) + "\n"
    if path.parent.name != "facts":
        return plain
    facts: dict[str, Any] = json.loads(plain)
    for seen in (facts["before"], facts["after"]):
        if seen is not None:
            seen |= {"hostname": "laptop", "boot_id": None}
            seen["disk"]["mount_options"] = ",".join(seen["disk"]["mount_options"].split(",")[:2])
    return json.dumps({**facts, "verbatim": {}}, indent=1) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(packed(Path(sys.argv[1])))
