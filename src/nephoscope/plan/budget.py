"""Rejects a plan that exceeds its budget, before anything starts."""

from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.model.units import SECONDS_PER_HOUR
from nephoscope.model.words import dollars, duration
from nephoscope.study.model import Budget


def check_budget(plan: Plan, budget: Budget) -> None:
    """Returns normally if the plan is within the budget; pure.

    Raises:
        InputError: more hours or US dollars than allowed, or a limit in dollars for a plan whose price is not known.
    """
    problems = []
    takes_s = plan.expected_duration_s
    if budget.max_hours is not None and takes_s > (allowed_s := budget.max_hours * SECONDS_PER_HOUR):
        over = duration(takes_s - allowed_s)
        problems.append(f"the plan takes {duration(takes_s)}, {over} more than {duration(allowed_s)}")
    if budget.max_usd is not None:
        known = sum(trial.price_usd or 0 for trial in plan.trials)
        at_least = "at least " if plan.price_usd is None else ""
        if known > budget.max_usd:
            over = dollars(known - budget.max_usd)
            problems.append(f"the plan costs {at_least}{dollars(known)}, {over} more than {dollars(budget.max_usd)}")
        elif plan.price_usd is None:
            unknown = "; ".join(map(str, plan.unpriced))
            problems.append(f"the budget is {dollars(budget.max_usd)}, but the plan's price is not known ({unknown})")
    if problems:
        raise InputError(
            "; ".join(problems),
            hint="use fewer replicates, configurations or benchmarks, shorter durations or a larger [budget], or give "
            "every configuration a price_usd_per_hour",
        )
