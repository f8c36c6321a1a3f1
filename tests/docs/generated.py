"""The parts of pages that are made from the code: command line, exit codes, load generator, benchmarks."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl
from typer.testing import CliRunner

from bench.simulations import stopping
from bench.simulations.stored import load
from bench.simulations.tables import tables
from nephoscope.app.cli import app
from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.database.tpcc_editions import EDITIONS
from nephoscope.benchmarks.load import contract as load_contract
from nephoscope.benchmarks.load.spec import LoadSpec
from nephoscope.benchmarks.presets import EditionParameters
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.benchmarks.storage.fio_jobs import FioParameters
from nephoscope.importers.registry import IMPORTERS
from nephoscope.model import errors
from nephoscope.model.errors import Move
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Metric
from nephoscope.model.subjects import Subject
from nephoscope.prices.catalogue.machines import prices, types
from nephoscope.stats.median import median_coverage, median_rank
from nephoscope.stats.rank_sum import cumulative_u, smallest_p_value
from nephoscope.stats.ratio import interval_rank
from nephoscope.study.reference import sections
from tests.docs.abilities import benchmark_abilities, database_abilities, fault_abilities, provider_abilities
from tests.docs.cloud_answers import cloud_answers
from tests.docs.counterparts import figures_table
from tests.docs.detectors import stops, wandering
from tests.docs.disturbances import disturbance, throttled
from tests.docs.pages import ROOT
from tests.docs.placements import placements
from tests.docs.reliability import reliability, soak, systems
from tests.docs.repeats import repeats
from tests.docs.simulations import simulations

COMMANDS = (
    "init",
    "plan",
    "run",
    "try",
    "status",
    "parse",
    "parse-output",
    "analyze",
    "report",
    "claims",
    "compare",
    "verify",
    "serve",
    "query",
    "place",
    "demo",
    "clean",
    "fixtures",
    "doctor",
    "types",
)
"""In the order in which a person meets them."""
GROUPS = {"import": ("cloud-report-2019", *IMPORTERS), "prices": ("show", "check", "import", "update")}
"""Commands of commands."""

_HELP_WIDTH = 78
"""What a terminal of 80 columns or more gives."""

_OUTPUT = (
    load_contract.Started,
    load_contract.Interval,
    load_contract.Finished,
)


def parts() -> dict[str, str]:
    """Name of a generated part -> its Markdown."""
    makers: Mapping[str, Callable[[], str]] = {
        "command-line": command_line,
        "exit-codes": exit_codes,
        "error-classes": error_classes,
        "cloud-answers": cloud_answers,
        "load-spec": load_spec,
        "load-output": load_output,
        "load-exit-codes": load_exit_codes,
        "repeats": repeats,
        "database-abilities": database_abilities,
        "provider-abilities": provider_abilities,
        "fault-abilities": fault_abilities,
        "benchmark-abilities": benchmark_abilities,
        "benchmarks": benchmarks,
        "editions": editions,
        "micro-editions": micro_editions,
        "ranks": ranks,
        "simulations": simulations,
        "disturbance": disturbance,
        "throttled": throttled,
        "stops": stops,
        "wandering": wandering,
        "placements": placements,
        "catalogue": catalogue,
        "price-coverage": price_coverage,
        "leaderboard-simulations": leaderboard_simulations,
        "stopping-simulations": stopping_simulations,
        "reliability": reliability,
        "soak": soak,
        "systems": systems,
        **{f"figures-{report}": partial(figures_table, report) for report in ("2018", "2020", "2022")},
    }
    return {name: make() for name, make in makers.items()}


def command_line() -> str:
    """What `--help` says, of the program and of each command."""
    runner = CliRunner(env={"NO_COLOR": "1"})

    def said(*arguments: str) -> str:
        done = runner.invoke(app, [*arguments, "--help"], prog_name="nephoscope", terminal_width=_HELP_WIDTH)
        assert done.exit_code == 0, done.output
        return f"```text\n{done.stdout.strip()}\n```\n"

    commands: list[tuple[str, ...]] = [(command,) for command in COMMANDS]
    for group, members in GROUPS.items():
        commands += [(group,), *((group, member) for member in members)]
    return said() + "".join(f"\n## `nephoscope {' '.join(command)}`\n\n{said(*command)}" for command in commands)


def catalogue() -> str:
    """How many machine types the catalogue has, by provider, category and architecture, and of each family."""
    known, priced = types(), prices()
    lines = ["| provider | made for | architecture | types | by family |", "|---|---|---|--:|---|"]
    by = ("provider", "category", "architecture")
    for (provider, category, architecture), table in known.sort(*by, "type").group_by(by, maintain_order=True):
        families = ", ".join(f"{name} {count}" for name, count in sorted(Counter(table["family"]).items()))
        lines.append(f"| {provider} | {category} | {architecture} | {table.height} | {families} |")
    disputed, wrong = (priced.filter(pl.col(column) != "").height for column in ("disputed", "wrong"))
    regions = priced.select("provider", "region").unique().height
    said = f"{known.height:,} machine types, {priced.height:,} prices in {regions} regions; {disputed} prices are "
    said += f"disputed, {wrong} are known to be wrong."
    lines += ["", "| provider | prices | types | regions | dates |", "|---|---|--:|--:|---|"]
    by_contract = priced.sort("provider", "basis").group_by(("provider", "basis"), maintain_order=True)
    for (provider, basis), table in by_contract:
        dates = " to ".join(sorted({str(table["date"].min()), str(table["date"].max())}))
        counts = (table["type"].n_unique(), table["region"].n_unique())
        lines.append(f"| {provider} | {basis} | {counts[0]:,} | {counts[1]} | {dates} |")
    return f"{said}\n\n" + "\n".join(lines) + "\n"


def price_coverage() -> str:
    """The share of a cloud's types in the catalogue that have a usable price, by region and basis."""
    usable = prices().filter(pl.col("wrong") == "")
    counts = usable.group_by("provider", "region", "basis").agg(pl.col("type").n_unique())
    known = dict(types().group_by("provider").len().iter_rows())
    bases = ("on-demand", "spot", "reserved-1y", "reserved-3y", "savings-plan-1y", "savings-plan-3y")
    priced = {(provider, region, basis): count for provider, region, basis, count in counts.iter_rows()}
    lines = [f"| cloud | region | {' | '.join(bases)} |", f"|---|---|{'--:|' * len(bases)}"]
    for provider, region in sorted({key[:2] for key in priced}):
        shares = (100 * priced.get((provider, region, basis), 0) / known[provider] for basis in bases)
        cells = (f"{share:.0f} %" if share else "none" for share in shares)
        lines.append(f"| {provider} | {region} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def exit_codes() -> str:
    """The table that stands in `errors.py`."""
    rows = [line for line in str(errors.__doc__).splitlines() if line.startswith("|")]
    return "\n".join(rows) + "\n"


def error_classes() -> str:
    """Every class of errors with its code, its name in `status.json` and who can fix it."""
    fixers = {Move.YOURS: "you", Move.OURS: "the developers", Move.NOBODY: "nobody: retried"}
    lines = ["| class | `failure_class` | exit code | who can fix it | meaning |", "|---|---|---|---|---|"]
    for kind in all_errors():
        meaning = str(kind.__doc__).splitlines()[0]
        lines.append(
            f"| `{kind.__name__}` | `{kind.failure_class}` | {kind.exit_code} | {fixers[kind.move]} | {meaning} |"
        )
    return "\n".join(lines) + "\n"


def all_errors() -> list[type[errors.NephoscopeError]]:
    """Every class of errors of `errors.py`, bases first."""
    return list(_below(errors.NephoscopeError))


def _below(kind: type[errors.NephoscopeError]) -> Iterator[type[errors.NephoscopeError]]:
    for one in kind.__subclasses__():
        if one.__module__ == errors.__name__:
            yield one
            yield from _below(one)


def load_spec() -> str:
    """Keys of the spec."""
    return _fields(LoadSpec, "The spec")


def load_output() -> str:
    """Keys of the three kinds of lines."""
    return "\n".join(_fields(kind, f"`{kind.__name__.lower()}`") for kind in _OUTPUT)


def load_exit_codes() -> str:
    """Exit codes of the load generator, from its Rust source."""
    source = (ROOT / "load" / "src" / "exit.rs").read_text(encoding="utf-8")
    found = re.findall(r"/// (.+)\n\s+(\w+) = (\d+),", source)
    return (
        "\n".join(["| exit code | meaning |", "|---|---|", *(f"| {code} | {text} |" for text, _, code in found)]) + "\n"
    )


def benchmarks() -> str:
    """Every registered benchmark with its metrics and parameters."""
    return "\n".join(_benchmark(benchmark) for benchmark in BENCHMARKS.values())


def editions() -> str:
    """Every edition of TPC-C: what it fixes, what follows from the cluster, what it asks before a number counts."""
    lines = [
        "| edition | parameters | workers | connections | runs | passes when |",
        "|---|---|---|---|---|---|",
    ]
    for edition in EDITIONS.values():
        preset = ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in edition.preset.items())
        rule = edition.pass_rule
        passes = f"{rule.text()} ({rule.source})" if rule else "it has no rule that means something without waits"
        lines.append(
            f"| `{edition.name}` | {preset} | {edition.workers} | {edition.connections} | {edition.runs or 'not said'} "
            f"| {passes} |"
        )
    sources = [f"- `{edition.name}`: {edition.source}." for edition in EDITIONS.values()]
    return "\n".join([*lines, "", *sources, ""])


