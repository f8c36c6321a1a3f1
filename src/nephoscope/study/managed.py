"""Who provides what: managed databases, whose server a service runs, and whose accident stolen CPU time is. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nephoscope.model.records import Disturbance
from nephoscope.study.explain import Problem
from nephoscope.study.model import Configuration, Machine, Study
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.server_settings import MYSQL
from nephoscope.study.suggest import shown
from nephoscope.study.toml_text import Path

MANAGED = "managed"
_HERE = "local"
_LOAD = "load_machine"
_NEEDS_DSN = 'provider "managed" needs the address of the service: dsn = "postgresql://user@host:5432/database"'
_ONLY_SQL = 'provider "managed" supports only `system` "postgres", "mariadb" and "mysql"; remove it'
_NOT_SEEN = "the machine of a managed database cannot be inspected, so the study may only name its `type`; remove it"
_CPUS_UNKNOWN = "the CPUs of a managed database are not known; set `connections` instead"
_OF_TPCC = ("tpcc", "max-warehouses")
_BY_CPUS = ("active_warehouses_per_cpu", "edition")
"""Parameters of these benchmarks; others have editions, too, which say nothing about CPUs."""
_INSTEAD = "give it a benchmark of its own with `active_warehouses`"
_NO_SOURCE = "add price_basis, the source and the date of this price: 'on-demand list price, us-east-1, 2026-11-20'"
_NOT_MANAGED = 'only the load machine of provider "managed" supports this; remove it'


def is_managed(configuration: Configuration) -> bool:
    """Whether a service runs its server."""
    return configuration.provider == MANAGED


def as_provided(configuration: Configuration) -> Configuration:
    """The configuration as the provider of its machines sees it: of a managed database only the load machine."""
    if not is_managed(configuration):
        return configuration
    load, database = configuration.load_machine or Machine(), configuration.database
    return configuration.model_copy(
        update={
            "provider": load.provider or _HERE,
            "region": load.region or configuration.region,
            "database_machine": load.model_copy(update={"provider": None, "region": None}),
            "load_machine": None,
            "price_usd_per_hour": None,
            "price_basis": None,
            "priced_as": None,
            "database": database.model_copy(update={"connections_per_cpu": None}),
        }
    )


def read_as_provided(stored: Mapping[str, Any]) -> Configuration:
    """A stored trial's configuration `as_provided`."""
    return as_provided(Configuration.model_validate(stored))


class ProvidedOnce:
    """Configurations of the trials of one plan `as_provided`; each is read once, and once more with one machine."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, int, bool], Configuration] = {}

    def of(self, stored: Mapping[str, Any]) -> Configuration:
        """The configuration of one trial."""
        database = stored.get("database_machine") or {}
        key = str(stored["name"]), database.get("count", 1), stored.get(_LOAD) is None
        if key not in self._read:
            self._read[key] = read_as_provided(stored)
        return self._read[key]


def study_as_provided(study: Study) -> Study:
    """The study with each configuration `as_provided`."""
    if not any(map(is_managed, study.configurations)):
        return study
    return study.model_copy(update={"configurations": [as_provided(one) for one in study.configurations]})


def provider_of_machines(configuration: Mapping[str, Any]) -> str:
    """The provider that makes the machines of a configuration, which is plain data of a study or of a stored trial."""
    provider = str(configuration.get("provider", _HERE))
    if provider != MANAGED:
        return provider
    return str(_table(configuration.get(_LOAD)).get("provider") or _HERE)


def plain_as_provided(configuration: Mapping[str, Any]) -> Mapping[str, Any]:
    """Plain data `as_provided`, with its machine still in `load_machine`, so that a problem names the key there."""
    if configuration.get("provider") != MANAGED:
        return configuration
    provider = provider_of_machines(configuration)
    ours = {*(() if provider != _HERE else ("region", "zone")), "database_machine", "priced_as"}
    kept = {key: value for key, value in configuration.items() if key not in ours}
    load = {key: value for key, value in _table(configuration.get(_LOAD)).items() if key != "provider"}
    return {**kept, "provider": provider, _LOAD: load}


def managed_problems(
    path: Path, configuration: Mapping[str, Any], benchmarks: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[Problem]:
    """Problems of one configuration at `path`: what a managed database needs, and what it cannot have.

    `benchmarks` are those of the study, with their places; the names of their configurations are a set.
    """
    if configuration.get("provider", _HERE) != MANAGED:
        for role in ("database_machine", _LOAD):
            if "provider" in _table(configuration.get(role)):
                yield Problem((*path, role, "provider"), _NOT_MANAGED)
        return
    yield from _server_problems(path, configuration)
    if "price_usd_per_hour" in configuration and "price_basis" not in configuration:
        yield Problem((*path, "price_usd_per_hour"), _NO_SOURCE)
    for place, entry in benchmarks:
        yield from _by_cpus(place, entry, configuration)


def _server_problems(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """What it needs to reach the server, and what it cannot say of its machine."""
    database = _table(configuration.get("database"))
    if database.get("system", "postgres") not in ("postgres", *MYSQL):
        yield Problem((*path, "database", "system"), _ONLY_SQL)
    elif "dsn" not in database:
        yield Problem((*path, "database") if "database" in configuration else (*path, "provider"), _NEEDS_DSN)
    if "connections_per_cpu" in database and "connections" not in database:
        yield Problem((*path, "database", "connections_per_cpu"), _CPUS_UNKNOWN)
    for key in _table(configuration.get("database_machine")).keys() - {"type"}:
        yield Problem((*path, "database_machine", key), _NOT_SEEN)


def _by_cpus(place: int, entry: Mapping[str, Any], configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Parameters by which a load grows with the CPUs of the database's machines."""
    named, name = entry["configurations"], str(configuration.get("name"))
    if entry.get("uses") not in _OF_TPCC or (named and name not in named):
        return
    for key in _BY_CPUS:
        if _table(entry.get("parameters")).get(key) is not None:
            text = f"how many CPUs the managed database {shown(name)} has is not known; {_INSTEAD}"
            yield Problem(("benchmarks", place, "parameters", key), text)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def disturbance_of(study: Study, configuration: Configuration) -> Disturbance:
    """What is in force for the trials of a configuration: the study's own key, else the default by provider."""
    if study.disturbance is not None:
        return study.disturbance
    provider = as_provided(configuration).provider
    return "record" if provider in CLOUDS or configuration.rented else "reject"
