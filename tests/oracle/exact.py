"""Exact statistics in plain Python: intervals of medians, rank-sum tests within blocks, corrections, verdicts."""

import math
from collections import defaultdict
from functools import cache
from statistics import median

MAX_EXACT_PAIRS = 2500
"""Beyond so many pairs of values the report uses the normal approximation, which is left out here."""


@cache
def median_rank(n):
    """The largest k for which [k-th smallest, k-th largest] covers the median with 95 %, else 1; and its coverage."""

    def coverage(k):
        return max(0.0, 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n)

    best = max((k for k in range(1, (n + 1) // 2 + 1) if coverage(k) >= 0.95), default=1)
    return best, coverage(best)


def compare(blocks):
    """Left against right within blocks: the median of ratios, its exact interval, and the exact p-value.

    One block is the Hodges-Lehmann ratio with the Mann-Whitney test; several are the stratified rank sum test.
    """
    logs = sorted(math.log(a) - math.log(b) for x, y in blocks for a in x for b in y)
    none = {"ratio": math.exp(median(logs)), "low": None, "high": None, "p": 1.0, "p_adjusted": 1.0}
    if len(logs) > MAX_EXACT_PAIRS:
        return {**none, "left_out": True}
    null, total, rank, below = {0: 1}, 1, 0, 0
    for x, y in blocks:
        m, n = len(x), len(y)
        of_ranks = sums_of(tuple(range(1, m + n + 1)), m)
        null = added(null, {size - m * (m + 1) // 2: count for size, count in of_ranks.items()})
        total *= math.comb(m + n, m)
    while 2 * rank < len(logs) and 2 * (below + null.get(rank, 0)) <= 0.05 * total:
        below += null.get(rank, 0)
        rank += 1
    ends = {"low": math.exp(logs[rank - 1]), "high": math.exp(logs[-rank])} if rank else {}
    return {**none, **ends, "p": p_value(blocks), "coverage": 1 - 2 * below / total if rank else None}


def of_medians(found, left, right):
    """The same with the ratio of the medians, and an interval that contains it."""
    ratio, low, high = median(left) / median(right), found["low"], found["high"]
    ends = {} if low is None else {"low": min(low, ratio), "high": max(high, ratio)}
    return found | {"ratio": ratio} | ends


def p_value(blocks):
    """Twice the smaller tail of the rank sum over all relabellings within blocks; ties have their middle rank."""
    null, total, observed = {0: 1}, 1, 0
    for x, y in blocks:
        ordered, first, last = sorted([*x, *y]), {}, {}
        for place, value in enumerate(ordered, start=1):
            first.setdefault(value, place)
            last[value] = place
        null = added(null, sums_of(tuple(first[value] + last[value] for value in ordered), len(x)))
        observed += sum(first[value] + last[value] for value in x)
        total *= math.comb(len(ordered), len(x))
    lower = sum(count for size, count in null.items() if size <= observed)
    upper = sum(count for size, count in null.items() if size >= observed)
    return min(1.0, 2 * min(lower, upper) / total)


@cache
def sums_of(scores, chosen):
    """In how many ways so many of the scores have each sum."""
    ways = [{0: 1}] + [{} for _ in range(chosen)]
    for score in scores:
        for j in range(chosen, 0, -1):
            for total, count in ways[j - 1].items():
                ways[j][total + score] = ways[j].get(total + score, 0) + count
    return ways[chosen]


def added(left, right):
    """In how many ways the sum of both has each value."""
    found = defaultdict(int)
    for a, ways in left.items():
        for b, more in right.items():
            found[a + b] += ways * more
    return found


def judge(pairs, method, study):
    """Corrects the p-values of those that can make a claim, and gives each its verdict."""
    claims = [pair for pair in pairs if pair["low"] is not None]
    for pair, p in zip(claims, method([pair["p"] for pair in claims]), strict=True):
        pair["p_adjusted"] = p
    for pair in pairs:
        pair["verdict"] = verdict(pair, study["equivalence_margin_percent"] / 100, study["alpha"])


def holm(p):
    adjusted, highest = [0.0] * len(p), 0.0
    for place, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        highest = max(highest, min(1.0, (len(p) - place) * p[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p):
    adjusted, lowest = [0.0] * len(p), 1.0
    for place, index in enumerate(sorted(range(len(p)), key=lambda i: -p[i])):
        lowest = min(lowest, p[index] * len(p) / (len(p) - place))
        adjusted[index] = lowest
    return adjusted


def verdict(pair, margin, alpha):
    if pair["low"] is None:
        return "unresolved"
    if pair["low"] >= 1 / (1 + margin) and pair["high"] <= 1 + margin:
        return "tie"
    if pair["p_adjusted"] < alpha and (pair["low"] > 1 or pair["high"] < 1):
        return "better" if (pair["low"] > 1) == pair["higher"] else "worse"
    return "unresolved"


def claim_verdict(kind, pair, study):
    if pair["low"] is None or pair.get("disputed"):
        return "not decided"
    least, most = 1 / (1 + study["equivalence_margin_percent"] / 100), 1 + study["equivalence_margin_percent"] / 100
    low, high = pair["low"], pair["high"]
    if kind == "tie":
        supported, refuted = least <= low and high <= most, high < least or low > most
    elif kind == "not-worse":
        supported = low >= least if pair["higher"] else high <= most
        refuted = high < least if pair["higher"] else low > most
    else:
        supported = pair["verdict"] == ("worse" if kind == "last" else "better")
        refuted = not supported and pair["verdict"] != "unresolved"
    if kind in {"tie", "not-worse"}:
        refuted = refuted and pair["p_adjusted"] < study["alpha"]
    return "supported" if supported else "refuted" if refuted else "not decided"
