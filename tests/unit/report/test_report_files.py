"""Files beside the page."""

import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

from nephoscope.frozen import Frozen
from nephoscope.report.bundle_files import BUNDLE
from nephoscope.report.files import report_files
from nephoscope.results import Comparison, MeasurementRow, Statistic
from tests.support.report_folder import write_report
from tests.unit.report import priced_example
from tests.unit.report import report_example as example

NAMES: dict[str, type[Frozen]] = {"measurements": MeasurementRow, "statistics": Statistic, "comparisons": Comparison}


@pytest.mark.parametrize("make", [example.laptop, example.empty])
def test_csv_and_parquet_hold_the_same_rows(tmp_path: Path, make: object) -> None:
    assert callable(make)
    study = make()
    write_report(study, tmp_path / "report")
    for name, model in NAMES.items():
        parquet = pl.read_parquet(tmp_path / "report" / f"{name}.parquet")
        csv = pl.read_csv(tmp_path / "report" / f"{name}.csv", infer_schema_length=None)
        assert parquet.columns == csv.columns == list(model.model_fields)
        assert parquet.height == csv.height == len(getattr(study, name))


def test_values_are_exact_and_missing_ones_stay_missing(tmp_path: Path) -> None:
    study = example.not_run()
    write_report(study, tmp_path)
    values = pl.read_csv(tmp_path / "measurements.csv", infer_schema_length=None)
    assert sorted(values["value"].to_list()) == sorted(row.value for row in study.measurements)
    assert values["at_s"].null_count() == sum(row.at_s is None for row in study.measurements)
    trials = pl.read_parquet(tmp_path / "statistics.parquet")["trials"].to_list()
    assert sorted(trials) == sorted(row.trials for row in study.statistics)


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        write_report(example.laptop(), tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert len(names) == 2 + 2 * 11, "the page, the bundle, and each table as CSV and Parquet"
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_costs_stand_on_the_page_and_beside_it(tmp_path: Path) -> None:
    study = priced_example.priced()
    write_report(study, tmp_path)
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    costs = pl.read_csv(tmp_path / "costs.csv", infer_schema_length=None)
    assert costs["month_usd"].drop_nulls().to_list() == [row.month_usd for row in study.costs if row.month_usd]
    for row in study.costs:
        if row.month_usd is not None:
            assert f"${row.month_usd:,.2f}" in html
            assert row.price_row is not None
            assert row.price_row in html
        else:
            assert str(row.reason_missing) in html
    for line in study.costs[0].formula.splitlines():
        assert line.strip() in html


def test_a_stranger_recomputes_every_figure_from_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(report_files(priced_example.priced(6))[BUNDLE])
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "clouds"

    def recomputed() -> subprocess.CompletedProcess[str]:
        script = [sys.executable, "-I", "-S", str(folder / "recompute.py")]
        return subprocess.run(script, capture_output=True, text=True, check=False)

    done = recomputed()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "price_comparisons, on-demand" in done.stdout
    counted = [int(line.split()[0]) for line in done.stdout.splitlines()]
    assert sum(counted) > 500
    costs = (folder / "costs.csv").read_text(encoding="utf-8")
    (folder / "costs.csv").write_text(costs.replace("840.96", "840.97"), encoding="utf-8")
    statistics = (folder / "statistics.csv").read_text(encoding="utf-8").splitlines()
    cells = statistics[1].split(",")
    cells[9] = "1.5"
    (folder / "statistics.csv").write_text(
        "\n".join([statistics[0], ",".join(cells), *statistics[2:]]), encoding="utf-8"
    )
    done = recomputed()
    assert done.returncode == 1
    assert "DIFFERS: azure-d8s on-demand month_usd: the table says 840.97" in done.stdout
    assert done.stdout.count("DIFFERS") >= 2
