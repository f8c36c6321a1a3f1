"""Recomputes the figures of a report from the tables in its bundle: a second implementation, to hold the first against.

From trials.csv and measurements.csv: medians, their intervals and coverage, spread, ratios with intervals, p-values,
their correction, verdicts, the best of leaderboards, ranks, contrasts, families of types, claims, what the checks
changed. From cost_lines.csv and network.csv: monthly costs, transfer, dollars for one unit, the Pareto front, answers
per dollar. Left out: what a question could have shown, answers within 0.6 % of a critical value, and comparisons with
more than 2,500 pairs of values. Nothing here imports nephoscope.
"""

import csv
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, median, stdev
from types import MappingProxyType

from tests.oracle.answers import better_in_both, check_best, check_contrasts, check_ranks, second_views
from tests.oracle.boards import level_of
from tests.oracle.exact import benjamini_hochberg, claim_verdict, compare, holm, judge, median_rank, of_medians
from tests.oracle.questions import block_of_trials, boards_of, pairs_of
from tests.oracle.quiet import check_delivered, check_steal, judged_quietly, lost_trials, quiet_cells

BYTES = {"GB": 10**9, "GiB": 2**30}
SECONDS_PER = {"/s": 1, "/min": 60}
NOT_OPERATIONS = {"B", "byte", "bytes", "bit"}


@dataclass(frozen=True)
class Recomputed:
    """How many figures of each kind were recomputed, and which differ from the tables."""

    counts: Counter[str]
    differences: list[str]


def recomputed(folder: Path) -> Recomputed:
    """Compares every figure of an unpacked bundle with what this package makes of its values."""
    counts, differences = Counter(), []
    for what, where, stored, value in figures(folder):
        counts[what] += 1
        if not agree(stored, value):
            differences.append(f"{where}: the table says {stored or 'nothing'}, recomputed {value}")
    return Recomputed(counts, differences)


def agree(stored, value):
    """Equal but for the order of additions."""
    if stored == "" or value is None:
        return stored == "" and value is None
    if isinstance(value, str):
        return stored == value
    return math.isclose(float(stored), value, rel_tol=1e-9, abs_tol=1e-12)


def figures(folder):
    """Yields kind, place, stored and recomputed value of each figure."""
    csv.field_size_limit(2**31 - 1)
    tables = {file.stem: list(csv.DictReader(file.open(encoding="utf-8", newline=""))) for file in folder.glob("*.csv")}
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    metrics = {(row["benchmark"], row["metric"]): row for row in tables["metrics"]}
    cells, trials_of = cells_of(tables["trials"], tables["measurements"], metrics)
    needed = [row for row in tables["trials"] if row["state"] != "not needed"]
    yield from check_statistics(tables["statistics"], cells, trials_of, Counter(map(cell_of_trial, needed)))
    lost, rejected = lost_trials(tables)
    calm, calm_trials = quiet_cells(cells, trials_of, lost)
    whole, whole_trials = cells_of(tables["trials"], tables["measurements"], metrics, adding=rejected)
    yield from check_steal(tables)
    for where, stored, value in check_delivered(
        tables["delivered"], (cells, trials_of), (calm, calm_trials), (whole, whole_trials)
    ):
        yield ("delivered", where, stored, value)
    block_of = block_of_trials(tables["trials"], trials_of)
    found = boards_of(cells, trials_of, block_of, metrics, study["blocked"])
    still = boards_of(calm, calm_trials, block_of, metrics, study["blocked"])
    views = second_views(
        *(cells, trials_of, calm, calm_trials, lost),
        lambda values, trials: boards_of(values, trials, block_of, metrics, study["blocked"]),
    )
    for board in found.values():
        board["margin"] = study["equivalence_margin_percent"] / 100
    months = yield from check_costs(tables["costs"], tables["cost_lines"], tables["metrics"])
    plain = compare_all(cells, found, metrics, study)
    if lost:
        judged_quietly(plain, compare_all(calm, still, metrics, study), cells, calm)
    yield from check_pairs(tables["comparisons"], plain, "comparisons", cells)
    for basis in sorted({row["basis"] for row in tables["price_comparisons"]}):
        dollars = per_dollar(found, months, basis, metrics, study)
        if lost:
            judged_quietly(dollars, per_dollar(still, months, basis, metrics, study), cells, calm)
        rows = [row for row in tables["price_comparisons"] if row["basis"] == basis]
        yield from check_pairs(rows, dollars, f"price_comparisons, {basis}", cells, months)
    levels = {key: (median(values), None) for key, values in cells.items()}
    levels |= {
        (*key, name): level_of(board, i) for key, board in found.items() for i, name in enumerate(board["names"])
    }
    yield from check_levels(tables["statistics"], cells, levels, found)
    alone = yield from check_best(tables["best"], found, months, study, views)
    yield from check_ranks(tables["ranks"], alone, found, months, levels, views)
    yield from check_contrasts(tables["contrasts"], found, months, views)
    moved = yield from check_transfers(
        tables["transfers"], tables["network"], measured_bytes(tables["measurements"], tables["metrics"])
    )
    sold, about = tables["price_performance"], (tables["costs"], tables["metrics"])
    yield from check_price_performance(sold, (cells, levels), months, moved, about, found, views)
    yield from check_families(tables["family_comparisons"], cells, study)
    yield from check_claims(tables["claims"], cells, months, metrics, study, found)
    yield from check_gate(tables["gate"], tables["trials"], tables["measurements"])


