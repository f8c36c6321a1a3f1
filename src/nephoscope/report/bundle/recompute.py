"""Recomputes the figures of a nephoscope report from its tables: Python's own library, nothing else.

    python3 recompute.py [FOLDER]

From trials.csv and measurements.csv: medians, their intervals and coverage, ratios with intervals, p-values, their
correction, verdicts, ranks. From cost_lines.csv: months, dollars for one unit, verdicts and ranks per dollar. Each is
held against the table that the report prints. Exit code 0: all agree; 1: some do not, and each is named.
"""

import csv
import json
import math
import sys
from collections import defaultdict
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median

MOST_EXACT_PAIRS = 2500
"""Beyond so many pairs of values the report uses the normal approximation, which is left out here."""

problems = []
counts = defaultdict(int)


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    tables = {file.stem: list(csv.DictReader(file.open(encoding="utf-8", newline=""))) for file in folder.glob("*.csv")}
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    metrics = {(row["benchmark"], row["metric"]): row for row in tables["metrics"]}
    cells = cells_of(tables["trials"], tables["measurements"], metrics)
    check_statistics(tables["statistics"], cells)
    plain = compare_all({key: cells[key] for key in cells}, metrics, study)
    check_comparisons(tables["comparisons"], plain, "comparisons")
    months = check_costs(tables["costs"], tables["cost_lines"])
    check_price_performance(tables["price_performance"], cells, months)
    for basis in sorted({basis for _, basis in months}):
        per_dollar = {
            key: [value / months[key[3], basis] for value in values]
            for key, values in cells.items()
            if not key[2] and (key[3], basis) in months and len(values) > 1 and priced(metrics.get(key[:2]))
        }
        found = compare_all(per_dollar, metrics, study)
        rows = [row for row in tables["price_comparisons"] if row["basis"] == basis]
        check_comparisons(rows, found, f"price_comparisons, {basis}")
        check_ranks([row for row in tables["ranks"] if row["basis"] == basis], found)
    check_ranks([row for row in tables["ranks"] if not row["basis"]], plain)
    for what, count in sorted(counts.items()):
        print(f"{count} figures recomputed: {what}")
    for problem in problems:
        print(f"DIFFERS: {problem}")
    return 1 if problems else 0


def agree(what, where, stored, value):
    """Equal but for the order of additions."""
    counts[what] += 1
    if stored == "" or value is None:
        same = stored == "" and value is None
    elif isinstance(value, str):
        same = stored == value
    else:
        same = math.isclose(float(stored), value, rel_tol=1e-9, abs_tol=1e-12)
    if not same:
        problems.append(f"{where}: the table says {stored or 'nothing'}, recomputed {value}")


def cells_of(trials, measurements, metrics):
    """(benchmark, metric, per CPU, configuration) -> values of the trials that count, smallest first."""
    good = {row["trial"]: row for row in trials if row["state"] == "finished" and row["verdict"] == "valid"}
    cells = defaultdict(list)
    for row in measurements:
        trial = good.get(row["trial"])
        if trial is None or row["at_s"]:
            continue
        value = float(row["value"])
        cells[row["benchmark"], row["metric"], False, row["configuration"]].append(value)
        declared = metrics.get((row["benchmark"], row["metric"]))
        if declared and declared["per_cpu"] == "true" and trial["cpus"]:
            cells[row["benchmark"], row["metric"], True, row["configuration"]].append(value / int(trial["cpus"]))
    return {key: sorted(values) for key, values in cells.items()}


def check_statistics(rows, cells):
    for row in rows:
        key = (row["benchmark"], row["metric"], row["per_cpu"] == "true", row["configuration"])
        values = cells[key]
        rank, coverage = median_rank(len(values))
        found = {"n": len(values), "median": median(values), "low": values[rank - 1], "high": values[-rank]}
        found["coverage"] = coverage
        found["mad"] = median(abs(value - found["median"]) for value in values)
        for name, value in found.items():
            agree("statistics", f"{' '.join(map(str, key))} {name}", row[name], value)


