"""Rules as people write them: read whole, or refused with what is wrong and where."""

import pytest

from nephoscope.benchmarks.search.rule import ALWAYS, DEFAULT, SHARES, Condition, RuleError, parse_rule, quantile_of


def test_a_rule_is_read_and_completed() -> None:
    rule = parse_rule("p99(read) < 5ms and errors < 0.1%")
    assert rule.conditions == (
        Condition("p99", "read", "below", 0.005),
        Condition("errors", None, "below", 0.001),
        Condition("achieved", None, "at least", 0.99),
    )
    assert rule.text == "p99(read) < 5 ms and errors < 0.1 % and achieved ≥ 99 %"


def test_the_default_says_all_there_is() -> None:
    assert parse_rule(DEFAULT).text == "mean(read) ≤ 1 ms and achieved ≥ 99 % and errors ≤ 0.1 %"


def test_what_a_rule_says_reads_as_the_same_rule() -> None:
    for text in (
        DEFAULT,
        "p999(all) <= 250 us and max(new_order) < 1.5 s and mean(write) ≤ 2 ms and achieved > 99.9 %",
    ):
        rule = parse_rule(text)
        assert parse_rule(rule.text) == rule


@pytest.mark.parametrize(
    ("quantity", "quantile"),
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999), ("mean", None)],
)
def test_percentiles_are_quantiles(quantity: str, quantile: float | None) -> None:
    assert quantile_of(quantity) == quantile


def test_what_is_no_rule_is_refused_with_its_place(subtests: pytest.Subtests) -> None:
    for text, said in [
        ("", "nothing is not a condition; expected a condition such as `p99(read) < 5 ms`"),
        ("p99(read) < 5 ms and", "nothing is not a condition"),
        ("p99(read) 5 ms", "`p99(read) 5 ms` at column 1 is not a condition"),
        ("errors < 0.1 % and p99(read < 5 ms", "`p99(read < 5 ms` at column 20 is not a condition"),
        ("p99 < 5 ms", "`p99` needs an operation: `p99(read)`"),
        ("errors(read) < 1 %", "`errors` takes no operation"),
        ("p99(read) < 5", "`p99(read) < 5` has no unit; wanted: ns, us, µs, ms, s"),
        ("p99(read) < 5 min", "has the unit 'min'; wanted: ns, us, µs, ms, s"),
        ("p99(read) < 5 ms and errors < 1 ms", "has the unit 'ms'; wanted: %"),
        ("main(read) < 5 ms", "`main` at column 1 is not a known quantity; did you mean `mean`?"),
        ("p00(read) < 5 ms", "`p00` at column 1 is not a percentile from `p50` to `p9999`"),
        ("p100(read) < 5 ms", "`p100` at column 1 is not a percentile from `p50` to `p9999`; did you mean `max`?"),
        ("p10(read) < 5 ms", "`p10` at column 1 is not a percentile"),
        ("p49(read) < 5 ms", "`p49` at column 1 is not a percentile"),
        ("p5(read) < 5 ms", "`p5` at column 1 is not a percentile"),
        ("p99999(read) < 5 ms", "`p99999` at column 1 is not a percentile"),
        (
            "p99(read) < 5 ms and errors < 1 %",
            "`errors < 1 %` is laxer than the check `errors`, which rejects more than 0.1 %",
        ),
        ("p99(read) < 5 ms and errors <= 0.11 %", "is laxer than the check `errors`"),
        (
            "p99(read) < 5 ms and achieved >= 95 %",
            "`achieved >= 95 %` is laxer than the check `rate-kept`, which rejects",
        ),
        ("p99(read) > 5 ms", "every overload meets `p99(read) > 5 ms`"),
        ("p99(read) < 5 ms and achieved < 99 %", "every overload meets `achieved < 99 %`"),
        ("p99(read) < 5 ms and p99(read) < 6 ms", "`p99(read)` appears twice"),
        (ALWAYS, "limits no response time"),
    ]:
        with subtests.test(text=text):
            with pytest.raises(RuleError) as refused:
                parse_rule(text)
            assert said in str(refused.value)


@pytest.mark.parametrize("shares", ["errors <= 0.1 % and achieved >= 99 %", "errors < 0.01 % and achieved > 99.9 %"])
def test_shares_as_strict_as_the_checks_are_accepted(shares: str) -> None:
    assert {one.quantity for one in parse_rule(f"p50(read) < 5 ms and {shares}").conditions} == {"p50", *SHARES}


def test_a_rule_judges_what_was_observed_and_what_was_not() -> None:
    rule = parse_rule("mean(read) <= 1 ms and p99(write) < 5 ms")
    observed = {"mean(read)": 0.001, "errors": 0.002, "achieved": 0.995}
    judged = {one.what: one.met for one in rule.judge(lambda condition: observed.get(condition.subject))}
    assert judged == {"mean(read)": True, "p99(write)": None, "achieved": True, "errors": False}
