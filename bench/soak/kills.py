"""One round of kills: a study whose controller is killed with -9 at random moments, then run to its end."""

import os
import random
import sys
import time
from collections import Counter
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from bench.soak.forks import forks
from bench.soak.places import MARK, PLACES, Place
from nephoscope.app.stages import evaluation
from nephoscope.app.stages.verifying import verify
from nephoscope.store import lock
from nephoscope.store.folder import ResultsFolder

KILLS = 12
"""At most so many in a round; a study that ends sooner has fewer."""
_LAST_RUN_S = 300.0
BAD = ("lost", "twice", "left", "altered", "unfinished")
"""What must not happen."""


def one_round(name: str, seed: int, path: Path, kills: int = KILLS) -> Counter[str]:
    """Kills a study's controller until it is done, at most so often, and counts what must not be.

    Args:
        name: of the place ('aws').
        seed: of the study and of the moments.
        path: an empty folder.
        kills: how many at most.

    Returns:
        kills: controllers killed. trials: planned trials. lost: trials that never finished. twice: trials whose load
        began twice (on this machine: finished twice). left: things outside of the folder, in the end. altered: files
        that are not what their trial stored. unfinished: last runs that did not end well.
    """
    draws, counts = random.Random(f"{name} {seed}"), Counter[str](dict.fromkeys(BAD, 0))
    with PLACES[name](path, seed) as place:
        (path / "study.toml").write_text(place.study)
        while counts["kills"] < kills and _killed(place, path, draws.uniform(0, place.longest_s)):
            counts["kills"] += 1
        last = _started(place, path)
        last.join(_LAST_RUN_S)
        counts["unfinished"] += last.exitcode != 0
        last.kill()
        last.join()
        counts.update(judged(place, ResultsFolder(path / "out")))
    return counts


def judged(place: Place, folder: ResultsFolder) -> Counter[str]:
    """What a study is like after its end: see `one_round`."""
    rows = evaluation.status(folder)
    return Counter(
        trials=len(rows),
        lost=sum(row.state != "finished" for row in rows),
        twice=sum(begun > 1 for begun in place.loads().values()),
        left=len(place.left()),
        altered=len(verify(folder).differences),
    )


def _killed(place: Place, path: Path, after_s: float) -> bool:
    """Whether the controller still ran so long after it got hold of the folder; then it is dead now."""
    process = _started(place, path)
    while process.is_alive() and not lock.held(path / "out" / "lock"):
        time.sleep(0.01)
    process.join(after_s)
    process.kill()
    process.join()
    return process.exitcode != 0


def _started(place: Place, path: Path) -> ForkServerProcess:
    process = forks().Process(target=_controller, args=(place.target, path))
    process.start()
    return process


def _controller(target: str, path: Path) -> None:
    os.setsid()
    os.environ[MARK] = str(path)
    log = os.open(path / "controllers.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    if target:
        from tests.support import fleet_controller

        sys.exit(fleet_controller.exit_code_of(str(path / "study.toml"), str(path / "out"), target, "2", "1000", ""))
    from nephoscope.app.cli import main
    from nephoscope.run import gate

    gate.SETTLE_TRIES = 1  # beside other work it would wait for a quiet moment that never comes
    sys.argv = ["nephoscope", "run", str(path / "study.toml"), "--out", str(path / "out")]
    sys.exit(main())
