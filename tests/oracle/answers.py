"""The questions of leaderboards, answered again: the best, ranks and contrasts, as delivered and in quiet trials.

Checks yield what is compared, where, what the table says, and what was found.
"""

import math
from collections import defaultdict
from itertools import combinations
from statistics import median

from tests.oracle.boards import clear, possible_best, surely_above, ties
from tests.oracle.exact import verdict
from tests.oracle.questions import above_by_ranks, confirmed, of_pairs, view_of

PAIR = 2
"""Of two configurations, both need quiet trials; among more, one that was never quiet counts as it delivered."""


KEYS = "benchmark", "metric", "view", "basis"
"""Of a leaderboard."""


def check_best(rows, found, months, study, views):
    """Returns the leaderboards with one best: its name, and those that are unknown."""
    alone = {}
    for row in rows:
        if [row[key] for key in ("benchmark", "metric", "view", "basis", "scope")] in study["settled_by_looks"]:
            # looks after each block decided it, each at its own level: see `looks` in the results folder
            alone |= leader(row, (row["best"] or "").split(";"), float(row["excluded"]))
            continue
        board, shift, competing = view_of(row, found, months)
        alpha = float(row["alpha"])
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
        second = second_view(row, {board["names"][place] for place in places}, views, months)
        kept, differs = best_in_both(board, places, kept, second, alpha)
        if kept is None:
            continue
        if second is not None and sum(board["able"][place] for place in places) > 1:
            yield "best", f"{where} reason", str(row["reason"].startswith("as delivered")).lower(), str(differs).lower()
        kept = with_medians(board, places, kept, shift)
        mean = {place: board["levels"][place] + shift[place] for place in places}
        able = [place for place in kept if board["able"][place]]
        first = sorted(able, key=lambda place: (-mean[place], board["names"][place]))
        names = [board["names"][place] for place in first]
        yield "best", f"{where} best", row["best"], ";".join(names) or None
        yield "best", f"{where} excluded", row["excluded"], len(places) - len(kept)
        alone |= leader(row, names, len(places) - len(kept))
        if not board["discrete"] and names:
            yield from check_ties(row, where, board, places, shift, second, first)
        if row["cv_percent"]:
            spread = median(board["variances"][place] for place in places if board["able"][place])
            yield "best", f"{where} cv_percent", row["cv_percent"], 100 * math.sqrt(spread)
    return alone


def leader(row, names, excluded):
    """The leaderboard of a row of best.csv with its one best, and those of which nothing is known; else empty."""
    if row["scope"] != "overall" or len(names) != 1 or not names[0] or not excluded:
        return {}
    left_out = [said.partition(": ")[0] for said in (row["left_out"] or "").split(";")]
    unknown = {*filter(None, [*(row["open"] or "").split(";"), *left_out])}
    return {tuple(row[key] for key in KEYS): (names[0], unknown)}


def with_medians(board, places, kept, shift):
    """With the excluded ones whose median is ahead of that of every candidate."""
    candidates = [place for place in kept if board["able"][place]]
    most = max((board["medians"][place] + shift[place] for place in candidates), default=math.inf)
    ahead = [place for place in places if place not in kept and board["medians"][place] + shift[place] > most]
    return sorted([*kept, *ahead])


def check_ties(row, where, board, places, shift, second, first):
    alpha, margin = float(row["alpha"]), float(row["margin_percent"]) / 100
    tied = clear(lambda factor: ties(board, places, shift, alpha, margin, factor))
    tied = ties_in_both(board, tied, second, alpha, margin)
    if tied is not None:
        every = len(first) > 1 and all(pair in tied for pair in combinations(first, 2))
        close = [board["names"][j] for j in places if len(first) == 1 and (first[0], j) in tied]
        yield "best", f"{where} tied", row["tied"], str(every).lower()
        yield "best", f"{where} close", row["close"], ";".join(close) or None


