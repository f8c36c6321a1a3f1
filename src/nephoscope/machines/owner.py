"""Whose machine is this? A cloud's firmware says its name in DMI."""

from nephoscope.model.records import Facts

_CLOUDS = {
    ("Amazon EC2", ""): "Amazon EC2",
    ("Xen", "HVM domU"): "Amazon EC2",
    ("Google", "Google Compute Engine"): "Google Compute Engine",
    ("Microsoft Corporation", "Virtual Machine"): "Microsoft Azure",
    ("Alibaba Cloud", ""): "Alibaba Cloud",
    ("DigitalOcean", ""): "DigitalOcean",
    ("Hetzner", ""): "Hetzner",
    ("Tencent Cloud", ""): "Tencent Cloud",
}
"""(vendor, product) as DMI has them -> the cloud; an empty product stands for any. Two of them may also be a machine of
one's own: Xen, and Microsoft's Hyper-V."""


def cloud_named_by(facts: Facts) -> str | None:
    """The cloud whose hypervisor the machine's firmware names; None: none, or there is no DMI."""
    vendor, product = facts.system_vendor or "", facts.product or ""
    return _CLOUDS.get((vendor, product)) or _CLOUDS.get((vendor, ""))
