"""Files beside the page."""

import csv
import inspect
import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from nephoscope.analysis.published import BUNDLE
from nephoscope.analysis.table import in_columns
from nephoscope.analysis.tables import schema_of
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.frozen import Frozen
from nephoscope.model.numbers import money
from nephoscope.model.price_rows import CostRow, PriceComparison, PricePerformance, TransferRow, priced_quantity
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import (
    ClaimRow,
    Comparison,
    ComparisonVerdict,
    DeliveredRow,
    FamilyComparison,
    GateRow,
    MeasurementRow,
    RankRow,
    Statistic,
    StealRow,
)
from nephoscope.report.files import report_files
from tests.oracle import answers, quiet, recompute
from tests.oracle.recompute import recomputed
from tests.support.drawings import drawn_anew
from tests.support.report_folder import evidence_page, write_report
from tests.support.some_tables import with_tables
from tests.unit.analysis import test_delivered
from tests.unit.analysis.study_builder import inputs, rows
from tests.unit.report import priced_example
from tests.unit.report import report_example as example

pytestmark = pytest.mark.whole

NAMES: dict[str, type[Any]] = {"measurements": MeasurementRow, "statistics": Statistic, "comparisons": Comparison}


@pytest.mark.parametrize("make", [example.laptop, example.empty])
def test_csv_and_parquet_hold_the_same_rows(tmp_path: Path, make: object) -> None:
    assert callable(make)
    study = make()
    write_report(study, tmp_path / "report")
    for name, model in NAMES.items():
        parquet = pl.read_parquet(tmp_path / "report" / f"{name}.parquet")
        csv = pl.read_csv(tmp_path / "report" / f"{name}.csv", infer_schema_length=None)
        assert parquet.columns == csv.columns == list(schema_of(model))
        assert parquet.height == csv.height == len(study[model])


def test_values_are_exact_and_missing_ones_stay_missing(tmp_path: Path) -> None:
    study = example.not_run()
    write_report(study, tmp_path)
    values = pl.read_csv(tmp_path / "measurements.csv", infer_schema_length=None)
    assert sorted(values["value"].to_list()) == sorted(row.value for row in study[MeasurementRow])
    assert values["at_s"].null_count() == sum(row.at_s is None for row in study[MeasurementRow])
    trials = pl.read_parquet(tmp_path / "statistics.parquet")["trials"].to_list()
    assert sorted(trials) == sorted(row.trials for row in study[Statistic])


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        drawn_anew()
        write_report(example.laptop(), tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert len(names) == 3 + 2 * (len(in_columns()) - 1), (
        "the pages, the bundle, and each table but trials as CSV and Parquet"
    )
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_costs_stand_on_the_page_and_beside_it(tmp_path: Path) -> None:
    study = priced_example.priced()
    write_report(study, tmp_path)
    html = (tmp_path / "evidence.html").read_text(encoding="utf-8")
    costs = pl.read_csv(tmp_path / "costs.csv", infer_schema_length=None)
    in_order = sorted(study[CostRow], key=lambda row: (row.configuration, row.basis))
    assert costs["month_usd"].drop_nulls().to_list() == [row.month_usd for row in in_order if row.month_usd]
    for row in study[CostRow]:
        if row.month_usd is not None:
            assert f"${row.month_usd:,.2f}" in html
            assert row.price_row is not None
            assert row.price_row in html
        else:
            assert str(row.reason_missing) in html
    for line in study[CostRow][0].formula.splitlines():
        assert line.strip() in html


def test_prices_per_unit_are_quoted_for_a_quantity_that_people_can_read() -> None:
    study = priced_example.priced()
    cheap = [
        row.model_copy(
            update={name: getattr(row, name) / 1e6 for name in ("usd_per_unit", "low", "high")},
        )
        for row in study[PricePerformance]
    ]
    first = cheap[0]
    board = [row for row in cheap if (row.metric, row.basis) == (first.metric, first.basis)]
    sold = priced_quantity(first.unit, min(row.usd_per_unit for row in board))
    html = evidence_page(with_tables(study, {PricePerformance: cheap}))
    assert sold.count > 1
    assert f"$ a month per {sold.text}<" in html
    assert all(money(row.usd_per_unit * sold.size) in html for row in board)


def test_a_single_run_has_no_interval_per_dollar_and_bare_machines_no_storage(tmp_path: Path) -> None:
    write_report(priced_example.priced(1), tmp_path)
    html = (tmp_path / "evidence.html").read_text(encoding="utf-8")
    assert "range, 0" not in html
    assert "<small>single run</small>" in html
    assert "With transfer" not in html, "nothing was counted"


def unpacked(study: AnalysedStudy, folder: Path) -> Path:
    (folder / "bundle.zip").write_bytes(report_files(study).files[BUNDLE])
    with zipfile.ZipFile(folder / "bundle.zip") as archive:
        archive.extractall(folder)
    return folder / study.study


def test_pages_call_a_question_without_an_answer_not_decided() -> None:
    disturbed = test_delivered.studied(LATE, range(1, 5), rejected=False)
    for study in (priced_example.everything(), disturbed):
        verdicts = [row.verdict for row in study[Comparison]] + [row.verdict for row in study[FamilyComparison]]
        assert ComparisonVerdict.UNRESOLVED in verdicts
        pages = [report_files(study).files[name].decode() for name in ("index.html", "evidence.html")]
        said = "".join(re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL) for page in pages)
        assert "not decided" in said
        assert not re.findall("unresolved|undecided", said, flags=re.IGNORECASE)


