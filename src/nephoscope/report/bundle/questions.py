"""The questions of leaderboards, answered again: the best, ranks, contrasts and pairs.

Checks yield what is compared, where, what the table says, and what was found.
"""

import math
from collections import defaultdict
from itertools import combinations
from statistics import median

from boards import clear, contrast, fit, possible_best, surely_above, ties
from exact import benjamini_hochberg, compare, holm, judge, verdict


def boards_of(cells, trials_of, block_of, metrics, blocked):
    """(benchmark, metric, per CPU) -> a leaderboard, for headline metrics."""
    values = defaultdict(dict)
    for (benchmark, metric, per_cpu, name), many in cells.items():
        if metrics.get((benchmark, metric), {}).get("headline") == "true" and many[0] > 0:
            trials = trials_of[benchmark, metric, per_cpu, name]
            at = [block_of[trial] for [trial] in trials] if all(len(of_value) == 1 for of_value in trials) else []
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
    return board | {"sign": sign, "values": plain, "place": {name: i for i, name in enumerate(board["names"])}}


def view_of(row, found, months):
    """The board of a row, the shift of its view, and the places that compete."""
    board = found.get((row["benchmark"], row["metric"], row["view"] == "per CPU"))
    if row["view"] != "per dollar":
        return board, [0.0] * len(board["names"]), list(range(len(board["names"])))
    priced = [months.get((name, row["basis"])) for name in board["names"]]
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


def shifted(board, place, shift):
    return [value * math.exp(shift[place]) for value in board["values"][board["names"][place]]]


def check_best(rows, found, months, study):
    for row in rows:
        if [row[key] for key in ("benchmark", "metric", "view", "basis", "scope")] in study["settled_by_looks"]:
            continue  # looks after each block decided it, each at its own level: see `looks` in the results folder
        board, shift, competing = view_of(row, found, months)
        alpha, margin = float(row["alpha"]), float(row["margin_percent"]) / 100
        members = set(study["scopes"][row["scope"]])
        places = [place for place in competing if board["names"][place] in members]
        where = f"{row['benchmark']} {row['metric']} {row['view']} {row['basis']} {row['scope']}"
        if board["discrete"]:
            beaten = {j for _, j in above_by_ranks(board, places, shift, alpha)}
            kept = [place for place in places if place not in beaten]
        else:

            def best(factor, board=board, places=places, shift=shift, alpha=alpha):
                return possible_best(board, places, shift, alpha, factor)

            kept = clear(best)
        yield "best", f"{where} of", row["of"], len(places)
        if kept is None:
            continue
        mean = {place: board["means"][place] + shift[place] for place in places}
        able = [place for place in kept if board["able"][place]]
        first = sorted(able, key=lambda place: (-mean[place], board["names"][place]))
        names = [board["names"][place] for place in first]
        yield "best", f"{where} best", row["best"], ";".join(names) or None
        yield "best", f"{where} excluded", row["excluded"], len(places) - len(kept)
        if not board["discrete"] and names:

            def equal(factor, board=board, places=places, shift=shift, alpha=alpha, margin=margin):
                return ties(board, places, shift, alpha, margin, factor)

            tied = clear(equal)
            if tied is not None:
                every = len(first) > 1 and all(pair in tied for pair in combinations(first, 2))
                close = [board["names"][j] for j in places if len(first) == 1 and (first[0], j) in tied]
                yield "best", f"{where} tied", row["tied"], str(every).lower()
                yield "best", f"{where} close", row["close"], ";".join(close) or None
        if row["cv_percent"]:
            spread = median(board["variances"][place] for place in places if board["able"][place])
            yield "best", f"{where} cv_percent", row["cv_percent"], 100 * math.sqrt(spread)


def check_ranks(rows, found, months, medians):
    by_board = defaultdict(list)
    for row in rows:
        by_board[row["benchmark"], row["metric"], row["view"], row["basis"]].append(row)
    for (benchmark, metric, view, basis), of_board in by_board.items():
        board, shift, places = view_of(of_board[0], found, months)
        where = f"{benchmark} {metric} {view} {basis}"
        above, tied = certain(board, places, shift)
        sign = -board["sign"]
        mine = {
            row["configuration"]: sign
            * medians[benchmark, metric, view == "per CPU", row["configuration"]]
            / (months[row["configuration"], basis] if basis else 1)
            for row in of_board
        }
        for row in of_board:
            name = row["configuration"]
            place = board["place"].get(name)
            smaller = sum(other < mine[name] for other in mine.values())
            yield "ranks", f"{where} {name} place", row["place"], 1 + smaller
            if above is not None and place in places:
                better, worse = sum(j == place for _, j in above), sum(i == place for i, _ in above)
                yield "ranks", f"{where} {name} first", row["first"], 1 + better
                yield "ranks", f"{where} {name} last", row["last"], len(mine) - worse
            if tied is not None and place in places:
                equal = sorted(board["names"][j] for j in places if (place, j) in tied)
                yield "ranks", f"{where} {name} ties", row["ties"], ";".join(equal) or None


def certain(board, places, shift, alpha=0.05, margin=None):
    """Which pairs are surely above each other, and which are ties; None where it is too close to tell."""
    if board["discrete"]:
        return above_by_ranks(board, places, shift, alpha), set()
    margin = board["margin"] if margin is None else margin
    return (
        clear(lambda factor: surely_above(board, places, shift, alpha, factor)),
        clear(lambda factor: ties(board, places, shift, alpha, margin, factor)),
    )


def check_contrasts(rows, found, months):
    for row in rows:
        board, shift, _ = view_of(row, found, months)
        pairs = [tuple(board["place"][name] for name in member.split(" ")) for member in row["members"].split(";")]
        where = (
            f"{row['question']}, {row['left']} against {row['right']} {row['benchmark']} {row['metric']} {row['view']}"
        )
        pair = of_pairs(board, pairs, shift)
        pair |= {"p_adjusted": pair["p"], "higher": row["direction"] == "higher"}
        for name in ("ratio", "low", "high"):
            yield "contrasts", f"{where} {name}", row[name], pair[name]
        yield "contrasts", f"{where} p_value", row["p_value"], pair["p"]
        said = verdict(pair, float(row["margin_percent"]) / 100, float(row["alpha"]))
        yield "contrasts", f"{where} verdict", row["verdict"], said
        mean = [mean + more for mean, more in zip(board["means"], shift, strict=True)]
        side = board["sign"] * math.log(pair["ratio"])
        agreeing = sum((mean[i] - mean[j]) * side > 0 for i, j in pairs)
        yield "contrasts", f"{where} pairs_agreeing", row["pairs_agreeing"], agreeing


def of_pairs(board, pairs, shift):
    """Ratio, interval and p-value over pairs of places."""
    if board["discrete"]:
        return compare([tuple(shifted(board, place, shift) for place in pair) for pair in pairs])
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
    return found
