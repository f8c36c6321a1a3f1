"""CPU seconds of the questions of leaderboards: `python -m bench.leaderboards`.

For each metric of each leaderboard: the fit, who may be the best, ranks and ties. The limit that this project sets
itself is 3 s for 100 configurations and 20 metrics.
"""

import sys
import time

import numpy as np

from nephoscope.stats.leaderboard import Leaderboard, differences, possible_best, possible_ranks, ties

METRICS = 20
LIMIT_S = 3.0


def cpu_s(configurations: int, replicates: int, metrics: int = METRICS) -> float:
    """CPU seconds of this process, all threads together, the tables of critical values included in the first call."""
    generator = np.random.default_rng(1)
    boards = generator.standard_normal((metrics, configurations, replicates))
    before = time.process_time()
    for logs in boards:
        board = Leaderboard.of(logs, blocked=True)
        possible_best(board, 0.05)
        possible_ranks(differences(board, 0.05, np.arange(configurations)))
        ties(board, 0.05, 0.015)
    return time.process_time() - before


def main() -> None:
    """Prints a table."""
    sys.stdout.write("| configurations | replicates | metrics | CPU seconds |\n|---|---|---|---|\n")
    first = True
    for configurations, replicates in ((100, 6), (100, 6), (100, 12), (100, 60), (20, 6), (400, 6)):
        note = ", with the tables of critical values" if first else ""
        sys.stdout.write(
            f"| {configurations} | {replicates} | {METRICS} | {cpu_s(configurations, replicates):.2f}{note} |\n"
        )
        first = False


if __name__ == "__main__":
    main()
