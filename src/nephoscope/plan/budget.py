"""Rejects a plan that exceeds its budget, before anything starts."""

from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.model.units import SECONDS_PER_HOUR
from nephoscope.study.model import Budget


def check_budget(plan: Plan, budget: Budget) -> None:
    """Returns normally if the plan is within the budget; pure.

    Raises:
        InputError: more hours or US dollars than allowed, or a limit in dollars for a plan whose price is not known.
    """
    problems = []
    hours = plan.expected_duration_s / SECONDS_PER_HOUR
    if budget.max_hours is not None and hours > budget.max_hours:
        problems.append(
            f"the plan takes {hours:.2f} hours, {hours - budget.max_hours:.2f} more than {budget.max_hours:g}"
        )
    if budget.max_usd is not None:
        known = sum(trial.price_usd or 0 for trial in plan.trials)
        at_least = "at least " if plan.price_usd is None else ""
        if known > budget.max_usd:
            over = known - budget.max_usd
            problems.append(f"the plan costs {at_least}${known:,.2f}, ${over:,.2f} more than ${budget.max_usd:,.2f}")
        elif plan.price_usd is None:
            unknown = "; ".join(plan.unpriced)
            problems.append(f"the budget is ${budget.max_usd:,.2f}, but the plan's price is not known ({unknown})")
    if problems:
        raise InputError(
            "; ".join(problems),
            hint="use fewer replicates, configurations or benchmarks, shorter durations or a larger [budget], or give "
            "every configuration a price_usd_per_hour",
        )
