"""What no model has: values far off, values of two kinds, and values that depend on those before."""

from itertools import pairwise, permutations
from statistics import median

import numpy as np
from scipy.stats import t

NO_SPREAD = 1e-18


def furthest(names, residuals, squares, freedom, most):
    """Name and block of the least probable value; None: no value is far off."""
    found = {}
    for name in names:
        n = len(residuals[name])
        if n > 2 and freedom[name] > 0:
            per = freedom[name] * (n - 2) / (n - 1)
            found[name] = {
                block: (squares[name] - residual**2 * n / (n - 1)) / per for block, residual in residuals[name].items()
            }
            found[name] = {block: of for block, of in found[name].items() if of * per > NO_SPREAD}
    least = [min(of.values(), default=np.inf) for of in found.values()] + [np.inf] * (len(names) - len(found))
    usual = median(least)
    chances = {}
    for name, of in found.items():
        n = len(residuals[name])
        for block, variance in of.items():
            scale = max(variance, usual) if np.isfinite(usual) else variance
            away = abs(residuals[name][block]) / np.sqrt(scale * freedom[name] / n)
            if most[name] > 0:
                chances[name, block] = 2 * n * t.sf(away, n - 2)
    return min(chances, key=chances.get) if chances and min(chances.values()) < 0.002 else None


def kinds(residuals):
    """Name -> (how far the more frequent kind is below and above the mean, lower values, gap of means)."""
    best = {}
    for name, of in residuals.items():
        ordered = sorted(of.values())
        n = len(ordered)
        splits = []
        for at in range(2, n - 1):
            low, high = ordered[:at], ordered[at:]
            inside = sum((x - np.mean(part)) ** 2 for part in (low, high) for x in part)
            if inside > NO_SPREAD:
                spread = np.sqrt(inside / (n - 2))
                splits.append(
                    ((high[0] - low[-1]) / spread, high[0] - low[-1], spread, at, np.mean(low), np.mean(high))
                )
        if splits:
            best[name] = (n, max(splits))
    usual = median([split[2] for _, split in best.values()]) if best else 0.0
    found = dict.fromkeys(residuals, (0.0, 0.0, 0, 0.0))
    for name, (n, (_, gap, spread, at, low, high)) in best.items():
        if gap > t.ppf(1 - 0.0025, n - 2) * max(spread, usual):
            found[name] = (low if 2 * at >= n else 0.0, high if 2 * at <= n else 0.0, at, high - low)
    return found


def own_kinds(found, values):
    """Within blocks, the others have too much of what one has too little: only the first of these came in two kinds."""
    several = [name for name, (_, _, lower, _) in found.items() if lower]
    others = len(values) - 1
    if others < 1 or not several:
        return found
    reach = {name: max(values[name].values()) - min(values[name].values()) for name in several}
    first = max(several, key=lambda name: reach[name] if others == 1 else found[name][3])
    limit = 1.5 * found[first][3] / others
    own = {name for name in several if name == first or found[name][3] > limit}
    return {
        name: (low, high, lower if name in own else 0, apart * (1 + 1 / others) if name in own else 0.0)
        for name, (low, high, lower, apart) in found.items()
    }


def excess(residuals, variances, total, blocks):
    """By how much dependence multiplies variances; 1: it is not shown."""
    n = len(blocks)
    if n < 4 or total < 20:
        return 1.0
    rows = [
        [residuals[name].get(block, 0.0) / np.sqrt(variances[name]) for block in blocks]
        for name in residuals
        if variances[name]
    ]
    pairs = np.array([[sum(row[i] * row[j] for row in rows) for j in range(n)] for i in range(n)])
    generator = np.random.default_rng(n)
    orders = permutations(range(n)) if n <= 6 else [range(n), *(generator.permutation(n) for _ in range(999))]
    sums = [sum(pairs[i, j] for i, j in pairwise(order)) for order in orders]
    if sum(one >= sums[0] - 1e-9 * abs(sums[0]) for one in sums) / len(sums) > 0.05:
        return 1.0
    expected, times = [], []
    for hundredth in range(91):
        of = [[(hundredth / 100) ** abs(i - j) for j in range(n)] for i in range(n)]
        mean, row = sum(map(sum, of)) / n**2, [sum(line) / n for line in of]
        centred = [[of[i][j] - row[i] - row[j] + mean for j in range(n)] for i in range(n)]
        inside = sum(centred[i][i] for i in range(n))
        expected.append(sum(centred[i][i + 1] for i in range(n - 1)) / inside)
        times.append(mean * n * (n - 1) / inside)
    return float(np.interp(sums[0] / sum(pairs[i, i] for i in range(n)), expected, times))
