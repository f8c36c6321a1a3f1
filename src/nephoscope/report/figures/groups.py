"""Configurations in groups that a reader compares: clouds, and sizes of machines."""

from collections.abc import Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.words import provider_name, scope_name
from nephoscope.model.written import Scope

_CLOUDS = frozenset({"aws", "azure", "gcp"})

OVERALL = "Overall"
MAX_OVERALL, MAX_OF_CLOUD = 15, 48
"""Rows of a ranking of everyone, and of one cloud: reports show every machine type of a cloud."""

Groups = dict[str, list[str]]
"""Title -> configurations, in the order of the study."""


def clouds(lookup: Lookup) -> Groups:
    """Configurations by cloud; empty if there are fewer than two clouds."""
    found: Groups = {}
    for name in lookup.configurations:
        cloud = cloud_of(lookup, name)
        if cloud:
            found.setdefault(cloud, []).append(name)
    return dict(sorted(found.items())) if len(found) > 1 else {}


def everywhere(lookup: Lookup) -> Groups:
    """The same with the machines outside of clouds, so that no configuration is missing."""
    return _with_others(clouds(lookup), lookup)


def sizes(lookup: Lookup) -> Groups:
    """Configurations by size, '8 vCPUs' or '30 to 36 vCPUs'; empty if all machines have one size."""
    vcpus = {name: row.vcpus for name, row in lookup.described.items() if row.vcpus}
    titles = {count: scope_name(size) for count, size in Scope.sizes(vcpus.values()).items()}
    found: Groups = {title: [] for title in titles.values()}
    for name in lookup.configurations:
        if name in vcpus:
            found[titles[vcpus[name]]].append(name)
    return found if len(found) > 1 else {}


def clouds_and_sizes(lookup: Lookup) -> Groups:
    """'AWS, 8 vCPUs' -> configurations; by only one of both where the other has one value; empty if both have.

    Configurations of which one of them is not known are "Other machines".
    """
    by_cloud, by_size = clouds(lookup), sizes(lookup)
    if not by_cloud or not by_size:
        return _with_others(by_cloud or by_size, lookup)
    both = {
        f"{cloud}, {size}": [name for name in names if name in set(members)]
        for cloud, names in by_cloud.items()
        for size, members in by_size.items()
    }
    return _with_others({title: names for title, names in both.items() if names}, lookup)


def only(groups: Groups, names: Sequence[str], least: int = 1) -> Groups:
    """The groups with these configurations alone, in the order of `names`; smaller groups than `least` are left out."""
    members = {title: set(many) for title, many in groups.items()}
    found = {title: [name for name in names if name in members[title]] for title in groups}
    return {title: many for title, many in found.items() if len(many) >= least}


def ranked(panels: Groups) -> Groups:
    """As many of each as a ranking shows; panels of everyone begin with `OVERALL`."""
    return {
        title: names[: MAX_OVERALL if title.startswith(OVERALL) else MAX_OF_CLOUD] for title, names in panels.items()
    }


def cloud_of(lookup: Lookup, name: str) -> str | None:
    """'AWS' for its machines, and for others that are priced as machines of AWS; None outside of clouds."""
    row = lookup.described.get(name)
    priced = next((cost.provider for cost in lookup.costs.get(name, []) if cost.provider), None)
    named = (row.provider if row else None, priced)
    return next((provider_name(provider) for provider in named if provider in _CLOUDS), None)


def _with_others(groups: Groups, lookup: Lookup) -> Groups:
    known = {name for names in groups.values() for name in names}
    others = [name for name in lookup.configurations if name not in known]
    return {**groups, "Other machines": others} if groups and others else groups