def micro_editions() -> str:
    """Every edition of a microbenchmark: what it fixes, and its defects with what `faithful` does."""
    lines = ["| benchmark | edition | parameters | known defects: what `faithful` keeps |", "|---|---|---|---|"]
    sources = []
    for benchmark in BENCHMARKS.values():
        found = benchmark.parameters.presets if issubclass(benchmark.parameters, EditionParameters) else {}
        for preset in found.values():
            defects = "; ".join(
                f"{defect.text}{': ' + _given(defect.faithful) if defect.faithful else ''}" for defect in preset.defects
            )
            given = _given(preset.parameters)
            lines.append(f"| `{benchmark.name}` | `{preset.edition}` | {given} | {defects or 'none'} |")
            sources.append(f"- `{benchmark.name}` as `{preset.edition}`: {preset.source}.")
    return "\n".join([*lines, "", *sources, "", *_fio_jobs(), ""])


def _given(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        "`jobs` of the table below" if key == "jobs" else f"`{key} = {json.dumps(value)}`"
        for key, value in parameters.items()
    )


def _fio_jobs() -> list[str]:
    """What fio's jobs do, of the editions on network disks; those on local SSDs do the same."""
    lines = [
        "| job of `fio` | edition | mode | block sizes | in flight | threads | more |",
        "|---|---|---|---|---|---|---|",
    ]
    for edition in ("cr2021", "cr2022"):
        for job in FioParameters.model_validate({"edition": edition}).jobs:
            more = {
                "each thread on its own part": job.apart,
                f"fsync after {job.fsync_every} writes": job.fsync_every,
                "through the page cache": not job.direct,
                f"search for the depth that keeps {job.latency_target}": job.latency_target,
            }
            said = "; ".join(text for text, holds in more.items() if holds)
            size = job.block_split or f"{job.block_size_kib}k"
            lines.append(
                f"| `{job.name}` | {edition} | {job.mode} | {size} | {job.queue_depth} | {job.threads} | {said} |"
            )
    return lines


