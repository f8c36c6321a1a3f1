"""A study file -> a study -> a plan. Loads no part that only a run needs: a plan must be there at once."""

from collections.abc import Mapping
from pathlib import Path

from nephoscope.app.files import read_text
from nephoscope.app.wiring import real_databases
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.base import HasFootprint
from nephoscope.model.records import Plan
from nephoscope.plan.expand import expand
from nephoscope.plan.space import Footprint, check_space
from nephoscope.providers.cloud.check import require_possible
from nephoscope.study.load import load_study
from nephoscope.study.model import Study


def load(text: str, name: str) -> Study:
    """A study from its text; see `load_study`."""
    return load_study(text, name, BENCHMARKS)


def read_study(file: Path) -> Study:
    """A study from its file."""
    return load(read_text(file), str(file))


def plan(study: Study, *, scale: float | None = None) -> Plan:
    """study -> plan; `scale` of sizes and run times, see `expand`.

    Raises:
        InputError: no plan can be made, a cloud could not be asked for the machines of a configuration, or data do not
            fit on its disks.
    """
    for configuration in study.configurations:
        require_possible(configuration)
    planned = expand(study, BENCHMARKS, scale=scale)
    check_space(planned, BENCHMARKS, _footprints(study))
    return planned


def _footprints(study: Study) -> Mapping[str, Footprint]:
    """Of the study's databases alone: each takes time to load."""
    databases = real_databases()
    systems = {configuration.database.system for configuration in study.configurations}
    return {name: one.disk_bytes for name in systems if isinstance(one := databases[name], HasFootprint)}