LATE = [*test_delivered.FASTER[:4], *test_delivered.STOLEN]
NOT_RECOMPUTED = {"minimum_detectable_percent", "more_replicates_needed", "age_days"}
"""What only simulation gives, and an age that only repeats dates."""


def test_a_second_implementation_recomputes_every_figure_from_the_bundle(tmp_path: Path) -> None:
    study = priced_example.everything()
    fronts = {row.front for row in study[PricePerformance]}
    assert fronts == {"on it", "open", "behind"}
    assert {row.verdict for row in study[ClaimRow]} == {"supported", "refuted", "not decided"}
    assert {row.verdict.value for row in study[FamilyComparison]} > {"better", "unresolved"}
    assert study[GateRow]
    assert any(row.month_usd for row in study[TransferRow])
    done = recomputed(unpacked(study, tmp_path))
    assert done.differences == []
    counted = done.counts
    assert counted["claims"] == 7 * len([row for row in study[ClaimRow] if row.matched])
    assert counted["families"] == 7 * len(study[FamilyComparison])
    assert counted["dollars for one unit"] == 7 * len(study[PricePerformance])
    assert counted["ranks"] == 4 * len(study[RankRow])
    assert counted["best"] >= 5 * len(study[BestRow]) > 0
    assert counted["contrasts"] == 6 * len(study[ContrastRow]) > 0
    assert counted["statistics"] == 25 * len(study[Statistic])
    assert counted["checks"] == 5 * len(study[GateRow])


@pytest.mark.parametrize("rejected", [False, True])
def test_a_second_implementation_recomputes_stolen_time_and_both_views(tmp_path: Path, rejected: bool) -> None:
    study = test_delivered.studied(LATE, range(1, 5), rejected=rejected)
    assert [row.over for row in study[StealRow]] == [0, 10]
    assert any(row.reason for row in study[Comparison]) != rejected
    folder = unpacked(study, tmp_path)
    done = recomputed(folder)
    assert done.differences == []
    counted = done.counts
    assert counted["steal"] == 8 * len(study[StealRow])
    assert counted["delivered"] == 10 * len(study[DeliveredRow])
    for table, column in (("steal", "high"), ("delivered", "quiet_median"), ("comparisons", "verdict")):
        whole = (folder / f"{table}.csv").read_text(encoding="utf-8")
        (folder / f"{table}.csv").write_text(_with(whole, column), encoding="utf-8")
        assert any(f"{column}: the table says" in line for line in recomputed(folder).differences)
        (folder / f"{table}.csv").write_text(whole, encoding="utf-8")


