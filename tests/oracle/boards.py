"""Leaderboards in plain Python: configurations within blocks, spreads with borrowed strength, and what follows."""

import math
from functools import cache
from statistics import median

import numpy as np
from scipy.special import digamma, polygamma
from scipy.stats import chi2, studentized_range, t

from tests.oracle.unlike import excess, furthest, kinds, own_kinds

CAUTION = 0.95
MIN_VALUES = 3
NO_SPREAD = 1e-18
TOO_CLOSE = 0.006
"""The report takes quantiles from a grid that is right to 0.5 %; closer answers are not compared."""


@cache
def critical_range(groups, freedom, alpha):
    """The studentised range of so many means that chance exceeds with probability alpha."""
    return math.inf if freedom < 1 - 1e-9 else float(studentized_range.isf(alpha, groups, freedom))


# the fit


def fit(values, blocked):
    """Name -> block -> logarithm, higher is better: without values that are far off, widened where values depend."""
    kept, most = {name: dict(of) for name, of in values.items()}, {name: len(of) // 6 for name, of in values.items()}
    while True:
        plain = least_squares(kept, blocked)
        names, squares = (
            plain["names"],
            [sum(x**2 for x in plain["residuals"][name].values()) for name in plain["names"]],
        )
        far = furthest(
            names, plain["residuals"], dict(zip(names, squares, strict=True)),
            dict(zip(names, plain["own freedom"], strict=True)), most,
        )  # fmt: skip
        if far is None:
            break
        name, block = far
        if plain["blocked"] and len(names) == 2 and all(most.values()):
            away = {of: abs(kept[of][block] - median(kept[of].values())) for of in names if block in kept[of]}
            name = max(names, key=lambda of: away.get(of, -1.0))
        del kept[name][block]
        most[name] -= 1
    blocked, freedom, k = plain["blocked"], plain["own freedom"], len(names)
    variances, worth, total = moderated(squares, freedom, paired=blocked and k == 2)
    times = 1.0
    if blocked:
        blocks = sorted({block for of in values.values() for block in of}, key=int)
        times = excess(plain["residuals"], dict(zip(names, variances, strict=True)), sum(freedom), blocks)
    squares, variances = [times * x for x in squares], [x and times * x for x in variances]
    two = kinds(plain["residuals"])
    two = own_kinds(two, kept) if blocked else two
    counts = [len(values[name]) for name in names]
    several = [square for square, count in zip(squares, counts, strict=True) if count >= MIN_VALUES]
    discrete = bool(several) and sum(square <= NO_SPREAD for square in several) > len(several) / 2
    blocks = sorted({block for of in kept.values() for block in of})
    return plain | {
        "each": precision(kept, names, blocks) if blocked else [1 / len(kept[name]) for name in names],
        "counts": counts,
        "variances": variances,
        "freedom": worth,
        "own": [
            (squares[i] / freedom[i], freedom[i])
            if squares[i] > NO_SPREAD and freedom[i] > 0
            else (variances[i], worth[i])
            for i in range(k)
        ],
        "total": total,
        "discrete": discrete,
        "able": [counts[i] >= MIN_VALUES and variances[i] is not None for i in range(k)],
        "kinds": [two[name] for name in names],
        "aside": [[of for block, of in values[name].items() if block not in kept[name]] for name in names],
        "widened": math.sqrt(times),
    }


def least_squares(values, blocked):
    """Configurations within blocks."""
    names = sorted(values)
    blocks = sorted({block for of in values.values() for block in of})
    blocked = blocked and connected(values)
    k = len(names)
    counts = [len(values[name]) for name in names]
    if blocked:
        members = {block: [i for i, name in enumerate(names) if block in values[name]] for block in blocks}
        unscaled = inverse_of_laplacian(counts, members)
        mean_of = {
            block: sum(values[names[i]][block] for i in inside) / len(inside) for block, inside in members.items()
        }
        off = [sum(value - mean_of[block] for block, value in values[name].items()) for name in names]
        effects = [sum(unscaled[i][j] * off[j] for j in range(k)) for i in range(k)]
        at = {
            block: mean_of[block] - sum(effects[i] for i in inside) / len(inside) for block, inside in members.items()
        }
        general = sum(at.values()) / len(at)
        means = [effect + general for effect in effects]
        crossed = {
            block: [sum(row[j] for j in inside) / len(inside) for row in unscaled] for block, inside in members.items()
        }
        residuals = {
            name: {block: value - effects[i] - at[block] for block, value in values[name].items()}
            for i, name in enumerate(names)
        }
        freedom = []
        for i, name in enumerate(names):
            taken = 0.0
            for block in values[name]:
                inside = members[block]
                within = sum(crossed[block][j] for j in inside) / len(inside)
                taken += 1 / len(inside) + unscaled[i][i] - 2 * crossed[block][i] + within
            freedom.append(counts[i] - taken)
    else:
        means = [sum(values[name].values()) / len(values[name]) for name in names]
        residuals = {
            name: {block: value - mean for block, value in values[name].items()}
            for name, mean in zip(names, means, strict=True)
        }
        unscaled = [[1 / counts[i] if i == j else 0.0 for j in range(k)] for i in range(k)]
        freedom = [count - 1.0 for count in counts]
    return {
        "names": names,
        "means": means,
        "unscaled": unscaled,
        "blocked": blocked,
        "residuals": residuals,
        "own freedom": freedom,
    }


def precision(values, names, blocks):
    """Of each mean: its variance in units of that of a value, from the design matrix with blocks that add up to 0."""
    rows = [(i, blocks.index(block)) for i, name in enumerate(names) for block in values[name]]
    design = np.zeros((len(rows), len(names) + len(blocks) - 1))
    for at, (i, block) in enumerate(rows):
        design[at, i] = 1.0
        if block < len(blocks) - 1:
            design[at, len(names) + block] = 1.0
        else:
            design[at, len(names) :] = -1.0
    return np.diag(np.linalg.inv(design.T @ design))[: len(names)].tolist()


def level_of(board, place):
    """What ratios are quotients of, with its interval; None: too few values for one."""
    middle, sign = board["levels"][place], board["sign"]
    if board["discrete"] or not board["able"][place]:
        return math.exp(sign * middle), None
    variance, freedom = board["own"][place]
    half = t.isf(0.025, board["total"] if board["blocked"] and len(board["names"]) == 2 else freedom)
    half *= math.sqrt(variance * board["each"][place])
    return math.exp(sign * middle), (math.exp(sign * middle - half), math.exp(sign * middle + half))


def connected(values):
    reached, waiting = set(), [next(iter(values))]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [other for other in values if not values[other].keys().isdisjoint(values[name])]
    return len(reached) == len(values)


def inverse_of_laplacian(counts, members):
    """Of the normal equations without the blocks, by elimination."""
    k = len(counts)
    if all(len(inside) == k for inside in members.values()):
        return [[((i == j) - 1 / k) / len(members) for j in range(k)] for i in range(k)]
    rows = [
        [(counts[i] if i == j else 0.0) + 1 / k for j in range(k)] + [float(i == j) for j in range(k)] for i in range(k)
    ]
    for inside in members.values():
        for i in inside:
            for j in inside:
                rows[i][j] -= 1 / len(inside)
    for i in range(k):
        best = max(range(i, k), key=lambda row: abs(rows[row][i]))
        rows[i], rows[best] = rows[best], rows[i]
        pivot = rows[i][i]
        rows[i] = [value / pivot for value in rows[i]]
        for j in range(k):
            factor = rows[j][i]
            if j != i and factor:
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [[value - 1 / k for value in row[k:]] for row in rows]


def weighted_median(pairs):
    """Of pairs (value, weight): where half of the weight lies below, interpolated between values."""
    ordered, half, last, done = sorted(pairs), sum(weight for _, weight in pairs) / 2, None, 0.0
    for value, weight in ordered:
        here = done + weight / 2
        if here >= half:
            return value if last is None else last[0] + (value - last[0]) * (half - last[1]) / (here - last[1])
        last, done = (value, here), done + weight
    return ordered[-1][0]


def moderated(squares, freedom, paired):
    """Variances of single values, what they are worth in degrees of freedom, and what all are worth together."""
    k, total = len(squares), sum(freedom)
    if total <= 0:
        return [None] * k, [0.0] * k, 0.0
    pooled = sum(squares) / total
    if paired or pooled == 0:
        return [pooled] * k, [total] * k, total
    known = [i for i in range(k) if freedom[i] > 0.3 and squares[i] > 0]
    raw = [squares[i] / freedom[i] if freedom[i] > 0.3 else None for i in range(k)]
    if len(known) < 3:
        return raw, [freedom[i] if freedom[i] > 0.3 else 0.0 for i in range(k)], total
    logs = {i: math.log(raw[i]) - digamma(freedom[i] / 2) + math.log(freedom[i] / 2) for i in known}
    noise = {i: polygamma(1, freedom[i] / 2) for i in known}
    inverse = {i: 1 / noise[i] for i in known}
    squared = {i: 1 / noise[i] ** 2 for i in known}
    centre = sum(squared[i] * logs[i] for i in known) / sum(squared.values())
    left = {i: squared[i] * (1 - squared[i] / sum(squared.values())) for i in known}
    scatter = sum(squared[i] * (logs[i] - centre) ** 2 for i in known) / sum(left.values())
    others = sum(inverse.values()) ** 2 / sum(squared.values()) - 1
    careful = scatter * others / chi2.isf(CAUTION, others)
    excess = careful - sum(left[i] * noise[i] for i in known) / sum(left.values())
    if excess <= 0:
        return [pooled] * k, [total] * k, total
    low, high = 1e-6, 1e6
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if polygamma(1, middle / 2) > excess else (low, middle)
    common = sum(inverse[i] * logs[i] for i in known) / sum(inverse.values())
    prior = math.exp(common + digamma(low / 2) - math.log(low / 2))
    floor = weighted_median([(squares[i] / chi2.isf(0.5, freedom[i]), inverse[i]) for i in known])
    shrunk = [max((low * prior + squares[i]) / max(low + freedom[i], 1e-12), floor) for i in range(k)]
    return shrunk, [min(low + freedom[i], total) for i in range(k)], total


# questions


def error_and_freedom(board, i, j):
    unscaled, variances, each = board["unscaled"], board["variances"], board["freedom"]
    parts = [(unscaled[i][i] - unscaled[i][j]) * variances[i], (unscaled[j][j] - unscaled[i][j]) * variances[j]]
    freedom = min(each[i], each[j])
    if not board["blocked"] and len(each) == 2:
        own = [unscaled[i][i] * variances[i], unscaled[j][j] * variances[j]]
        below = sum(part**2 / worth for part, worth in zip(own, (each[i], each[j]), strict=True) if worth)
        freedom = sum(own) ** 2 / below if below else freedom
    return math.sqrt(max(sum(parts), 0.0)), freedom


def contrast(board, pairs, shift):
    """Estimate, ends of the interval and p-value of the mean difference over pairs of places, on logarithms."""
    weights = {}
    for first, second in pairs:
        weights[first] = weights.get(first, 0.0) + 1 / len(pairs)
        weights[second] = weights.get(second, 0.0) - 1 / len(pairs)
    weights = {place: weight for place, weight in weights.items() if weight}
    estimate = sum(weight * (board["means"][i] + shift[i]) for i, weight in weights.items())
    inner = {i: sum(board["unscaled"][i][j] * other for j, other in weights.items()) for i in weights}
    parts = {i: weight * inner[i] * board["own"][i][0] for i, weight in weights.items()}
    variance = max(sum(parts.values()), 0.0)
    error, freedom = math.sqrt(variance), min(board["own"][i][1] for i in weights)
    if variance > 0:
        below = sum(part**2 / board["own"][i][1] for i, part in parts.items())
        freedom = min(variance**2 / below, board["total"])
    leans = {i: sorted(weight * lean for lean in board["kinds"][i][:2]) for i, weight in weights.items()}
    down, up = (sum(lean[end] for lean in leans.values()) for end in (0, 1))
    sure = max(estimate + down, 0.0) + min(estimate + up, 0.0)
    half = t.isf(0.025, freedom) * error if error else 0.0
    p = 2 * t.sf(abs(sure) / error, freedom) if error else 1.0 if sure == 0 else 0.0
    return estimate, estimate - half + down, estimate + half + up, p


def distances(board, places, shift):
    """(i, j) -> sure gap in units of the studentised range, its degrees of freedom, error, gap and doubt."""
    found = {}
    for i in places:
        for j in places:
            if i != j and board["able"][i] and board["able"][j]:
                error, freedom = error_and_freedom(board, i, j)
                gap = board["means"][i] + shift[i] - board["means"][j] - shift[j]
                (low_i, high_i, *_), (low_j, high_j, *_) = board["kinds"][i], board["kinds"][j]
                sure = max(gap + low_i - high_j, 0.0) + min(gap + high_i - low_j, 0.0)
                distance = math.sqrt(2) * sure / error if error else math.copysign(math.inf, sure) if sure else 0.0
                found[i, j] = (distance, freedom, error, gap, max(high_i - low_j, high_j - low_i))
    return found


def possible_best(board, places, shift, alpha, factor=1.0):
    """Places that may be the best. With another factor, critical values are that many times as large."""
    found, kept = distances(board, places, shift), list(places)
    while True:
        able = [place for place in kept if board["able"][place]]
        if len(able) < 2:
            return kept
        excluded = {
            i
            for i in able
            for j in able
            if i != j and -found[i, j][0] > factor * critical_range(len(able), found[i, j][1], alpha)
        }
        if not excluded:
            return kept
        kept = [place for place in kept if place not in excluded]


def surely_above(board, places, shift, alpha, factor=1.0):
    """Pairs (i, j) of which i is surely above j; one error rate for all."""
    k = sum(board["able"][place] for place in places)
    found = distances(board, places, shift)
    return {
        pair
        for pair, (_, freedom, error, gap, doubt) in found.items()
        if gap > 0 and gap > factor * critical_range(k, freedom, alpha) / math.sqrt(2) * error + doubt
    }


def ties(board, places, shift, alpha, margin, factor=1.0):
    """Pairs whose simultaneous interval is within the margin."""
    k = sum(board["able"][place] for place in places)
    return {
        pair
        for pair, (_, freedom, error, gap, doubt) in distances(board, places, shift).items()
        if abs(gap) + factor * critical_range(k, freedom, alpha) / math.sqrt(2) * error + doubt <= math.log1p(margin)
    }


def clear(answer):
    """The answer with the exact critical value; None if one that is a little smaller or larger would change it."""
    found = [answer(factor) for factor in (1.0, 1 - TOO_CLOSE, 1 + TOO_CLOSE)]
    return found[0] if found[0] == found[1] == found[2] else None