def check_ranks(rows, alone, found, months, levels, views):
    by_board = defaultdict(list)
    for row in rows:
        by_board[row["benchmark"], row["metric"], row["view"], row["basis"]].append(row)
    for (benchmark, metric, view, basis), of_board in by_board.items():
        board, shift, places = view_of(of_board[0], found, months)
        where = f"{benchmark} {metric} {view} {basis}"
        above, tied = certain(board, places, shift)
        second = second_view(of_board[0], {board["names"][place] for place in places}, views, months)
        still = quietly_above(second)
        tied = ties_in_both(board, tied, second, 0.05, board["margin"])
        sign = -board["sign"]
        mine = {
            row["configuration"]: sign
            * levels[benchmark, metric, view == "per CPU", row["configuration"]][0]
            / (months[row["benchmark"], row["configuration"], basis] if basis else 1)
            for row in of_board
        }
        for row in of_board:
            name = row["configuration"]
            place = board["place"].get(name)
            smaller = sum(other < mine[name] for other in mine.values())
            yield "ranks", f"{where} {name} place", row["place"], 1 + smaller
            if above is not None and still is not None and place in places:
                better, worse = sum(j == place for _, j in above), sum(i == place for i, _ in above)
                if second is not None:
                    better = min(better, sum(other == name for _, other in still))
                    worse = min(worse, sum(other == name for other, _ in still))
                first, last = led(name, 1 + better, len(mine) - worse, alone.get((benchmark, metric, view, basis)))
                yield "ranks", f"{where} {name} first", row["first"], first
                yield "ranks", f"{where} {name} last", row["last"], last
            if tied is not None and place in places:
                equal = sorted(board["names"][j] for j in places if (place, j) in tied)
                yield "ranks", f"{where} {name} ties", row["ties"], ";".join(equal) or None


def led(name, first, last, answer):
    """Ranks where the leaderboard has one best, which is an answer of its own."""
    if answer is None:
        return first, last
    winner, unknown = answer
    if name == winner:
        return first, min(last, 1 + len(unknown))
    return (first, last) if name in unknown else (max(first, 2), last)


def certain(board, places, shift, alpha=0.05, margin=None):
    """Which pairs are surely above each other, and which are ties; None where it is too close to tell."""
    if board["discrete"]:
        return confirmed(board, above_by_ranks(board, places, shift, alpha), shift), set()
    margin = board["margin"] if margin is None else margin
    return (
        confirmed(board, clear(lambda factor: surely_above(board, places, shift, alpha, factor)), shift),
        clear(lambda factor: ties(board, places, shift, alpha, margin, factor)),
    )


def check_contrasts(rows, found, months, views):
    for row in rows:
        board, shift, _ = view_of(row, found, months)
        pairs = [tuple(board["place"][name] for name in pair) for pair in pairs_in(row)]
        where = (
            f"{row['question']}, {row['left']} against {row['right']} {row['benchmark']} {row['metric']} {row['view']}"
        )
        pair = of_pairs(board, pairs, shift)
        pair |= {"p_adjusted": pair["p"], "higher": row["direction"] == "higher"}
        for name in ("ratio", "low", "high"):
            yield "contrasts", f"{where} {name}", row[name], pair[name]
        yield "contrasts", f"{where} p_value", row["p_value"], pair["p"]
        said = verdict(pair, float(row["margin_percent"]) / 100, float(row["alpha"]))
        if row["delivered"]:
            quiet = contrast_in_quiet_trials(row, views, months)
            yield "contrasts", f"{where} delivered", row["delivered"], said
            yield "contrasts", f"{where} quiet", row["quiet"], quiet
            said = said if said == quiet else "unresolved"
        yield "contrasts", f"{where} verdict", row["verdict"], said
        mean = [mean + more for mean, more in zip(board["means"], shift, strict=True)]
        side = board["sign"] * math.log(pair["ratio"])
        agreeing = sum((mean[i] - mean[j]) * side > 0 for i, j in pairs)
        yield "contrasts", f"{where} pairs_agreeing", row["pairs_agreeing"], agreeing


# quiet trials: an answer must hold in both views