def cell_of_trial(row):
    return row["configuration"], row["benchmark"]


# configurations


def cells_of(trials, measurements, metrics, *, adding=()):
    """(benchmark, metric, per CPU, configuration) -> values of the trials that count, smallest first; and their ids."""
    good = {row["trial"]: row for row in trials if row["state"] == "finished" and row["verdict"] == "valid"}
    good |= {row["trial"]: row for row in trials if row["trial"] in adding}
    cells = defaultdict(list)
    for row in measurements:
        trial = good.get(row["trial"])
        if trial is None or row["at_s"]:
            continue
        value, key = float(row["value"]), (row["benchmark"], row["metric"])
        cells[*key, False, row["configuration"]].append((value, row["trial"]))
        declared = metrics.get(key)
        if declared and declared["per_cpu"] == "true" and trial["cpus"]:
            cells[*key, True, row["configuration"]].append((value / int(trial["cpus"]), row["trial"]))
    ordered = {key: by_machine(sorted(pairs), good) for key, pairs in cells.items()}
    return (
        {key: [value for value, _ in pairs] for key, pairs in ordered.items()},
        {key: [trials for _, trials in pairs] for key, pairs in ordered.items()},
    )


def by_machine(pairs, trials):
    """Values with the trials behind each: machines with their medians if there are four or more, some with several."""
    nested = defaultdict(list)
    for value, trial in pairs:
        nested[trials[trial].get("machine")].append((value, trial))
    if not all(nested) or len(nested) < 4 or len(nested) == len(pairs):
        return [(value, [trial]) for value, trial in pairs]
    return sorted((median([value for value, _ in many]), [trial for _, trial in many]) for many in nested.values())


def check_statistics(rows, cells, trials_of, planned):
    for row in rows:
        key = (row["benchmark"], row["metric"], row["per_cpu"] == "true", row["configuration"])
        values, n = cells[key], len(cells[key])
        (rank, coverage), middle, mean = median_rank(n), median(values), fmean(values)
        low, high = values[rank - 1], values[-rank]
        deviations = [abs(value - middle) for value in values]
        mad, mean_deviation = median(deviations), fmean(deviations)
        scale = 0.6745 / mad if mad else 0.797885 / mean_deviation if mean_deviation else 0
        pairs, used = zip(trials_of[key], deviations, strict=True), [t for many in trials_of[key] for t in many]
        far = [trial for many, off in pairs if n >= 6 and scale * off > 3.5 for trial in many]
        found = {"n": n, "median": middle, "low": low, "high": high, "coverage": coverage, "mad": mad} | {
            "n_excluded": planned[row["configuration"], row["benchmark"]] - len(used),
            "margin_percent": 50 * (high - low) / abs(middle) if middle and n > 1 else None,
            "cv_percent": 100 * stdev(values) / abs(mean) if mean and n > 1 else None,
            "range_percent": 100 * (values[-1] - values[0]) / abs(middle) if middle else None,
            "minimum": values[0],
            "maximum": values[-1],
            "more_replicates_needed": max(0, 6 - n),
            "outliers": ";".join(far) or None,
            "trials": ";".join(used),
        }
        for name, value in found.items():
            yield ("statistics", f"{' '.join(map(str, key))} {name}", row[name], value)


