"""A study that a matrix makes is resumed, repeated and bundled as one that is written out."""

import io
import zipfile
from pathlib import Path

from nephoscope.analysis.table import in_columns
from nephoscope.analysis.tables import to_csv
from nephoscope.app.stages import evaluation
from nephoscope.app.stages.planning import plan
from nephoscope.app.stages.running import CliOptions
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.rows import ConfigurationRow, Statistic
from nephoscope.report.files import bundle
from nephoscope.run.study import adopt_plan
from nephoscope.study.load import expanded_text
from tests.oracle.recompute import recomputed
from tests.unit.run.test_repeats import conducted, disturbed

STUDY = """
name = "disturbed"
seed = 3
replicates = {replicates}
repeat_rejected = {most}
placement = "{placement}"

[defaults]
provider = "fake"
price_usd_per_hour = 360.0

[[matrix]]
name = "{{size}}-{{cpus}}"
axes.size.small.tier = "slow"
axes.size.large.tier = "fast"
axes.cpus = [2, "all"]
exclude = [{{ size = "small", cpus = "all" }}]
database_machine = {{ type = "{{size}}", cpus = "{{cpus}}" }}
labels.tier = "{{tier}}"

[[matrix]]
uses = "fake"
name = "fake-{{value}}"
axes.value = [1000.0, 2000.0]
by.value."1*".on = "fast"
by.value."*".on = "fast or slow"
for = "{{on}}"
parameters = {{ duration_s = 10.0, value = "{{value}}" }}
"""
TRIALS = 2 * 2 + 2 * 3


def test_a_matrix_study_is_resumed_repeated_on_request_and_bundled(tmp_path: Path) -> None:
    first = disturbed(tmp_path / "r", lambda n: n < 2, replicates=2, most=0, text=STUDY)
    stopped = conducted(first, CliOptions(max_usd=6.0))
    assert 0 < stopped.finished < TRIALS
    written_out = expanded_text(first.folder.study_text(), "study.toml", BENCHMARKS)
    assert "matrix" not in written_out
    adopt_plan(first.folder, written_out, plan(first.study), replan=False)

    resumed = disturbed(tmp_path / "r", lambda _: False, replicates=2, most=0, text=STUDY)
    conducted(resumed)
    assert resumed.heard.finished_before == stopped.finished
    assert len(resumed.heard.ended) == TRIALS - stopped.finished
    trials = [trial for _, trial in resumed.folder.planned()]
    assert sum(not trial.finished_attempts()[-1].valid() for trial in trials) == 2

    again = disturbed(tmp_path / "r", lambda _: False, replicates=2, most=0, text=STUDY)
    assert conducted(again, CliOptions(retry_rejected=True)).valid == TRIALS
    assert sum(len(trial.attempts()) for trial in trials) == TRIALS + 2

    study = evaluation.analyze(again.folder)
    assert {row.configuration: row.labels["tier"] for row in study[ConfigurationRow]} == {
        "small-2": "slow",
        "large-2": "fast",
        "large-all": "fast",
    }
    tables = {name: to_csv(study[table.row], table.row) for name, table in in_columns().items()}
    with zipfile.ZipFile(io.BytesIO(bundle(study, tables))) as archive:
        archive.extractall(tmp_path)
    done = recomputed(tmp_path / study.study)
    assert done.differences == []
    assert done.counts["statistics"] == 25 * len(study[Statistic])
