"""What tells the configurations of a study apart: 'CPUs', 'shared_buffers', and the value of each."""

from collections.abc import Mapping

from nephoscope.study.contrasts import facts_of, label_of, name_of
from nephoscope.study.model import Configuration


def differences(configurations: Mapping[str, Configuration]) -> dict[str, dict[str, str]]:
    """What differs between configurations -> configuration -> its value, as text; in the order of the alphabet.

    Prices and addresses are left out, as they make no machine faster. Empty for fewer than two configurations.

    Args:
        configurations: by the name under which they are measured.
    """
    facts = {name: facts_of(one) for name, one in sorted(configurations.items())}
    keys = sorted({key for one in facts.values() for key in one})
    values = {key: {name: one.get(key) for name, one in facts.items()} for key in keys}
    return {
        name_of(key): {name: label_of(key, value) for name, value in of.items()}
        for key, of in values.items()
        if len(set(of.values())) > 1
    }
