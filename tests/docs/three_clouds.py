"""Writes docs/studies/three-clouds-cpu.md: `python -m tests.docs.three_clouds FOLDER`, FOLDER being inspector data.

A test holds the page against the data where they are. The data themselves are never part of the project.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nephoscope.app.stages import evaluation, imports
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.numbers import coverage, probability, ratio
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.rows import (
    ComparisonVerdict,
    ConfigurationRow,
    FamilyComparison,
    Statistic,
    TrialRow,
    sides_exchanged,
)
from nephoscope.stats.decide import holm
from nephoscope.store.folder import ResultsFolder
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "studies" / "three-clouds-cpu.md"
_B, _W, _T = ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, ComparisonVerdict.TIE


@dataclass(frozen=True)
class Claim:
    """A conclusion, and which question of the analysis speaks to it; `better` is the side that it puts first."""

    edition: str
    text: str
    question: str
    left: str
    right: str
    better: str


CLAIMS = (
    Claim("2022", "AMD Milan beats Intel Ice Lake", "CPU design", "Ice Lake", "Milan", "Milan"),
    Claim(
        "2022",
        "AMD Milan is ahead of every other CPU",
        "CPU design against all others",
        "Milan",
        "all other designs",
        "Milan",
    ),
    Claim(
        "2022",
        "m5a and r5a (AMD Naples) are last",
        "CPU design against all others",
        "Naples",
        "all other designs",
        "all other designs",
    ),
    Claim(
        "2022",
        "small types give more per vCPU than large ones (one NUMA node each)",
        "size",
        "large types with one NUMA node",
        "small types",
        "small types",
    ),
    Claim(
        "2022",
        "the same, where the large one has several NUMA nodes",
        "size",
        "large types with several NUMA nodes",
        "small types",
        "small types",
    ),
    Claim("(none)", "Ice Lake is a step ahead of Cascade Lake", "CPU design", "Cascade Lake", "Ice Lake", "Ice Lake"),
    Claim("2020", "Intel beats AMD", "CPU vendor", "AMD", "Intel", "Intel"),
    Claim("(none)", "Cascade Lake beats Naples", "CPU design", "Cascade Lake", "Naples", "Cascade Lake"),
)
METRICS = (
    ("bogo_ops_per_s", "stress-ng, all vCPUs, per vCPU"),
    ("bogo_ops_per_s_one_worker", "stress-ng, one worker"),
    ("sets_per_s_pipeline_1", "Redis SET, per vCPU"),
)


def analysed(data: Path) -> AnalysedStudy:
    """The report's own analysis of the data."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = ResultsFolder(Path(temporary) / "results")
        imports.import_results("spare-cores", data, folder)
        return evaluation.analyze(folder)


def page(study: AnalysedStudy) -> str:
    """The whole page."""
    trials, types = len(study[TrialRow]), len(study[ConfigurationRow])
    asked = [(claim, name, row) for claim in CLAIMS for name, row in _rows(study, claim)]
    milan = max(row.p_value for claim, _, row in asked if (claim.left, claim.right) == ("Ice Lake", "Milan"))
    adjusted = holm([row.p_value for *_, row in asked])
    strict = max(p for (*_, row), p in zip(asked, adjusted, strict=True) if row.p_value == milan)
    return _TEXT.format(
        trials=trials,
        types=types,
        questions=len(study[FamilyComparison]),
        verdicts="\n".join(_verdicts(asked)),
        designs="\n".join(_designs(study)),
        first="\n".join(_first(study)),
        prices="\n".join(_prices(study)),
        milan=probability(milan),
        strict=probability(strict),
    )


def _rows(study: AnalysedStudy, claim: Claim) -> Iterator[tuple[str, FamilyComparison]]:
    for metric, name in METRICS:
        for row in study[FamilyComparison]:
            if (row.question, row.left, row.right, row.metric) == (claim.question, claim.left, claim.right, metric):
                yield name, row


def _says(claim: Claim, row: FamilyComparison) -> str:
    if row.verdict is _T:
        return "refuted: a tie"
    if row.verdict not in {_B, _W}:
        return "open"
    ahead = row.left if row.verdict is _B else row.right
    return "supported" if ahead == claim.better else "refuted"


def _verdicts(asked: Sequence[tuple[Claim, str, FamilyComparison]]) -> Iterator[str]:
    heads = (
        "edition",
        "conclusion",
        "measured by",
        "these data",
        "claimed better ÷ other",
        "ratio",
        "interval",
        "n",
        "blocks",
    )
    yield f"| {' | '.join((*heads, 'p, adjusted'))} |"
    yield "|---" * (len(heads) + 1) + "|"
    for claim, name, found in asked:
        row = _as_claimed(claim, found)
        interval = "none: too few types"
        if row.low is not None and row.high is not None and row.coverage is not None:
            interval = f"{ratio(row.low)} to {ratio(row.high)} ({coverage(row.coverage)})"
        cells = (claim.edition, claim.text, name, f"**{_says(claim, row)}**", f"{row.left} ÷ {row.right}")
        numbers = (ratio(row.ratio), interval, f"{row.n_left} against {row.n_right}", str(row.blocks))
        yield f"| {' | '.join((*cells, *numbers, probability(row.p_adjusted)))} |"


