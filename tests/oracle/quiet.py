"""Trials that lost CPU time to the hypervisor: their share, medians with and without them, and verdicts."""

import math
import re
from collections import defaultdict
from statistics import median

from scipy.stats import binomtest

from tests.oracle.exact import median_rank

REASON = re.compile(r"(?:\\.|[^;\\])+")
r"""An item of a list in a cell: `\;` in it is no separator, and reasons of several machines are joined by one."""


def lost_trials(tables):
    """Ids of trials that lost more CPU time than the limit in steal.csv, and of those that only steal rejected."""
    limit = min((float(row["limit_share"]) for row in tables["steal"]), default=math.inf)
    lost = {
        row["trial"]
        for row in tables["trials"]
        if row["at_baseline"] == "false" and float(row["stolen_share"] or 0) > limit
    }
    rejected = {
        row["trial"]
        for row in tables["trials"]
        if row["state"] == "finished"
        and row["verdict"] == "invalid"
        and all(reason.startswith("steal:") for reason in REASON.findall(row["reasons"]))
    }
    return lost, rejected


def quiet_cells(cells, trials_of, lost):
    """Values without a lost trial behind them, and their trials: a machine is quiet if all of its trials were."""
    quiet, quiet_trials = {}, {}
    for key, values in cells.items():
        kept = [pair for pair in zip(values, trials_of[key], strict=True) if lost.isdisjoint(pair[1])]
        if kept:
            quiet[key], quiet_trials[key] = map(list, zip(*kept, strict=True))
    return quiet, quiet_trials


def judged_quietly(found, quiet, cells, quiet_cells):
    """Adds to each comparison that a lost trial touches its verdict in quiet trials; both must agree."""
    for key, pair in found.items():
        sides = [(*key[:3], name) for name in key[3:]]
        if all(cells[side] == quiet_cells.get(side) for side in sides):
            continue
        other = quiet.get(key, {"verdict": "unresolved", "ratio": None})
        pair |= {"delivered": pair["verdict"], "quiet": other["verdict"], "quiet_ratio": other["ratio"]}
        if other["verdict"] != pair["verdict"]:
            pair["verdict"] = "unresolved"


def check_steal(tables):
    groups, (_, rejected) = defaultdict(list), lost_trials(tables)
    for row in tables["trials"]:
        if row["state"] == "finished" and row["stolen_share"]:
            groups[row["configuration"]].append((float(row["stolen_share"]), row["trial"]))
    for row in tables["steal"]:
        shares = sorted(groups[row["configuration"]])
        n, over = len(shares), sum(share > float(row["limit_share"]) for share, _ in shares)
        low, high = binomtest(over, n).proportion_ci()
        found = {"n": n, "over": over, "share": over / n, "low": low, "high": high} | {
            "rejected": sum(trial in rejected for _, trial in shares),
            "median_stolen_share": median(share for share, _ in shares),
            "highest_stolen_share": shares[-1][0],
        }
        for name, value in found.items():
            yield ("steal", f"{row['configuration']} {name}", row[name], value)


def check_delivered(rows, counted, quiet, whole):
    """Yields column, place, stored and recomputed value, from values and the trials behind each, by cell.

    `whole` has the trials that steal rejected, too. Numbers are of trials, medians of values: a machine may be one.
    """
    of_values, of_trials = zip(counted, quiet, whole, strict=True)
    for row in rows:
        key = (row["benchmark"], row["metric"], row["per_cpu"] == "true", row["configuration"])
        mine, still, every = (values.get(key, []) for values in of_values)
        n, n_quiet, n_all = (sum(map(len, trials.get(key, []))) for trials in of_trials)
        (rank, coverage), n_rejected = median_rank(len(still)) if still else (1, None), n_all - n
        found = {"n": n, "median": median(mine) if mine else None, "n_quiet": n_quiet} | {
            "quiet_median": median(still) if still else None,
            "quiet_low": still[rank - 1] if still else None,
            "quiet_high": still[-rank] if still else None,
            "quiet_coverage": coverage,
            "n_rejected": n_rejected,
            "rejected_share": n_rejected / n_all,
            "median_with_rejected": median(every) if n_rejected else None,
        }
        for name, value in found.items():
            yield f"{' '.join(map(str, key))} {name}", row[name], value
