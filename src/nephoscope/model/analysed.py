"""What an analysis hands to the report: every table, and what the study was.

On disk: `analysis.json` and one Parquet file for each table, in the results folder; all can be rebuilt from `trials/`.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import Field, SkipValidation

from nephoscope.model.frozen import Frozen
from nephoscope.model.looks import Look
from nephoscope.model.missing import MissingPart
from nephoscope.model.names import Name
from nephoscope.model.publication import Publication
from nephoscope.model.questions import Headline
from nephoscope.model.records import Disturbance, Plan, SourceRecord
from nephoscope.model.rows import BenchmarkRow, Insight
from nephoscope.model.standing import Standing

Row = TypeVar("Row")


class Levels(Frozen):
    """The settings behind verdicts and intervals."""

    alpha: float = Field(default=0.05, description="significance level of one family of claims")
    confidence: float = Field(default=0.95, description="confidence level of the intervals")
    exact_pairs: int = Field(
        default=2500, description="a p-value is enumerated exactly up to this many pairs of values"
    )


class OnlyDifference(Frozen):
    """The one thing in which the configurations of a study differ."""

    what: str = Field(description="'CPUs', 'shared_buffers'")
    values: dict[str, str] = Field(description="by configuration, as the study asks for it")


class PartOfStudy(Frozen):
    """How much of its study a plan holds; a cell is a benchmark on a configuration."""

    configurations: int
    of_configurations: int
    benchmarks: int
    of_benchmarks: int
    cells: int
    of_cells: int
    providers: list[str] = Field(description="those of which no configuration is in the plan")
    chapters: list[str] = Field(description="'network', 'key-value': those of which no benchmark is in the plan")


class AnalysedStudy(Frozen):
    """Everything a report shows: what the study was, and every table by its row model. The report computes nothing."""

    schema_: Literal["nephoscope/analysis/2"] = Field(default="nephoscope/analysis/2", alias="schema")
    study: Name
    title: str
    description: str
    publication: Publication = Field(default=Publication(), description="what the author says of the report")
    headline: Headline | None = Field(default=None, description="the study's question, if it names one")
    seed: int
    replicates: int
    equivalence_margin_percent: float
    study_toml: str
    nephoscope_version: str
    tool_versions: dict[str, list[str]] = Field(description="every version of a tool that some trial used, sorted")
    started_unix_ms: int | None
    ended_unix_ms: int | None
    plan: Plan
    benchmarks: list[BenchmarkRow]
    insights: list[Insight]
    missing: list[MissingPart] = Field(default=[], description="rules that raised: what they would say is missing")
    database_settings: dict[str, dict[str, str]] = Field(description="configuration -> settings in force")
    levels: Levels = Levels()
    scopes: dict[str, list[str]] = Field(default={}, description="who competes with whom: 'cloud: aws' -> members")
    bases: list[str] = Field(
        default=[],
        description="kinds of prices that the study asks for; the first orders everything; empty: all but spot",
    )
    price_date: str | None = Field(default=None, description="the day whose prices the costs use")
    named: list[str] = Field(default=[], description="configurations in the order of the study file")
    only_difference: OnlyDifference | None = Field(
        default=None, description="what tells the configurations apart, if it is one thing"
    )
    looks: list[Look] = []
    not_repeatable: list[int] = Field(default=[], description="blocks of looks that stored trials do not give again")
    judged_again: Disturbance | None = Field(
        default=None, description="stored steal was judged again like this; None: as when the trials ran"
    )
    standing: Standing = Field(description="among public CPU results")
    equal_hosts: bool = Field(
        default=False, description="configurations differ in their hosts alone, so the question is which one is slow"
    )
    differences: str = Field(
        default="", description="a clause: 'they differ only in shared_buffers: 128MB and 1GB'; empty: not known"
    )
    several_differences: bool = Field(default=False, description="`differences` lists more than one thing")
    source: SourceRecord | None = Field(default=None, description="source of imported results; None: measured here")
    part: PartOfStudy | None = Field(default=None, description="how much the plan holds; None: all, or it is not known")
    inputs_digest: str | None = Field(default=None, exclude=True, description="in files of earlier versions; not used")
    tables: SkipValidation[Mapping[Any, list[Any]]] = Field(
        default={}, repr=False, description="row model -> its rows; in the file: name -> rows of tables without columns"
    )

    def __getitem__(self, row: type[Row]) -> list[Row]:
        """The rows of a table, in its order.

        Raises:
            KeyError: no table has this row model.
        """
        return self.tables[row]
