"""Faults of several servers: one after the other, or all of a zone at once."""

import asyncio
from collections.abc import Sequence

from typing_extensions import override

from nephoscope.benchmarks.faults.kinds import END_TIMEOUT_S, OfProcesses, Restart, State, Victim
from nephoscope.model.errors import DatabaseFailed, InputError

_LOOK_EVERY_S = 0.2
_DOWN = "down"
"""State of a server without a process."""


class _OfSeveral(OfProcesses):
    """One that hits more than the victim."""

    def _hit(self, victim: Victim) -> Sequence[Victim]:
        """In their order."""
        return victim.everyone

    @override
    async def look(self, victim: Victim) -> State:
        """Every process, by machine and number; and each server that has none."""
        found: dict[str, str] = {}
        for one in self._hit(victim):
            name, processes = one.server.machine.name, await one.processes()
            found |= {f"{name} {process}": state for process, state in processes.items()} or {name: _DOWN}
        return found

    @override
    def is_over(self, before: State, after: State) -> bool:
        return super().is_over(before, after) and _DOWN not in after.values()

    @override
    async def undo(self, victim: Victim, before: State) -> None:
        for one in self._hit(victim):
            if not await one.processes():
                await one.database.start_again(one.cluster, one.server)


class RollingRestart(_OfSeveral):
    """All servers are restarted, each once copies are complete again, the victim last: an upgrade, a new kernel."""

    lasts = False

    @override
    def _hit(self, victim: Victim) -> Sequence[Victim]:
        return sorted(victim.everyone, key=lambda one: one.server.machine.name == victim.server.machine.name)

    @override
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        for one in self._hit(victim):
            await Restart().apply(one, duration_s, before)
            until = asyncio.get_running_loop().time() + END_TIMEOUT_S
            while not await one.is_complete():
                if asyncio.get_running_loop().time() > until:
                    raise DatabaseFailed(
                        f"copies were not complete {END_TIMEOUT_S} s after the restart of {one.server.machine.name}",
                        hint="check the servers' logs",
                    )
                await asyncio.sleep(_LOOK_EVERY_S)

    @override
    def happened(self, before: State, after: State) -> bool:
        return self.is_over(before, before) and self.is_over(before, after) and not before.keys() & after.keys()


class ZoneOutage(_OfSeveral):
    """All servers in the zone of its machine are killed at once, and started again later."""

    @override
    def _hit(self, victim: Victim) -> Sequence[Victim]:
        zone = victim.server.machine.zone
        if not victim.cluster.zones:
            raise InputError(
                "the database machines are not in several zones, so that the outage of one would be that of all",
                hint="give `zones` in `database_machine`",
            )
        return [one for one in victim.everyone if one.server.machine.zone == zone]

    @override
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        await asyncio.gather(*(one.act("kill") for one in self._hit(victim)))

    @override
    def happened(self, before: State, after: State) -> bool:
        return _DOWN not in before.values() and set(after.values()) == {_DOWN}