def check_levels(rows, cells, levels, boards):
    for row in rows:
        key = (row["benchmark"], row["metric"], row["per_cpu"] == "true", row["configuration"])
        found = dict.fromkeys(("level", "level_low", "level_high", "level_coverage", "pulling_percent"))
        values, found["pulling"] = cells[key], 0
        found |= {"set_aside_percent": None, "second_kind": 0, "second_kind_percent": None, "widened": 1.0}
        if values[0] > 0:
            (rank, coverage), (level, ends) = median_rank(len(values)), levels[key]
            low, high = ends or (values[rank - 1], values[-rank])
            found |= {"level": level, "level_low": low, "level_high": high}
            found |= {"level_coverage": 0.95 if ends else coverage} | pulling(values, level)
            found |= unlike(boards.get(key[:3]), key[3], values)
        for name, value in found.items():
            yield ("statistics", f"{' '.join(map(str, key))} {name}", row[name], value)


def unlike(board, name, values):
    """What the fit did with values that it is no model for."""
    if board is None or board["discrete"]:
        return {}
    place = board["place"][name]
    away = [100 * (math.exp(board["sign"] * log) / median(values) - 1) for log in board["aside"][place]]
    (_, _, lower, apart), used = board["kinds"][place], len(values) - len(away)
    kind = {"second_kind": min(lower, used - lower)} if lower else {}
    if lower:
        kind["second_kind_percent"] = 100 * math.expm1(board["sign"] * (-apart if 2 * lower <= used else apart))
    return kind | {"set_aside_percent": max(away, key=abs, default=None), "widened": board["widened"]}


def pulling(values, level):
    """How many values are on the side of the level, at least half as far from the median as the farthest."""
    middle = median(values)
    if math.isclose(level, middle, rel_tol=1e-12):
        return {}
    distances = [math.log(value / middle) * (1 if level > middle else -1) for value in values]
    far = [value for value, away in zip(values, distances, strict=True) if away > 0 and 2 * away >= max(distances)]
    return {"pulling": len(far), "pulling_percent": 100 * (median(far) / middle - 1)} if far else {}


# comparisons


def compare_all(cells, found, metrics, study):
    """(benchmark, metric, per CPU, left, right) -> ratio, ends, p, corrected p and verdict."""
    all_pairs, others, values = {}, defaultdict(list), defaultdict(dict)
    for key, board in found.items():
        places, shift = range(len(board["names"])), [0.0] * len(board["names"])
        pairs = pairs_of(board, shift, places, study, metrics[key[:2]]["direction"])
        all_pairs |= {(*key, *names): pair for names, pair in pairs.items()}
    for key, many in cells.items():
        if key[:3] not in found:
            values[key[:3]][key[3]] = many
    for key, board in values.items():
        declared = metrics.get(key[:2])
        for left, right in combinations(sorted(board), 2):
            if declared and declared["headline"] != "true" and board[left][0] > 0 and board[right][0] > 0:
                pair = compare([(board[left], board[right])])
                pair = of_medians(pair, board[left], board[right]) | {"higher": declared["direction"] == "higher"}
                all_pairs[*key, left, right] = pair
                others[key[2]].append(pair)
    for pairs in others.values():
        judge(pairs, benjamini_hochberg, study)
    return all_pairs


def per_dollar(found, months, basis, metrics, study):
    all_pairs = {}
    for key, board in found.items():
        if key[2] or not priced(metrics[key[:2]]):
            continue
        usd = [months.get((key[0], name, basis)) for name in board["names"]]
        shift = [-math.log(month) if month else 0.0 for month in usd]
        places = [place for place, month in enumerate(usd) if month]
        pairs = pairs_of(board, shift, places, study, "higher")
        all_pairs |= {(*key, *names): pair for names, pair in pairs.items()}
    return all_pairs


def check_pairs(rows, found, what, cells, months=MappingProxyType({})):
    """`months` are what the values of a configuration are divided by, in a view per dollar."""
    for row in rows:
        key = (row["benchmark"], row["metric"], row["per_cpu"] == "true", row["left"], row["right"])
        yield from check_estimate(row, found[key], what, " ".join(map(str, key)))
        middles = [median(cells[*key[:3], name]) / months.get((key[0], name, row.get("basis")), 1) for name in key[3:]]
        yield (what, f"{' '.join(map(str, key))} ratio_of_medians", row["ratio_of_medians"], middles[0] / middles[1])
        yield (what, f"{' '.join(map(str, key))} verdict", row["verdict"], found[key]["verdict"])
        if row["quiet"]:
            for name in ("delivered", "quiet", "quiet_ratio"):
                yield (what, f"{' '.join(map(str, key))} {name}", row[name], found[key].get(name))


