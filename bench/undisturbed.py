"""How often trials that nobody disturbed on purpose are rejected: `python -m bench.undisturbed TRIALS FOLDER`.

Trials of a few seconds run beside whatever else the machine does, and a table shows which checks rejected how many of
them. The load of others is real, so `foreign-load` may be right: `only this` counts the trials that no other check
rejected but that one. The same folder again continues the study, and shows the table of what is there.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

OF_OTHERS = frozenset({"foreign-load", "steal"})
"""Checks that see what others do on the machine."""
SECONDS = 3
STUDY = """
name = "undisturbed"
replicates = {trials}
repeat_rejected = 0

[[configurations]]
name = "local"
database = {{ connections = 4, settings = {{ shared_buffers = "64MB" }} }}

[[benchmarks]]
uses = "point-select"
parameters = {{ rows = 10000, ramp_s = 1, duration_s = {seconds} }}
"""


def rejecting(verdicts: Sequence[dict[str, str]]) -> frozenset[str]:
    """The checks that rejected a trial."""
    return frozenset(one["check"] for one in verdicts if one["verdict"] == "invalid")


def table(trials: Sequence[frozenset[str]]) -> str:
    """How many trials each check rejected, and how many of them no other check did, but for those of others' load."""
    every, alone = Counter[str](), Counter[str]()
    for checks in trials:
        every.update(checks)
        own = checks - OF_OTHERS
        alone.update(own if len(own) == 1 else ())
    rows = [f"| `{check}` | {count} | {alone[check]} |" for check, count in every.most_common()]
    kept = sum(not checks - OF_OTHERS for checks in trials)
    head = f"{len(trials)} trials of {SECONDS} s; {kept} of them rejected by no check but those of others' load.\n"
    return "\n".join([head, "| check | rejected | only this |", "|---|---|---|", *rows, ""])


def main(words: Sequence[str]) -> int:
    """Runs the study, and prints the table."""
    trials, folder = int(words[0]), Path(words[1])
    folder.mkdir(parents=True, exist_ok=True)
    study, out = folder / "undisturbed.toml", folder / "results"
    study.write_text(STUDY.format(trials=trials, seconds=SECONDS), encoding="utf-8")
    argv = [sys.executable, "-m", "nephoscope", "run", str(study), "--out", str(out), "--wait-for-quiet", "0"]
    ended = subprocess.run(argv, check=False).returncode
    verdicts = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(out.rglob("verdict.json"))]
    sys.stdout.write(table([rejecting(one) for one in verdicts]))
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
