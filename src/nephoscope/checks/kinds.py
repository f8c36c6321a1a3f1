"""Machines of one configuration that are alike: providers sell different CPUs and layouts under one type.

The Cloud Report of 2022 ran configurations again "if one of the instances got a slightly different processor, or a
different NUMA count than the others", until four runs were on equal machines where it could.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from nephoscope.checks.verdicts import invalid, measured_of, valid
from nephoscope.model.records import Evidence, Facts, MachineKind, Verdict, VerdictKind

KIND_FACTS = (
    "cpu_model",
    "cpu_family",
    "cpu_model_number",
    "cpu_stepping",
    "cpus_online",
    "sockets",
    "threads_per_core",
    "numa_nodes",
    "l2_bytes",
    "l3_bytes",
    "kernel",
    "clock_source",
)
"""Facts by which two machines of a type differ in kind; memory is not one, as it differs by some pages."""
_MIN_ALIKE = 2


def most_common(machines: Sequence[Facts], *, ties: bool) -> MachineKind | None:
    """What most machines are; None: no two are alike, or two kinds tie.

    Args:
        machines: of one configuration.
        ties: True decides a tie for the kind that comes first.
    """
    counts = Counter(tuple(getattr(facts, name) for name in KIND_FACTS) for facts in machines)
    ranked = counts.most_common(2)
    if not ranked or ranked[0][1] < _MIN_ALIKE:
        return None
    if not ties and len(ranked) > 1 and ranked[1][1] == ranked[0][1]:
        return None
    kind, alike = ranked[0]
    seen = {name: str(value) for name, value in zip(KIND_FACTS, kind, strict=True) if value is not None}
    return MachineKind(facts=seen, alike=alike, machines=len(machines))


class EqualMachines:
    """The kind of machine, if the study demands equal ones and most of its configuration's are of one kind."""

    name = "equal-machines"
    text = (
        "Rejects a trial on a machine that differs from most of its configuration in CPU, cache, NUMA layout, kernel "
        "or clock (`equal_machines`)."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Compares each database machine; None if the study does not ask, or there is no usual kind yet."""
        kind = evidence.usual_kind
        return None if kind is None else self.judged(evidence.facts_before, evidence.load_machines, kind)

    def judged(self, facts: Mapping[str, Facts], loads: Collection[str], kind: MachineKind) -> Verdict | None:
        """The same of machines by name, without the rest of the evidence; None: there is no database machine."""
        verdicts = [self._judged(machine, facts[machine], kind) for machine in measured_of(facts, loads)]
        return next((one for one in verdicts if one.verdict is VerdictKind.INVALID), verdicts[0] if verdicts else None)

    def _judged(self, machine: str, facts: Facts, kind: MachineKind) -> Verdict:
        other = [f"{name} is {getattr(facts, name)}, but {kind.facts[name]}" for name in _differences(facts, kind)]
        usual = f"{kind.alike} of {kind.machines} machines of this configuration"
        if other:
            return invalid(self.name, f"{machine}: {', '.join(other)} on {usual}")
        return valid(self.name, f"{machine}: like {usual}")


def differing_facts(facts: Mapping[str, Facts], loads: Collection[str], kind: MachineKind) -> list[str]:
    """Names of the facts in which the first machine of another kind differs; empty if all are of the usual kind.

    Args:
        facts: by machine.
        loads: names of the machines of the load generator, which are not judged.
        kind: the usual one.
    """
    each = (list(_differences(facts[machine], kind)) for machine in measured_of(facts, loads))
    return next(filter(None, each), [])


def _differences(facts: Facts, kind: MachineKind) -> Iterable[str]:
    """A fact that the machine does not report does not differ."""
    for name, usual in kind.facts.items():
        value = getattr(facts, name)
        if value is not None and str(value) != usual:
            yield name