def check_estimate(row, pair, what, where):
    if not pair.get("left_out"):
        for name in ("ratio", "low", "high", "p_value", "p_adjusted", "coverage"):
            yield (what, f"{where} {name}", row[name], pair["p" if name == "p_value" else name])


# costs


def check_costs(costs, lines, metrics):
    """(benchmark, configuration, basis) -> dollars a month of the machines that the benchmark measures."""
    months, sums = {}, defaultdict(list)
    on_demand = {row["configuration"]: row["usd_per_hour"] for row in costs if row["basis"] == "on-demand"}
    for line in lines:
        usd = float(line["amount"]) * float(line["hours"] or 1) * float(line["rate_usd"])
        yield ("cost lines", f"{line['configuration']} {line['what']}", line["usd"], usd)
        sums[line["configuration"], line["basis"]].append((usd, line["unit"] != "hour"))
    for row in costs:
        key = (row["configuration"], row["basis"])
        if not row["month_usd"]:
            continue
        stated = [(float(row["usd_per_hour"]) * float(row["hours"]), False)]
        one = math.fsum(usd for usd, _ in sums.get(key, stated))
        volumes = math.fsum(usd for usd, volume in sums[key] if volume)
        for metric in metrics:
            part = measured_month(metric, row, one, volumes)
            months[metric["benchmark"], *key] = part
        yield ("months", f"{' '.join(key)} machine_month_usd", row["machine_month_usd"], one)
        yield ("months", f"{' '.join(key)} month_usd", row["month_usd"], one * int(row["machines"]))
        if row["storage_share"]:
            yield ("months", f"{' '.join(key)} storage_share", row["storage_share"], volumes / one)
        if row["break_even_hours"]:
            even = float(row["usd_per_hour"]) * float(row["hours"]) / float(on_demand[key[0]])
            yield ("months", f"{' '.join(key)} break_even_hours", row["break_even_hours"], even)
    return months


def measured_month(metric, cost, machine, volumes):
    """Stated prices are those of the cluster; a method of one machine counts no more."""
    if cost["basis"] == "stated" or not metric["measured_machines"]:
        return machine * int(cost["machines"])
    count = 1 if cost["counted"] == "one machine" else int(metric["measured_machines"])
    return count * (machine if metric["measured_volumes"] == "true" else machine - volumes)


def measured_bytes(measurements, metrics):
    """Of trials that search before they measure."""
    seconds = {
        (row["benchmark"], row["metric"]): float(row["measured_s"])
        for row in metrics
        if row["measured_s"] and row["headline"] == "true" and row["unit"] == "bit/s"
    }
    return {
        row["trial"]: float(row["value"]) / 8 * seconds[row["benchmark"], row["metric"]]
        for row in measurements
        if not row["at_s"] and (row["benchmark"], row["metric"]) in seconds
    }


def check_transfers(rows, network, measured):
    """(configuration, benchmark) -> dollars a month where the machines stood; only where every way has a price."""
    seconds_rate, stood = defaultdict(lambda: defaultdict(float)), defaultdict(list)
    longest, most = defaultdict(float), defaultdict(float)
    for row in network:
        longest[row["trial"]] = max(longest[row["trial"]], float(row["sampled_s"]))
        most[row["trial"]] = max(most[row["trial"]], float(row["sent_bytes"]))
        for what in ("sent", "received"):
            rate = float(row[f"{what}_bytes"]) / float(row["sampled_s"])
            for billed in (what, "sent and received", f"{what} by load" if row["role"] == "load" else None):
                seconds_rate[row["trial"]][billed] += rate
    for row in rows:
        rate = median(seconds_rate[trial][row["billed"]] for trial in row["trials"].split(";"))
        where = f"{row['configuration']} {row['benchmark']} {row['way']}"
        yield ("transfers", f"{where} bytes_per_s", row["bytes_per_s"], rate)
        run = median(
            seconds_rate[trial][row["billed"]] * longest[trial] * min(1, measured.get(trial, most[trial]) / most[trial])
            for trial in row["trials"].split(";")
        )
        yield ("transfers", f"{where} run_bytes", row["run_bytes"], run)
        if row["run_usd"]:
            yield ("transfers", f"{where} run_usd", row["run_usd"], in_tiers(run, row))
        usd = None
        if row["month_usd"]:
            usd = in_tiers(rate * float(row["hours"]) * 3600, row)
            yield ("transfers", f"{where} month_usd", row["month_usd"], usd)
        if row["stood"] == "true":
            stood[row["configuration"], row["benchmark"]].append(usd)
    return {key: math.fsum(many) for key, many in stood.items() if None not in many}