def _as_claimed(claim: Claim, row: FamilyComparison) -> FamilyComparison:
    """With the side on the left that the claim puts first: above 1 speaks for it."""
    if row.left == claim.better:
        return row
    turned = {"n_left": row.n_right, "n_right": row.n_left, "verdict": row.verdict.opposite}
    return row.model_copy(update={**sides_exchanged(row), **turned})


def _designs(study: AnalysedStudy) -> Iterator[str]:
    counts = Counter((str(row.cpu_design), str(row.cpu_vendor), row.provider) for row in study[ConfigurationRow])
    yield "| CPU design, by CPUID | vendor | AWS | Azure | Google |"
    yield "|---|---|---|---|---|"
    for design, vendor in sorted({(design, vendor) for design, vendor, _ in counts}):
        cells = (str(counts[design, vendor, provider]) for provider in ("aws", "azure", "gcp"))
        yield f"| {design} | {vendor} | {' | '.join(cells)} |"


def _first(study: AnalysedStudy) -> Iterator[str]:
    yield "| measured by | first three | certain? |"
    yield "|---|---|---|"
    for metric, name in METRICS:
        per_cpu = "per vCPU" in name
        rows = [row for row in study[Statistic] if (row.metric, row.per_cpu) == (metric, per_cpu)]
        best = sorted(rows, key=lambda row: -row.median)[:3]
        named = ", ".join(f"{row.configuration} ({row.median:,.0f}/s)" for row in best)
        yield f"| {name} | {named} | no: n = 1, rank 1 to {len(rows)} |"


def _prices(study: AnalysedStudy) -> Iterator[str]:
    yield "| basis | lowest dollars per month for one operation per second | price of |"
    yield "|---|---|---|"
    for basis in ("on-demand", "reserved-1y"):
        rows = [row for row in study[PricePerformance] if (row.basis, row.metric) == (basis, "bogo_ops_per_s")]
        best: list[PricePerformance] = sorted(rows, key=lambda row: row.usd_per_unit)[:3]
        named = ", ".join(f"{row.configuration} ({row.usd_per_unit:.4f})" for row in best)
        yield f"| {basis} | {named} | {', '.join(sorted({str(row.date) for row in best}))} |"


_TEXT = """\
# Three clouds: what public CPU data say about the Cloud Reports

<!-- written by tests/docs/three_clouds.py: do not edit -->

Spare Cores measures the machine types of many clouds and publishes the raw output
([sc-inspector-data](https://github.com/SpareCores/sc-inspector-data), CC BY-SA 4.0). They include {types} of the AWS,
Azure and Google types that the Cloud Reports of 2020 and 2022 used. This page checks those reports' conclusions about
CPUs against these data. nephoscope measured none of them; these commands recompute every number:

```sh
nephoscope import spare-cores sc-inspector-data/data --out results/spare-cores
nephoscope report results/spare-cores
```

## What the data are

There are {trials} trials of 2024: on each type one run of stress-ng (integer divisions, with one worker and up to one
per vCPU) and one of Redis (pairs of server and client on every vCPU, SET without pipelining). With **one run per
type**, the page makes no statement about single types: it shows their order, and their rank is open. Statements are
about families of types, matched within blocks of the same cloud, vCPUs and threads per core; n is the number of types.
See [families of machine types](../concepts/statistics.md#families-of-machine-types).

CPUs are those that `lscpu` reported in 2024. Some types have changed theirs since the reports: here Azure's Das_v4 and
Eas_v4 had Milan.

{designs}

## Conclusions

Conclusions are in our words; "(none)" marks a question that no report asks but that helps to interpret the others. The
reports measured CoreMark (2022) and a stress-ng matrix (2020). These data measure something else, so "refuted" means
that the conclusion does not hold in general, not that the report measured incorrectly.

{verdicts}

In short:

- **Milan against Ice Lake depends on the work.** Divisions run faster on Milan, with one worker and with all. Redis
  without pipelining runs faster on Ice Lake. Both results are decided, in opposite directions; neither CPU leads in
  general.
- **m5a and r5a are last**, in all three numbers, against types of every cloud.
- **Small against large per vCPU is a tie** for stress-ng where the large type has one NUMA node. For several nodes, and
  for Redis, the interval does not fit into ±1.5 %.
- **AMD against Intel has no single answer**: the designs of each vendor differ more than the vendors do.

All {questions} questions of the study are corrected together (Benjamini–Hochberg). Milan against Ice Lake rests on two
blocks with p = {milan} each, the smallest that these types can give. Holm's correction over the table above alone would
leave it open (p = {strict}): one more type of either design in a third block would decide it.

## Left open by these data

- Which type is the best, overall and per vCPU. There is one run of each:

{first}

- Whether Google's t2d leads per vCPU (2022). Its two types are first and second in stress-ng, by a factor of 1.95 over
  the next, but two types with one run each decide nothing. They have one thread per core, so no type of another design
  is in their block.
- Price for performance. This is the measured order at dated prices, not a claim:

{prices}

- How memory per vCPU affects consistency (2022): this needs several runs of each type.
- Whether a CPU benchmark predicts TPC-C (2020): these data contain no TPC-C results.
- Storage and network: not measured.

## What would change the picture

The 2022 report's own raw data are not public. Repeat these benchmarks six times per type with nephoscope to get
intervals for single types; `nephoscope plan` shows what that costs.
"""


def main(arguments: Sequence[str]) -> int:
    """Writes the page."""
    PAGE.write_text(page(analysed(Path(arguments[0]))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
