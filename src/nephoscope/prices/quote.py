"""What hours on a configuration cost. For now the only source is the price that a study states."""

from nephoscope.frozen import Frozen
from nephoscope.study.model import Configuration


class Quote(Frozen):
    """A price with its basis, or the reason why there is none. Never 0 for 'not known'."""

    price_usd: float | None
    basis: str | None
    reason_missing: str | None


def quote(configuration: Configuration, hours: float) -> Quote:
    """The price of `hours` hours of the whole cluster, in US dollars; pure.

    Raises:
        ValueError: negative hours.
    """
    if hours < 0:
        raise ValueError(f"hours must not be negative: {hours}")
    per_hour = configuration.price_usd_per_hour
    if per_hour is None:
        what = "local machine" if configuration.provider == "local" else f"provider {configuration.provider}"
        return Quote(price_usd=None, basis=None, reason_missing=f"{what}: no price given")
    basis = configuration.price_basis or "price_usd_per_hour of the study; basis not given"
    return Quote(price_usd=per_hour * hours, basis=basis, reason_missing=None)