def in_tiers(count_bytes, row):
    amount, usd = count_bytes / BYTES[row["unit"]], 0.0
    for tier in row["tiers"].split(";"):
        above, up_to, dollars = tier.split()
        end = amount if up_to == "-" else min(amount, float(up_to))
        usd += max(0.0, end - float(above)) * float(dollars)
    return usd


def priced(declared):
    return bool(declared) and declared["headline"] == "true" and declared["direction"] == "higher"


def check_price_performance(rows, values, months, moved, stored, found, views):
    (cells, levels), (costs, metrics) = values, stored
    about = {(row["configuration"], row["basis"]): row for row in costs}
    boards = defaultdict(list)
    for row in rows:
        boards[row["benchmark"], row["metric"], row["basis"]].append(row)
    for (benchmark, metric, basis), board in boards.items():
        values_of = {row["configuration"]: cells[benchmark, metric, False, row["configuration"]] for row in board}
        middles = {name: levels[benchmark, metric, False, name][0] for name in values_of}
        costing = {name: months[benchmark, name, basis] for name in middles}
        measured = next(row for row in metrics if row["benchmark"] == benchmark)
        better = better_in_both(benchmark, metric, found[benchmark, metric, False], views)
        leader = min(costing[name] / middle for name, middle in middles.items())
        for row in board:
            name = row["configuration"]
            month, middle, values, cost = costing[name], middles[name], values_of[name], about[name, basis]
            used = measured["measured_volumes"] == "true" or basis == "stated"
            storage = float(cost["storage_share"] or 0) if used else 0.0
            (rank, _), transfer = median_rank(len(values)), moved.get((name, benchmark))
            low, high = levels[benchmark, metric, False, name][1] or (values[rank - 1], values[-rank])
            numbers = {"usd_per_unit": month / middle, "low": month / high, "high": month / low} | {
                "usd_per_unit_with_transfer": None if transfer is None else (month + transfer) / middle,
                "usd_per_million": per_million(row["unit"], middle, month, float(cost["hours"])),
                "discount_to_lead_percent": discount(leader * middle, month, storage * month),
                "front": front(name, middles, costing, better) if better is not None else row["front"],
            }
            for what, value in numbers.items():
                yield ("dollars for one unit", f"{name} {benchmark} {basis} {what}", row[what], value)


def per_million(unit, middle, month, hours):
    for ending, seconds in SECONDS_PER.items():
        if unit.endswith(ending) and unit.removesuffix(ending) not in NOT_OPERATIONS:
            return 1e6 * month * seconds / (middle * hours * 3600)
    return None


def discount(wanted, month, storage):
    """In percent, on the machines only."""
    if month <= wanted * (1 + 1e-12):
        return 0.0
    return None if wanted <= storage else 100 * (1 - (wanted - storage) / (month - storage))


def front(name, middles, costing, better):
    """Behind: one that is no dearer is certainly better. Open: one is no dearer and no worse by the levels."""
    cheap = [other for other in middles if other != name and costing[other] <= costing[name]]
    if any((other, name) in better for other in cheap):
        return "behind"
    mine = (middles[name], -costing[name])
    beaten = any(middles[other] >= mine[0] and (middles[other], -costing[other]) != mine for other in cheap)
    return "open" if beaten else "on it"


# families of types, claims, checks


def blocks_of(row, values):
    blocks = defaultdict(lambda: ([], []))
    for member in row["matched"].split(";"):
        number, side, name = member.split(" ", 2)
        blocks[int(number)][side == "right"].extend(values(name))
    return [blocks[number] for number in sorted(blocks)]


