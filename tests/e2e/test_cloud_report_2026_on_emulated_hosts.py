"""A thin slice of the shipped study of 2026 on emulated hosts (root): two types, all chapters, to the report."""

from pathlib import Path

import pytest

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.model.errors import DatabaseFailed
from nephoscope.plan.cut import chapter_of
from nephoscope.plan.expand import ParametersOnce
from tests.support.changed_studies import changed, run_to_report
from tests.support.real_parts import needs


def _has_valkey() -> bool:
    try:
        return bool(find_valkey())
    except DatabaseFailed:
        return False


pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    needs("postgres", "nephoscope-load", "sshd", "fio", "stress-ng", "iperf3", "sockperf"),
    pytest.mark.skipif(not _has_valkey(), reason="neither Valkey nor Redis is installed"),
]
ROOT = Path(__file__).parents[2]
TYPES = ("m8i.2xlarge", "m8a.2xlarge")
MACHINES = "".join(f'\n[[machine_types]]\nname = "{name}"\nvcpus = 1\nmemory_gib = 1\ndisk_gib = 8\n' for name in TYPES)
FAR_MS = 60
NEAR = ', there = ["us-east-1b"], links = [{ between = ["us-east-1a", "us-east-1b"], round_trip_ms = 2 }]'
FAR = f', there = ["us-west-2a"], links = [{{ between = ["us-east-1a", "us-west-2a"], round_trip_ms = {FAR_MS} }}]'
SEARCH = "ramp_s = 0\npoint_s = 3\nconfirmation_s = 3\nsettle_s = 0\nresolution_percent = 50"
SCALED = (
    (r"\[\[matrix\]\] # Hyperdisk[\s\S]*?(?=\[\[benchmarks\]\])", ""),  # Google's machines and Azure's
    (r"replicates = 6", "replicates = 1\nrepeat_rejected = 0"),
    (r'stop = "decided"\n', ""),
    (r'provider = "aws"', 'provider = "emulated"'),
    (r"(cloud\.|load_machine\.image|values\.image|values\.west).*\n", ""),
    (r', far_image = "\{west\}"', ""),
    (r', disk = \{ kind = .*?\}', ""),
    (r', version = "\{version\?\}"', ""),
    (r', version = "\{sql_version\}"', ""),
    (r'volumes = \["\{disk\?\}"\]', 'zones = ["us-east-1a"]'),
    (r'zone = "us-east-1a"\n', 'region = "us-east-1"\n'),
    (r"axes\.vcpus = .*", 'axes.vcpus = { 8 = { size = "2xlarge" } }'),
    (r"axes\.family = .*", 'axes.family = ["m8i", "m8a"]'),
    (r', there = \["us-east-1b"\]', NEAR),
    (r', there = \["us-west-2a"\]', FAR),
    (r"\nlabels = ", '\nlinks = "{links?}"\nlabels = '),
    (r', "c\*" = "computing", "r\*" = "memory"', ""),
    (r"exclude = \[\{ setup.*\n", ""),
    (r"axes.benchmark = .*", 'axes.benchmark = ["multi-stream", "request-response"]\nparameters = { scale = 0.05 }'),
    (r'uses = "coremark"', 'uses = "cpu-kernel"'),  # EEMBC's sources are not here
    (r"duration_s = 10 \}", "duration_s = 2 }"),
    (r"65_536", "64"),
    (r"duration_s = (120|60) \}", "duration_s = 2 }"),
    (r"connections_per_cpu = 8", "connections_per_cpu = 2"),
    (r"\nwarehouses = 800", "\nwarehouses = 1"),
    (r"active_warehouses_per_cpu = 25", "active_warehouses_per_cpu = 1"),
    (r"ramp_s = 300", "ramp_s = 1"),
    (r"duration_s = 900", "duration_s = 6"),
    (r"ramp_s = 30, duration_s = 2", "ramp_s = 1, duration_s = 2"),
    (r"rows = 4_000_000", "rows = 5_000"),
    (r'benchmark = "kv"\n', f'benchmark = "kv"\n{SEARCH}\n'),
    (r"<= 2 ms", "<= 200 ms"),
)  # fmt: skip
"""What becomes of the lines of the shipped study, in this order."""


def scaled() -> str:
    text = (ROOT / "studies" / "cloud-report-2026.toml").read_text()
    return changed(text, SCALED).replace("\n[[matrix]]", f"{MACHINES}\n[[matrix]]", 1)


def test_all_chapters_of_the_shipped_study_run_on_two_types_to_the_report(tmp_path: Path) -> None:
    """Ten clusters of two hosts, 30 trials; about six minutes on two quiet CPUs."""
    folder = run_to_report(scaled(), tmp_path)
    planned = list(folder.planned())
    assert {one.intent.configuration["database_machine"]["type"] for one, _ in planned} == set(TYPES)
    uses = [one.intent.benchmark for one, _ in planned]
    parameters = ParametersOnce(BENCHMARKS)
    chapters = {chapter_of(BENCHMARKS[use.uses], parameters.of(use)) for use in uses}
    assert chapters == {"cpu", "network", "storage", "oltp", "key-value"}
    assert {use.name for use in uses} >= {"most-postgres", "most-valkey"}
    for one, trial in planned:
        end = trial.attempts()[-1].status()
        assert end is not None
        assert end.state == "finished", (one.intent.configuration["name"], one.intent.benchmark.name, end)
    (page,) = (folder.path / "report").glob("index.html")
    text = page.read_text()
    for name in TYPES:
        assert name in text
