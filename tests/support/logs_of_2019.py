"""Logs in the layout of 2019, made for a case: those that are public are not stored here."""

from collections.abc import Mapping
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data" / "parsers"


def cpu_log(
    *,
    effective: float = 16.0,
    workers: int = 16,
    cache_kib: int | None = 25344,
    stressor: str = "cpu",
    after: str = "",
) -> str:
    real_s, bogo_ops = 60.02, 200_000
    user_s = round(real_s * effective, 2)
    rates = f"{bogo_ops / real_s:14.2f}{bogo_ops / user_s:13.2f}"
    said = [
        f"dispatching hogs: {workers} {stressor}",
        *([] if cache_kib is None else [f"cache allocate: default cache size: {cache_kib}K"]),
        "successful run completed in 60.05s (1 min, 0.05 secs)",
        "stressor      bogo ops real time  usr time  sys time   bogo ops/s   bogo ops/s",
        "                         (secs)    (secs)    (secs)   (real time) (usr+sys time)",
        f"{stressor:<16}{bogo_ops:>10} {real_s:9.2f} {user_s:9.2f} {0:9.2f}{rates}",
    ]
    return "".join(f"stress-ng: info:  [4155] {line}\n" for line in said) + after


def write_run(tree: Path, path: str, logs: Mapping[str, str]) -> Path:
    folder = tree / path
    folder.mkdir(parents=True)
    for name, text in logs.items():
        (folder / name).write_text(text)
    return folder


def recorded(name: str) -> str:
    return (DATA / name).read_text()
