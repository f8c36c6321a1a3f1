"""What was still measured after each block of a study that stops when its questions are answered."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.words import enumeration

NAME = "looks"


def looks(lookup: Lookup) -> list[Draft]:
    """How many configurations were measured after each look, how many trials that saved, and why questions closed."""
    left_out = [row.trial for row in lookup.study.trials if row.state == "not needed"]
    if not (lookup.study.looks and left_out):
        return []
    last = lookup.study.looks[-1]
    numbers: dict[str, float] = {
        "left_out": len(left_out),
        "total": len(lookup.study.trials),
        "planned": last.configurations,
    }
    stages, reasons = [], []
    for key, look in keyed(one for one in lookup.study.looks if one.block < one.last):
        numbers |= {f"block_{key}": look.block, f"still_{key}": len(look.still)}
        stages.append(f"{{still_{key}:count}} after block {{block_{key}:count}}")
    words = {}
    for key, (reason, count) in keyed(last.outcomes().items()):
        numbers[f"closed_{key}"], words[f"reason_{key}"] = count, reason
        reasons.append(f"{{closed_{key}:count}} {{reason_{key}}}")
    questions = len(last.questions)
    numbers["questions"] = questions
    template = "Blocks after the third measured only configurations that an open question needed"
    template += f": of {{planned:count}}, {enumeration(stages)} were left. " if stages else ". "
    template += "Questions: {questions:count}" + (f", of which {enumeration(reasons)}. " if reasons else ". ")
    template += "Trials left out: {left_out:count} of {total:count}."
    found = [say(NAME, "note", template, numbers=numbers, trials=left_out, case="left out", **words)]
    if lookup.study.not_repeatable:
        changed = {
            "changed": len(lookup.study.not_repeatable),
            "looks": len(lookup.study.looks),
            "first": lookup.study.not_repeatable[0],
        }
        text = (
            "From the stored trials, {changed:count} of {looks:count} "
            + plural(len(lookup.study.looks), "look")
            + " would come out differently, first the one after block {first:count}: a trial that they used was "
            "repeated or replaced since. The stored looks are kept."
        )
        found.append(say(NAME, "warning", text, numbers=changed, trials=[row.trial for row in lookup.study.trials]))
    return found
