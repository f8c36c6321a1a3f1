"""What each cloud's error codes mean, read off the rules."""

from collections.abc import Mapping, Sequence

from nephoscope.providers.aws import errors as aws
from nephoscope.providers.azure import errors as azure
from nephoscope.providers.cloud.answers import Rule
from nephoscope.providers.gcp import errors as gcp

ANSWERS: Mapping[str, Sequence[Rule]] = {
    "AWS, an answer": aws.RULES,
    "AWS, why a machine ended": aws.ENDED_RULES,
    "Azure": azure.RULES,
    "GCP, without case and underscores": gcp.RULES,
}


def cloud_answers() -> str:
    """One row for each rule, in the order in which they are tried."""
    lines = ["| cloud | codes | class | meaning | source |", "|---|---|---|---|---|"]
    for cloud, rules in ANSWERS.items():
        for rule in rules:
            codes = ", ".join(f"`{code}`" for code in rule.codes.split())
            meaning = str(rule.meaning.__doc__).splitlines()[0]
            lines.append(f"| {cloud} | {codes} | `{rule.meaning.failure_class}` | {meaning} | [page]({rule.source}) |")
    return "\n".join(lines) + "\n"