def second_views(cells, trials_of, calm, calm_trials, lost, build):
    """Leaderboards without the lost trials. `build`: cells and their trials -> leaderboards."""
    if not lost:
        return {"hit": set()}
    lost_of = {key: [trial in lost for of_value in many for trial in of_value] for key, many in trials_of.items()}
    never = [key for key, among in lost_of.items() if all(among)]
    more, more_trials = {key: cells[key] for key in never}, {key: trials_of[key] for key in never}
    return {
        "hit": {key for key, among in lost_of.items() if any(among)},
        "strict": build(calm, calm_trials),
        "standing": build(calm | more, calm_trials | more_trials),
    }


def second_view(row, names, views, months):
    """The quiet board of a row, its shift, and the places of the names that compete; None: no trial was lost."""
    key = (row["benchmark"], row["metric"], row["view"] == "per CPU")
    if not any((*key, name) in views["hit"] for name in names):
        return None
    found = views["strict" if len(names) <= PAIR else "standing"]
    if key not in found:
        return {"names": [], "discrete": False}, [], []
    board, shift, competing = view_of(row, found, months)
    return board, shift, [place for place in competing if board["names"][place] in names]


def best_in_both(board, places, kept, second, alpha):
    """Places that may be the best in either view, and whether the views differ; None: too close to tell."""
    if second is None or kept is None:
        return kept, False
    quiet, shift, among = second
    if quiet["discrete"]:
        beaten = {j for _, j in above_by_ranks(quiet, among, shift, alpha)}
        still = [place for place in among if place not in beaten]
    else:
        still = clear(lambda factor: possible_best(quiet, among, shift, alpha, factor))
    if still is None:
        return None, False
    excluded = {quiet["names"][place] for place in among} - {quiet["names"][place] for place in still}
    calm = {place for place in places if board["names"][place] not in excluded}
    return sorted({*kept} | calm), {*kept} != calm


def ties_in_both(board, tied, second, alpha, margin):
    """Those of the tied pairs that are a tie in quiet trials, too; None: too close to tell."""
    if second is None or tied is None:
        return tied
    quiet, shift, among = second
    if quiet["discrete"]:
        return set()
    found = clear(lambda factor: ties(quiet, among, shift, alpha, margin, factor))
    if found is None:
        return None
    still = {(quiet["names"][i], quiet["names"][j]) for i, j in found}
    return {(i, j) for i, j in tied if (board["names"][i], board["names"][j]) in still}


def quietly_above(second):
    """Pairs of names of which the first is surely above the other in quiet trials; None: too close to tell."""
    if second is None:
        return set()
    quiet, shift, among = second
    if quiet["discrete"]:
        above = above_by_ranks(quiet, among, shift, 0.05)
    else:
        above = clear(lambda factor: surely_above(quiet, among, shift, 0.05, factor))
    above = confirmed(quiet, above, shift)
    return None if above is None else {(quiet["names"][i], quiet["names"][j]) for i, j in above}


def better_in_both(benchmark, metric, board, views):
    """Pairs of names of which the first is certainly better in both views; None: too close to tell."""
    places, shift = range(len(board["names"])), [0.0] * len(board["names"])
    above, _ = certain(board, places, shift)
    row = {"benchmark": benchmark, "metric": metric, "view": "plain"}
    second = second_view(row, {*board["names"]}, views, {})
    still = quietly_above(second)
    if above is None or still is None:
        return None
    named = {(board["names"][i], board["names"][j]) for i, j in above}
    return named if second is None else named & still


def pairs_in(row):
    """The names of both sides of each pair; a name may hold spaces."""
    return list(zip(row["lefts"].split(";"), row["rights"].split(";"), strict=True))


def contrast_in_quiet_trials(row, views, months):
    """Its verdict over the pairs of which both sides have quiet trials."""
    if (row["benchmark"], row["metric"], row["view"] == "per CPU") not in views["strict"]:
        return "unresolved"
    board, shift, _ = view_of(row, views["strict"], months)
    able = {name for name, place in board["place"].items() if board["able"][place]}
    pairs = [tuple(board["place"][name] for name in pair) for pair in pairs_in(row) if able.issuperset(pair)]
    if not pairs:
        return "unresolved"
    pair = of_pairs(board, pairs, shift)
    pair |= {"p_adjusted": pair["p"], "higher": row["direction"] == "higher"}
    return verdict(pair, float(row["margin_percent"]) / 100, float(row["alpha"]))