def test_a_second_implementation_recomputes_what_both_views_say_of_many_configurations(tmp_path: Path) -> None:
    found = priced_example.priced_inputs()
    last = {"aws-m6i": 3, "gcp-n2": 0}  # the first has quiet trials, the second none
    trials = [
        row.model_copy(update={"stolen_share": 0.1 if row.replicate > last.get(row.configuration, 99) else 0.0})
        for row in found.trials
    ]
    slower = {row.trial for row in trials if row.configuration == "aws-m6i" and (row.stolen_share or 0) > 0}
    measurements = [row._replace(value=row.value * 0.9) if row.trial in slower else row for row in found.measurements]
    study = analyse(replace(found, trials=trials, measurements=measurements))
    assert any(str(row.reason).startswith("as delivered") for row in study[BestRow])
    assert any("no trial of gcp-n2 was quiet" in str(row.reason) for row in study[BestRow])
    b = test_delivered.MIXED
    contrasted = test_delivered.among_three(b, test_delivered.OFTEN, types=test_delivered.TYPES)
    assert any(row.reason for row in contrasted[ContrastRow])
    split = test_delivered.of_split_machines()
    assert split[ContrastRow]
    machines = [test_delivered.on_four_machines(kind) for kind in (VerdictKind.VALID, VerdictKind.INVALID)]
    for many in (study, contrasted, split, *machines):
        done = recomputed(unpacked(many, tmp_path))
        assert done.differences == []


def _with(table: str, column: str) -> str:
    """The table with another value in a column of its first row."""
    rows = list(csv.DictReader(io.StringIO(table)))
    rows[0][column] = "better" if column == "verdict" and rows[0][column] != "better" else "7"
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_a_second_implementation_recomputes_medians_of_machines(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    values = {name: [float(v) for v in generator.lognormal(level, 0.05, 11)] for name, level in (("a", 5), ("b", 6))}
    trials, measurements = rows(values, cpus={"a": 2})
    shared = [row.model_copy(update={"machine": f"{row.configuration}-{row.replicate % 5}"}) for row in trials]
    study = analyse(inputs((shared, measurements)))
    assert {(row.n, row.counted, row.scope) for row in study[Statistic]} == {(5, "machines", "types")}
    done = recomputed(unpacked(study, tmp_path))
    assert done.differences == []


TAMPERED = [
    ("costs", "month_usd"),
    ("costs", "break_even_hours"),
    ("cost_lines", "usd"),
    ("statistics", "median"),
    ("statistics", "cv_percent"),
    ("comparisons", "p_adjusted"),
    ("comparisons", "verdict"),
    ("price_comparisons", "low"),
    ("price_performance", "front"),
    ("price_performance", "discount_to_lead_percent"),
    ("price_performance", "usd_per_unit_with_transfer"),
    ("transfers", "month_usd"),
    ("transfers", "bytes_per_s"),
    ("ranks", "last"),
    ("best", "best"),
    ("best", "excluded"),
    ("contrasts", "ratio"),
    ("contrasts", "pairs_agreeing"),
    ("family_comparisons", "high"),
    ("claims", "verdict"),
    ("claims", "ratio"),
    ("gate", "median_after"),
]


def test_a_changed_figure_is_named(tmp_path: Path) -> None:
    folder = unpacked(priced_example.everything(), tmp_path)
    for table, column in TAMPERED:
        rows = list(csv.DictReader(io.StringIO((folder / f"{table}.csv").read_text(encoding="utf-8"))))
        changed = next(row for row in rows if row[column] and row.get("month_usd") != "0.0")
        number = re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", changed[column])
        changed[column] = repr(float(changed[column]) + 1) if number else "other"
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        (folder / f"{table}.csv").write_text(out.getvalue(), encoding="utf-8")
    differences = recomputed(folder).differences
    assert len(differences) == len(TAMPERED), differences


SHOWN: dict[str, type[Frozen]] = {
    "statistics": Statistic,
    "comparisons": Comparison,
    "price_performance": PricePerformance,
    "price_comparisons": PriceComparison,
    "ranks": RankRow,
    "transfers": TransferRow,
    "family_comparisons": FamilyComparison,
    "claims": ClaimRow,
    "gate": GateRow,
    "steal": StealRow,
    "delivered": DeliveredRow,
    "costs": CostRow,
}


def test_every_number_of_a_table_is_recomputed_or_listed_as_left_out() -> None:
    """Of each column of numbers that is no input: its name stands in the oracle."""
    script = "".join(inspect.getsource(module) for module in (recompute, quiet, answers))
    given = {
        "of",
        "cpus",
        "n",
        "n_left",
        "n_right",
        "blocks",
        "limit_share",
        "vcpus",
        "machines",
        "machines_left",
        "machines_right",
        "hours",
        "margin_percent",
        "usd_per_hour",
    }
    given |= {"median", "month_usd"}
    for name, model in SHOWN.items():
        numbers = {column for column, kind in schema_of(model).items() if kind.is_numeric()} - given
        for column in sorted(numbers - NOT_RECOMPUTED):
            assert column in script, f"{name}.{column}"