def check_families(rows, cells, study):
    asked = []
    for row in rows:
        key = (row["benchmark"], row["metric"], row["per_cpu"] == "true")
        pair = compare(blocks_of(row, lambda name, key=key: [median(cells[*key, name])]))
        asked.append({**pair, "higher": row["direction"] == "higher"})
    judge(asked, benjamini_hochberg, study)
    for row, pair in zip(rows, asked, strict=True):
        where = f"{row['left']} against {row['right']} {row['benchmark']} {row['metric']}"
        yield from check_estimate(row, pair, "families", where)
        yield ("families", f"{where} verdict", row["verdict"], pair["verdict"])


def of_two(row, found, months, metrics, study):
    """The comparison of the two configurations that a claim is about, as the claim has them."""
    left, right = (member.split(" ", 2)[2] for member in row["matched"].split(";"))
    board, direction = found[row["benchmark"], row["metric"], row["view"] == "per CPU"], metrics["direction"]
    dollars, shift = row["view"] == "per dollar", [0.0] * len(board["names"])
    if dollars:
        usd = [months.get((row["benchmark"], name, row["basis"])) for name in board["names"]]
        shift = [-math.log(month) if month else 0.0 for month in usd]
    places = [place for place in range(len(shift)) if not dollars or usd[place]]
    pairs = pairs_of(board, shift, places, study, direction)
    pair = pairs[left, right] if (left, right) in pairs else turned(pairs[right, left])
    if dollars and direction == "lower":
        pair = turned(pair) | {"verdict": pair["verdict"], "higher": True}
    return pair


def turned(pair):
    """Right against left."""
    ends = {"low": None, "high": None} if pair["low"] is None else {"low": 1 / pair["high"], "high": 1 / pair["low"]}
    other = {"better": "worse", "worse": "better"}.get(pair["verdict"], pair["verdict"])
    return pair | ends | {"ratio": 1 / pair["ratio"], "verdict": other}


def check_claims(rows, cells, months, metrics, study, found):
    asked = []
    for row in rows:
        declared = metrics.get((row["benchmark"], row["metric"]), {})
        more, dollars = declared.get("direction") == "higher", row["view"] == "per dollar"

        def values(name, row=row, more=more, dollars=dollars):
            many = cells[row["benchmark"], row["metric"], row["view"] == "per CPU", name]
            month = months[row["benchmark"], name, row["basis"]] if dollars else 1
            many = [value / month if more or not dollars else 1 / (value * month) for value in many]
            return [median(many)]

        if row["matched"] and row["unit_of_n"] != "configurations":
            asked.append((row, of_two(row, found, months, declared, study)))
        elif row["matched"]:
            asked.append((row, {**compare(blocks_of(row, values)), "higher": more or dollars}))
    judge([pair for row, pair in asked if row["unit_of_n"] == "configurations"], holm, study)
    for row, pair in asked:
        where = f"claim {row['claim']} {row['benchmark']} {row['metric']}"
        if pair["low"] is None:
            pair["p_adjusted"] = None
        yield from check_estimate(row, pair, "claims", where)
        word = claim_verdict(row["kind"], pair, study)
        if " as delivered, but " in row["reason"]:  # what the quiet trials say is not recomputed
            yield ("claims", f"{where} reason", row["reason"].partition(",")[0], f"{word} as delivered")
            word = "not decided"
        yield ("claims", f"{where} verdict", row["verdict"], word)


def check_gate(rows, trials, measurements):
    by_id, groups = {row["trial"]: row for row in trials}, defaultdict(list)
    for row in measurements:
        if not row["at_s"] and by_id[row["trial"]]["state"] == "finished":
            good = by_id[row["trial"]]["verdict"] == "valid"
            groups[row["configuration"], row["benchmark"], row["metric"]].append((float(row["value"]), good))
    for row in rows:
        found = groups[row["configuration"], row["benchmark"], row["metric"]]
        kept, before = [value for value, good in found if good], median(value for value, _ in found)
        after = median(kept) if kept else None
        change = None if after is None or not before else 100 * (after / before - 1)
        said = {"n_before": len(found), "n_after": len(kept), "median_before": before, "median_after": after}
        for name, value in {**said, "change_percent": change}.items():
            yield ("checks", f"{row['configuration']} {row['benchmark']} {row['metric']} {name}", row[name], value)