@cache
def median_rank(n):
    """The largest k for which [k-th smallest, k-th largest] covers the median with 95 %, else 1; and its coverage."""

    def coverage(k):
        return max(0.0, 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n)

    best = max((k for k in range(1, (n + 1) // 2 + 1) if coverage(k) >= 0.95), default=1)
    return best, coverage(best)


def compare_all(cells, metrics, study):
    """(benchmark, metric, per CPU, left, right) -> ratio, ends, p, corrected p and verdict."""
    families = defaultdict(list)
    boards = defaultdict(dict)
    for (benchmark, metric, per_cpu, name), values in cells.items():
        boards[benchmark, metric, per_cpu][name] = values
    for (benchmark, metric, per_cpu), board in boards.items():
        declared = metrics.get((benchmark, metric))
        headline = bool(declared) and declared["headline"] == "true"
        for left, right in combinations(sorted(board), 2):
            if board[left][0] > 0 and board[right][0] > 0:
                pair = compare(board[left], board[right])
                pair["key"] = (benchmark, metric, per_cpu, left, right)
                pair["higher"] = declared["direction"] == "higher" if declared else True
                families[headline, per_cpu].append(pair)
    for (headline, _), pairs in families.items():
        correct([pair for pair in pairs if pair["low"] is not None], holm if headline else benjamini_hochberg)
        for pair in pairs:
            pair["verdict"] = verdict(pair, study["equivalence_margin_percent"] / 100, study["alpha"])
    return {pair["key"]: pair for pairs in families.values() for pair in pairs}


def compare(x, y):
    """Hodges-Lehmann ratio, the exact Mann-Whitney interval, and the exact p-value."""
    logs = sorted(math.log(a) - math.log(b) for a in x for b in y)
    m, n = len(x), len(y)
    if m * n > MOST_EXACT_PAIRS:
        return {"ratio": math.exp(median(logs)), "low": None, "high": None, "p": 1.0, "p_adjusted": 1.0}
    null = sums_of(tuple(range(1, m + n + 1)), m)
    offset, total, rank, below = m * (m + 1) // 2, math.comb(m + n, m), 0, 0
    while 2 * rank < m * n and 2 * (below + null.get(offset + rank, 0)) <= 0.05 * total:
        below += null.get(offset + rank, 0)
        rank += 1
    ends = (math.exp(logs[rank - 1]), math.exp(logs[-rank])) if rank else (None, None)
    return {"ratio": math.exp(median(logs)), "low": ends[0], "high": ends[1], "p": p_value(x, y), "p_adjusted": 1.0}


@cache
def sums_of(scores, chosen):
    """In how many ways so many of the scores have each sum."""
    ways = [{0: 1}] + [{} for _ in range(chosen)]
    for score in scores:
        for j in range(chosen, 0, -1):
            for total, count in ways[j - 1].items():
                ways[j][total + score] = ways[j].get(total + score, 0) + count
    return ways[chosen]


def p_value(x, y):
    """Twice the smaller tail of the rank sum over all ways to choose m of the values; ties have their middle rank."""
    ordered = sorted([*x, *y])
    first, last = {}, {}
    for place, value in enumerate(ordered, start=1):
        first.setdefault(value, place)
        last[value] = place
    doubled = [first[value] + last[value] for value in ordered]
    observed = sum(first[value] + last[value] for value in x)
    ways, total = sums_of(tuple(doubled), len(x)), math.comb(len(ordered), len(x))
    lower = sum(count for size, count in ways.items() if size <= observed)
    upper = sum(count for size, count in ways.items() if size >= observed)
    return min(1.0, 2 * min(lower, upper) / total)


def correct(pairs, method):
    for pair, p in zip(pairs, method([pair["p"] for pair in pairs]), strict=True):
        pair["p_adjusted"] = p


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


def check_comparisons(rows, found, what):
    for row in rows:
        key = (row["benchmark"], row["metric"], row["per_cpu"] == "true", row["left"], row["right"])
        if int(row["n_left"]) * int(row["n_right"]) > MOST_EXACT_PAIRS:
            continue
        pair = found[key]
        for name, stored in (("ratio", "ratio"), ("low", "low"), ("high", "high"), ("p", "p_value")):
            agree(what, f"{' '.join(map(str, key))} {stored}", row[stored], pair[name])
        agree(what, f"{' '.join(map(str, key))} p_adjusted", row["p_adjusted"], pair["p_adjusted"])
        agree(what, f"{' '.join(map(str, key))} verdict", row["verdict"], pair["verdict"])


def check_costs(costs, lines):
    """(configuration, basis) -> dollars a month of all machines that count."""
    months = {}
    sums = defaultdict(list)
    for line in lines:
        usd = float(line["amount"]) * float(line["hours"] or 1) * float(line["rate_usd"])
        agree("cost lines", f"{line['configuration']} {line['what']}", line["usd"], usd)
        sums[line["configuration"], line["basis"]].append(usd)
    for row in costs:
        key = (row["configuration"], row["basis"])
        if not row["month_usd"]:
            continue
        one = math.fsum(sums[key]) if key in sums else float(row["usd_per_hour"]) * float(row["hours"])
        months[key] = one * int(row["machines"])
        agree("months", f"{' '.join(key)} machine_month_usd", row["machine_month_usd"], one)
        agree("months", f"{' '.join(key)} month_usd", row["month_usd"], months[key])
    return months


def priced(declared):
    return bool(declared) and declared["headline"] == "true" and declared["direction"] == "higher"


def check_price_performance(rows, cells, months):
    for row in rows:
        values = cells[row["benchmark"], row["metric"], False, row["configuration"]]
        month = months[row["configuration"], row["basis"]]
        rank, _ = median_rank(len(values))
        found = {"usd_per_unit": month / median(values), "low": month / values[-rank], "high": month / values[rank - 1]}
        for name, value in found.items():
            where = f"{row['configuration']} {row['benchmark']} {row['basis']} {name}"
            agree("dollars for one unit", where, row[name], value)


def check_ranks(rows, found):
    better, worse = defaultdict(int), defaultdict(int)
    for (benchmark, metric, per_cpu, left, right), pair in found.items():
        if pair["verdict"] in {"better", "worse"}:
            winner, loser = (left, right) if pair["verdict"] == "better" else (right, left)
            worse[benchmark, metric, per_cpu, winner] += 1
            better[benchmark, metric, per_cpu, loser] += 1
    for row in rows:
        key = (row["benchmark"], row["metric"], row["view"] == "per CPU", row["configuration"])
        agree("ranks", f"{' '.join(map(str, key))} first", row["first"], 1 + better[key])
        agree("ranks", f"{' '.join(map(str, key))} last", row["last"], int(row["of"]) - worse[key])


if __name__ == "__main__":
    sys.exit(main())
