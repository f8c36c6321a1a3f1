"""Classes of storage as clouds sell it, by the kind of a volume."""

LOCAL, GENERAL, HIGH = "local SSD", "general purpose", "high performance"
_HIGH = ("io1", "io2", "pd-extreme", "hyperdisk-extreme", "Ultra Disk")
"""Kinds that are sold for their IOPS; all others in the price book are general-purpose."""


def storage_class(kind: str) -> str:
    """'local SSD', 'general purpose' or 'high performance'."""
    return LOCAL if kind == LOCAL else HIGH if kind in _HIGH else GENERAL
