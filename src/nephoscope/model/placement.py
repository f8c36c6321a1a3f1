"""Which trials share a cluster. Pure: plan and run ask the same function."""

from typing import Literal

Placement = Literal["fresh", "per-replicate", "per-configuration"]

NEW_MACHINES: frozenset[Placement] = frozenset({"fresh", "per-replicate"})
"""Placements by which every replicate of a trial is on machines of its own."""


def shared_cluster(placement: Placement, configuration: str, replicate: int, *, unformatted: bool) -> str | None:
    """Name of the cluster that a trial shares with others, unique in its study; None: it has one of its own.

    Args:
        placement: of the study.
        configuration: name of its configuration.
        replicate: its replicate.
        unformatted: it measures a volume that other trials of its configuration need formatted, and so cannot share
            machines with them.
    """
    if placement == "fresh":
        return None
    if placement == "per-configuration":
        return configuration
    return f"{configuration}/replicate-{replicate}{'-raw' if unformatted else ''}"
