"""Faults of the network between a server's machine and the others: rules of nftables on that machine, by root.

They drop packets of the cluster's other machines and count them, so that a fault that hit nothing is not taken for one.
What the machine sends to others, and SSH, is left alone. The rules are a table of their own: nobody else's are touched,
and it goes as a whole.
"""

import ipaddress
import random
import re
from collections.abc import Sequence

from typing_extensions import override

from nephoscope.benchmarks.faults.kinds import GRACE_S, Fault, Severity, State, Victim
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import InputError, ToolMissing

TABLE = "nephoscope_fault"
_MISSING = "no nft"
_FAMILIES = {4: "ip", 6: "ip6"}
_BOTH_WAYS = (("in", "saddr"), ("out", "daddr"))
_DROPPED = re.compile(r"\bcounter packets (\d+)")

_SCRIPT = """
script=$1 action=$2 seconds=$3 rules=$4
case $action in
look)
    command -v nft >/dev/null || { echo 'no nft'; exit 0; }
    tables=$(nft list tables) || exit 1
    case $tables in *' TABLE'*) nft list table inet TABLE ;; esac
    ;;
apply)
    on_its_own "$seconds" $$ "$script" undo - -
    # shellcheck disable=SC2086
    set -- $SSH_CONNECTION
    nft -f - <<RULES
table inet TABLE
delete table inet TABLE
table inet TABLE {
    chain in { type filter hook input priority -300; tcp dport ${4:-22} accept; }
    chain out { type filter hook output priority -300; tcp sport ${4:-22} accept; }
}
$rules
RULES
    ;;
undo)
    nft -f - <<RULES
table inet TABLE
delete table inet TABLE
RULES
    ;;
esac
""".replace("TABLE", TABLE)
"""A table is declared before it is deleted, because that one may be there or not."""


class _Dropping(Fault):
    """One that drops packets."""

    here = False

    def _peers(self, victim: Victim) -> Sequence[MachineHandle]:
        """Those whose packets are dropped."""
        return [one for one in victim.cluster.machines if one.name != victim.server.machine.name]

    def _ways(self) -> Sequence[tuple[str, str]]:
        """Chains, each with which end of a packet is the other machine's."""
        return _BOTH_WAYS

    def _which(self, severity: Severity) -> str:
        """Of their packets, as a condition of a rule."""
        return f"numgen random mod 100000 < {round(1000 * severity.loss_percent)}"

    @override
    async def look(self, victim: Victim) -> State:
        machine = victim.server.machine
        peers = self._peers(victim)
        if isinstance(machine.remote, LocalRemote) or not peers:
            raise InputError(
                f"{machine.name} shares a machine with everything that it could be cut off from",
                hint="use machines of their own: `provider` ssh, a cloud, or emulated",
            )
        said = await victim.as_root(_SCRIPT, "look", "-", "-")
        if said.startswith(_MISSING):
            raise ToolMissing(f"nft is not installed on {machine.name}", hint="apt-get install nftables")
        return {"dropped": str(sum(map(int, _DROPPED.findall(said))))} if TABLE in said else {}

    @override
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        which = self._which(victim.severity)
        rules = [
            f"add rule inet {TABLE} {way} {_FAMILIES[address.version]} {end} {address} {which} counter drop"
            for way, end in self._ways()
            for address in (ipaddress.ip_address(one.address) for one in self._peers(victim))
        ]
        await victim.as_root(_SCRIPT, "apply", f"{duration_s + GRACE_S:g}", "\n".join(rules))

    @override
    def happened(self, before: State, after: State) -> bool:
        return int(after.get("dropped", 0)) > 0

    @override
    async def undo(self, victim: Victim, before: State) -> None:
        await victim.as_root(_SCRIPT, "undo", "-", "-")

    @override
    def is_over(self, before: State, after: State) -> bool:
        return not after


class Loss(_Dropping):
    """A share of the packets between its machine and the others, `loss_percent`, is lost, each way: a bad link."""


class _All(_Dropping):
    """One that drops every packet."""

    @override
    def _which(self, severity: Severity) -> str:
        return ""


class Partition(_All):
    """Its machine and all others of the cluster, clients too, drop each other's packets: a switch that has died."""


class PartialPartition(_All):
    """Its machine and one other database machine drop each other's packets; both reach all the others."""

    @override
    def _peers(self, victim: Victim) -> Sequence[MachineHandle]:
        others = [one for one in victim.cluster.database if one.name != victim.server.machine.name]
        drawn = random.Random(f"{victim.chance}/peer")  # noqa: S311 - to be repeated
        return [drawn.choice(others)] if others else []


class OneWayPartition(_All):
    """Its machine gets nothing from the others, which get what it sends."""

    @override
    def _ways(self) -> Sequence[tuple[str, str]]:
        return _BOTH_WAYS[:1]