def ranks() -> str:
    """What n replicates can carry: rank and coverage of the median and of ratios, and the smallest possible p-value."""
    lines = [
        "| n | interval of the median | its coverage | n against n: rank, ratio | its coverage | smallest possible p |",
        "|---|---|---|---|---|---|",
    ]
    for n in (3, 4, 5, 6, 7, 8, 9, 12, 15, 20, 30):
        rank, of_ratio = median_rank(n), interval_rank(n, n)
        ends = "smallest to largest" if rank == 1 else f"{_ordinal(rank)} smallest to {_ordinal(rank)} largest"
        coverage = f"{1 - 2 * cumulative_u(of_ratio - 1, n, n):.2%}" if of_ratio else "none"
        lines.append(
            f"| {n} | {ends} | {median_coverage(n, rank):.2%} | {of_ratio or 'none'} | {coverage} "
            f"| {smallest_p_value(n, n):.2g} |"
        )
    return "\n".join(lines).replace("%", " %") + "\n"


def _ordinal(number: int) -> str:
    return f"{number}{({2: 'nd', 3: 'rd'}).get(number, 'th')}"


def stopping_simulations() -> str:
    """How studies that stop end, beside the same studies in full."""
    return stopping.table(stopping.load())


def leaderboard_simulations() -> str:
    """Error rates and powers of leaderboards, from stored counts: simulating them takes half an hour."""
    stored = load()
    assert stored is not None, "run make simulate"
    return tables(stored)


def _benchmark(benchmark: Benchmark) -> str:
    parameters = benchmark.parameters()
    needs = benchmark.needs(parameters)
    lines = [f"## `{benchmark.name}`", "", f"{benchmark.title}. Version {benchmark.version}.", ""]
    lines += [
        f"Needs: {', '.join([f'`{tool.name}`' for tool in needs.tools] + _surroundings(benchmark))}. With its "
        f"default parameters a trial is expected to take {benchmark.expected_duration_s(parameters):.0f} s"
        + (f" and needs {needs.disk_bytes / 1024**2:,.0f} MiB of disk." if needs.disk_bytes else "."),
        "",
        "| metric | unit | better | headline | per CPU | what the clock measures |",
        "|---|---|---|---|---|---|",
    ]
    rows: dict[str, str] = {}
    for metric in benchmark.metrics(parameters):
        name = metric_name(benchmark, metric)
        marks = " | ".join("yes" if mark else "" for mark in (metric.headline, metric.per_cpu))
        rows.setdefault(name, f"| `{name}` | {metric.unit} | {metric.direction} | {marks} | {metric.clock} |")
    return "\n".join([*lines, *rows.values(), "", _fields(benchmark.parameters, "Parameters")])


def metric_name(benchmark: Benchmark, metric: Metric) -> str:
    """The name under which a metric is listed: one for all jobs or operations, and for all sizes of a working set."""
    _, dot, rest = re.sub(r"_in_\d+_bytes$", "_in_<size>_bytes", metric.name).rpartition(".")
    return f"<{'operation' if benchmark.subject is Subject.DATABASE else 'job'}>.{rest}" if dot else rest


def _surroundings(benchmark: Benchmark) -> list[str]:
    machines = benchmark.needs(benchmark.parameters()).machines
    database = ["a database"] if benchmark.subject is Subject.DATABASE else []
    return database + ([f"{machines} machines"] if machines > 1 else [])


def _fields(model: type[Frozen], heading: str) -> str:
    """Tables of a model's keys, one heading deeper than the reference of the study file."""
    return "\n".join(re.sub(r"^## ", "### ", section, flags=re.MULTILINE) for section in sections(model, heading))
