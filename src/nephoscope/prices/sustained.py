"""Sustained use of Compute Engine: the discount that Google gives by itself on machines that are used all month.

The month is cut into quarters, and each quarter of use costs a part of the on-demand rate. Source: Google, Sustained
use discounts for Compute Engine (tiers and eligible machine series). A month at these tiers is 0.7 and 0.8002 of 730
hours: what the price list of 2022-03-07 has for every such series, and 1 for all others.
"""

from collections.abc import Mapping

from nephoscope.model.errors import InputError

UP_TO_30_PERCENT = (1.0, 0.8, 0.6, 0.4)
UP_TO_20_PERCENT = (1.0, 0.8678, 0.733, 0.6)
"""Share of the on-demand rate in each quarter of a month."""
SERIES: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("n1", "m1", "m2", "f1", "g1"), UP_TO_30_PERCENT),
    **dict.fromkeys(("n2", "n2d", "c2"), UP_TO_20_PERCENT),
}
"""Machine series with a discount; all others have none."""
PROVIDER = "gcp"


def sustained_use_percent(provider: str, machine_type: str, share_of_month: float = 1.0) -> float | None:
    """The discount on a machine that is used for a part of a month, in percent of its on-demand price.

    Returns:
        None: its series has no such discount, or none is documented.

    Raises:
        InputError: a part of a month that does not lie above 0 and up to 1.
    """
    if not 0 < share_of_month <= 1:
        raise InputError(f"a share of a month must be above 0 and at most 1, found {share_of_month:g}")
    tiers = SERIES.get(machine_type.partition("-")[0]) if provider == PROVIDER else None
    if tiers is None:
        return None
    quarters = share_of_month * len(tiers)
    paid = sum(rate * min(1.0, max(0.0, quarters - place)) for place, rate in enumerate(tiers))
    return 100 * (1 - paid / quarters)
