"""Leaderboards from values, the views of them that questions are about, and their pairs."""

import math
from collections import defaultdict
from itertools import combinations
from statistics import median

from tests.oracle.boards import contrast, fit
from tests.oracle.exact import benjamini_hochberg, compare, holm, judge, of_medians


def block_of_trials(trials, trials_of):
    """Trial -> its block; without the trials of cells whose values are medians of machines: these are in no block."""
    merged = set()
    for many in trials_of.values():
        if any(len(of_value) > 1 for of_value in many):
            merged.update(trial for of_value in many for trial in of_value)
    return {row["trial"]: row["block"] for row in trials if row["trial"] not in merged}


def boards_of(cells, trials_of, block_of, metrics, blocked):
    """(benchmark, metric, per CPU) -> a leaderboard, for headline metrics."""
    values = defaultdict(dict)
    for (benchmark, metric, per_cpu, name), many in cells.items():
        if metrics.get((benchmark, metric), {}).get("headline") == "true" and many[0] > 0:
            trials = trials_of[benchmark, metric, per_cpu, name]
            at = [block_of[first] for first, *_ in trials if first in block_of]
            values[benchmark, metric, per_cpu][name] = (many, at)
    return {key: board_of(of_names, metrics[key[:2]], blocked) for key, of_names in values.items()}


def board_of(values, metric, blocked):
    """Without blocks where one holds a name twice, or where values are medians of machines."""
    in_blocks = blocked and all(len(set(at)) == len(many) for many, at in values.values())
    sign = 1 if metric["direction"] == "higher" else -1
    logs = {
        name: {(at[i] if in_blocks else i): sign * math.log(value) for i, value in enumerate(many)}
        for name, (many, at) in values.items()
    }
    board = fit(logs, in_blocks)
    plain = {name: many for name, (many, _) in values.items()}
    medians = [sign * math.log(median(plain[name])) for name in board["names"]]
    return board | {
        "sign": sign,
        "values": plain,
        "place": {name: i for i, name in enumerate(board["names"])},
        "medians": medians,
        "levels": medians if board["discrete"] else board["means"],
    }


def view_of(row, found, months):
    """The board of a row, the shift of its view, and the places that compete."""
    board = found.get((row["benchmark"], row["metric"], row["view"] == "per CPU"))
    if row["view"] != "per dollar":
        return board, [0.0] * len(board["names"]), list(range(len(board["names"])))
    priced = [months.get((row["benchmark"], name, row["basis"])) for name in board["names"]]
    shift = [-math.log(month) if month else 0.0 for month in priced]
    return board, shift, [place for place, month in enumerate(priced) if month]


def above_by_ranks(board, places, shift, alpha):
    """Pairs (i, j) of which i is surely above j, by exact rank sums corrected by Holm."""
    pairs, p_values = [], []
    for i, j in combinations(places, 2):
        x, y = shifted(board, i, shift), shifted(board, j, shift)
        if len(x) > 1 and len(y) > 1:
            pairs.append((i, j, sum((a > b) - (a < b) for a in x for b in y) * board["sign"]))
            p_values.append(compare([(x, y)])["p"])
    corrected = zip(pairs, holm(p_values), strict=True)
    return {(i, j) if wins > 0 else (j, i) for (i, j, wins), p in corrected if p < alpha}


def confirmed(board, above, shift):
    """Of the pairs (i, j) of which i is surely above j, those whose medians do not say the opposite."""
    at = [middle + by for middle, by in zip(board["medians"], shift, strict=True)]
    return None if above is None else {(i, j) for i, j in above if at[i] >= at[j]}


def shifted(board, place, shift):
    return [value * math.exp(shift[place]) for value in board["values"][board["names"][place]]]


def of_pairs(board, pairs, shift):
    """Ratio, interval and p-value over pairs of places."""
    if board["discrete"]:
        found = compare([tuple(shifted(board, place, shift) for place in pair) for pair in pairs])
        return of_medians(found, *(shifted(board, place, shift) for place in pairs[0])) if len(pairs) == 1 else found
    estimate, low, high, p = contrast(board, pairs, shift)
    ends = sorted(math.exp(board["sign"] * end) for end in (low, high))
    ratio = math.exp(board["sign"] * estimate)
    return {"ratio": ratio, "low": ends[0], "high": ends[1], "p": p, "coverage": 0.95, "p_adjusted": 1.0}


def pairs_of(board, shift, places, study, direction):
    """(left, right) -> ratio, interval, p-values and verdict of all pairs of one leaderboard, corrected together."""
    found = {}
    for i, j in combinations(places, 2):
        none = {"ratio": 1.0, "low": None, "high": None, "p": 1.0, "p_adjusted": 1.0, "coverage": None}
        able = board["discrete"] or (board["able"][i] and board["able"][j])
        if not able:
            none["ratio"] = math.exp(board["sign"] * (board["means"][i] + shift[i] - board["means"][j] - shift[j]))
        found[board["names"][i], board["names"][j]] = (of_pairs(board, [(i, j)], shift) if able else none) | {
            "higher": direction == "higher"
        }
    judge(list(found.values()), benjamini_hochberg, study)
    for i, j in combinations(places, 2):
        pair, gap = found[board["names"][i], board["names"][j]], board["medians"][i] + shift[i]
        gap -= board["medians"][j] + shift[j]
        if (pair["verdict"] == "better" and gap < 0) or (pair["verdict"] == "worse" and gap > 0):
            pair |= {"verdict": "unresolved", "disputed": True}
    return found
