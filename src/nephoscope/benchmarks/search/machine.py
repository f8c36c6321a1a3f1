"""The search as a pure state machine: points in, next level or outcome out. No clock, randomness, input or output.

1. *Ramp*: from the first level in growing steps until one fails; down when the first one fails.
2. *Bisect*, by factors, between the highest level that held and the lowest that failed, until they are close.
3. *Confirm* the one that held with longer points. One failure refutes it for good: the answer is then a lower level,
   which needs two more confirmations.
4. *Below*: longer points well under that level must hold as well; else the one that fails is the refuted level.
5. *Above*: a level that failed by a short point alone is measured once more. If it holds as often as a confirmation
   needs, it had failed by chance or the server became faster: the search continues from there and confirms again.
6. *Top*: where every level that failed held at another time, a higher one is measured, until one fails.
7. The last confirmation comes at the end: what is found holds when the search ends.
8. *Larger client*: where the load generator showed a sign of having been the limit at the level that failed, that level
   is measured with twice the client; where less was achieved than offered (a plateau), one above it is. If it then
   holds, or more is achieved than ever before, and that again after the usual client was tried once more, the limit
   was the client's. Where the larger client shows that sign itself and does no better, nobody can say whose it was.

A point that failed while the hypervisor gave the load generator's CPUs to others says nothing: it is measured again.

What is found is sustained up to the level, as far as lower levels were measured: of several ranges that hold, the
lowest counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nephoscope.benchmarks.search.levels import Ask, Ended, Outcome, Point, Purpose, Settings

LARGER_CLIENT_RISE = 0.03
"""If twice the client achieves more than this share on top, the client was the limit."""
LOOKS_UP = 4
"""Levels above the first one that are tried when it and all lower ones failed."""
_PLATEAU = 0.99
"""Less achieved than this share of what was offered: a plateau."""
_ABOVE_PLATEAU = 1.25
"""What is offered to the larger client, of the lowest level that failed: it must be able to achieve more."""
_DROP_GROWTH = 5.0
"""After a refuted level the next is lower by half a resolution, then by 5 times as much, and so on."""


@dataclass(frozen=True)
class State:
    """The state of a search."""

    settings: Settings
    next: Ask | Ended
    points: tuple[Point, ...] = ()
    low: float | None = None
    """Highest level that passed and has not been refuted since."""
    high: float | None = None
    """Lowest level that failed, above `low`."""
    lid: float | None = None
    """Lowest level that was refuted: neither it nor any higher one is measured again."""
    stride: float = 0.0
    """Share by which the ramp goes up next."""
    held: int = 0
    """Confirmations of the level that is being confirmed."""
    confirmed: float | None = None
    refuted: int = 0
    drops: int = 0
    """Refutations since the last confirmed level."""
    reopened: int = 0
    looked: int = 0
    """Levels tried above the first one, or below the one that is being confirmed."""

    @property
    def judged(self) -> tuple[Point, ...]:
        """The points that say something."""
        return tuple(point for point in self.points if not point.void)

    @property
    def needed(self) -> int:
        """Confirmations a level needs: two more for each one that was refuted."""
        return self.settings.confirmations + 2 * self.refuted


def begin(settings: Settings) -> State:
    """A search that has measured nothing."""
    first = Ask(settings.rounded(settings.first), Purpose.RAMP)
    return State(settings, first, stride=settings.growth - 1)


def advance(state: State, point: Point) -> State:
    """The search after one more point.

    Raises:
        ValueError: the search has ended, or asked for another level or purpose.
    """
    if isinstance(state.next, Ended):
        raise ValueError(f"the search has ended ({state.next.outcome}) before the point at {point.level:g}")  # noqa: TRY004
    if (point.level, point.purpose) != (state.next.level, state.next.purpose):
        raise ValueError(
            f"the search asked for {state.next.level:g} ({state.next.purpose}), "
            f"but {point.level:g} ({point.purpose}) was measured"
        )
    state = replace(state, points=(*state.points, point))
    after = _again(state) if point.void else _AFTER[point.purpose](state, point)
    if isinstance(after.next, Ask) and len(after.points) >= state.settings.most_points:
        return _ended(after, Outcome.UNSTABLE, f"no level was settled within {state.settings.most_points} points")
    return after


def _again(state: State) -> State:
    """The same level once more, unless that was so too often."""
    void = len(state.points) - len(state.judged)
    if void <= state.settings.most_void:
        return state
    reason = f"{void} points failed while the load generator lost CPU time to the hypervisor"
    return _ended(state, Outcome.DISTURBED, reason)


def _after_ramp(state: State, point: Point) -> State:
    settings = state.settings
    if point.passed:
        state = replace(state, low=point.level)
        if state.high is not None:
            return _narrow(state)
        if point.level >= settings.rounded(settings.ceiling):
            return _confirm(state)
        return _ramp_up(state)
    state = replace(state, high=point.level)
    if state.low is not None:
        return _narrow(state)
    if point.level <= settings.rounded(settings.floor):
        return _look_up(state)
    return _ask(state, point.level / settings.growth, Purpose.RAMP)


def _ramp_up(state: State) -> State:
    """One step up; steps grow to the ramp's own again after the search was reopened by a small one."""
    level = (state.low or state.settings.floor) * (1 + state.stride)
    up = max(state.settings.rounded(level), _next_above(state))
    if state.lid is not None and up >= state.lid:
        return _narrow(replace(state, high=state.lid))
    stride = min(2 * state.stride, state.settings.growth - 1)
    return _ask(replace(state, stride=stride), up, Purpose.RAMP)


def _next_above(state: State) -> float:
    """The least level above `low` that is another one."""
    step = 1.0 if state.settings.whole else (state.low or 0.0) * state.settings.resolution / 2
    return (state.low or 0.0) + step


def _after_bisect(state: State, point: Point) -> State:
    return _narrow(replace(state, low=point.level) if point.passed else replace(state, high=point.level))


def _narrow(state: State) -> State:
    """Bisects, and confirms once the bracket is narrow."""
    if state.low is None or state.high is None:
        raise ValueError("there is no bracket yet")
    if not state.settings.close(state.low, state.high):
        return _ask(state, state.settings.middle(state.low, state.high), Purpose.BISECT)
    return _look_below(replace(state, looked=0)) if state.confirmed == state.low else _confirm(state)


def _confirm(state: State) -> State:
    return _ask(replace(state, held=0, confirmed=None), state.low or 0.0, Purpose.CONFIRM)


def _after_confirm(state: State, point: Point) -> State:
    if not point.passed:
        return _refute(state, point.level)
    if state.confirmed == point.level:
        return _suspect(state)
    state = replace(state, held=state.held + 1)
    if state.held < state.needed - 1:
        return _ask(state, point.level, Purpose.CONFIRM)
    state = replace(state, confirmed=point.level, drops=0, looked=0)
    return _look_below(state) if state.high is None else _narrow(state)


def _refute(state: State, level: float) -> State:
    """A longer point failed: neither this level nor any above it can be the answer."""
    settings, state = state.settings, replace(state, refuted=state.refuted + 1)
    if state.refuted > settings.most_refuted:
        return _ended(replace(state, low=None), Outcome.UNSTABLE, f"{state.refuted} levels passed and then failed")
    if level <= settings.rounded(settings.floor):
        reason = f"the lowest level, {level:g}, passed and then failed"
        return _ended(replace(state, low=None), Outcome.UNSTABLE, reason)
    lower = settings.rounded(level / (1 + settings.resolution / 2 * _DROP_GROWTH**state.drops))
    if lower >= level:
        lower = max(level - 1, settings.floor)
    return _confirm(replace(state, low=lower, high=level, lid=level, drops=state.drops + 1, confirmed=None))


def _look_below(state: State) -> State:
    low, shares = state.low or 0.0, state.settings.below
    if state.looked < len(shares):
        level = state.settings.rounded(low * shares[state.looked])
        if level < low:
            return _ask(state, level, Purpose.BELOW)
    return _look_above(state)


def _after_below(state: State, point: Point) -> State:
    if not point.passed:
        return _refute(state, point.level)
    return _look_below(replace(state, looked=state.looked + 1))


def _look_above(state: State) -> State:
    if state.high is None or state.high == state.lid:
        return _confirm_last(state)
    return _ask(replace(state, held=0), state.high, Purpose.ABOVE)


def _after_above(state: State, point: Point) -> State:
    if not point.passed:
        return _confirm_last(state)
    state = replace(state, held=state.held + 1)
    if state.held < state.needed:
        return _ask(state, point.level, Purpose.ABOVE)
    return _reopen(state, point.level)


def _confirm_last(state: State) -> State:
    """`confirmed` is the level already: this one ends the search. Before it, the bracket gets an upper end."""
    top = None if state.high is None else _top(state)
    return top or _ask(state, state.low or 0.0, Purpose.CONFIRM)


def _reopen(state: State, level: float) -> State:
    """What had failed was confirmed: upwards from there, in steps that begin small."""
    settings = state.settings
    state = replace(state, low=level, high=None, confirmed=None, held=0, reopened=state.reopened + 1)
    if state.reopened > settings.most_reopened:
        return _ended(state, Outcome.UNSTABLE, f"{state.reopened} levels failed and were then confirmed")
    if level >= settings.rounded(settings.ceiling):
        return _confirm(state)
    return _ramp_up(replace(state, stride=settings.resolution))


def _top(state: State) -> State | None:
    """Asks above every level that held; None where one above them failed, or the ceiling is reached."""
    highest = _highest_passed(state)
    if _failing(state) is not None or highest >= state.settings.rounded(state.settings.ceiling):
        return None
    return _ask(state, highest * state.settings.growth, Purpose.TOP)


def _suspect(state: State) -> State:
    """Ends the search, unless the load generator may have been the limit."""
    if state.high is None:
        reason = f"the highest level allowed, {state.low:g}, was confirmed, and no higher one was tried"
        return _ended(state, Outcome.LOWER_BOUND, reason)
    if any(point.purpose is Purpose.LARGER_CLIENT for point in state.judged):
        return _found(state)
    failed = [point for point in state.judged if not point.passed and point.level >= state.high]
    at_high = [point for point in failed if point.level == state.high]
    plateau = any(point.achieved < _PLATEAU * point.level for point in failed)
    if plateau and not any(point.held for point in at_high):
        return _ask(state, state.high * _ABOVE_PLATEAU, Purpose.LARGER_CLIENT)
    if any(point.saturated for point in at_high):
        return _ask(state, state.high, Purpose.LARGER_CLIENT)
    return _found(state)


def _after_larger_client(state: State, point: Point) -> State:
    """Twice the client that did better must do so twice, with the usual one between: machines have faster minutes."""
    usual = [one for one in state.judged if one.purpose is not Purpose.LARGER_CLIENT]
    rise = point.achieved / max(one.achieved for one in usual) - 1
    if not point.held and rise <= LARGER_CLIENT_RISE:
        if not point.saturated:
            return _found(state)
        reason = f"twice the client was also at its own limit at {point.level:g}, so the server's limit is unknown"
        return _ended(state, Outcome.GENERATOR_BOUND, reason)
    if usual[-1].purpose is not Purpose.USUAL_CLIENT:
        return _ask(state, point.level, Purpose.USUAL_CLIENT)
    how = "held" if point.held else f"{rise:.1%} more was achieved than ever before"
    return _ended(state, Outcome.GENERATOR_BOUND, f"with twice the client, {point.level:g} {how}, twice")


def _after_usual_client(state: State, point: Point) -> State:
    larger = next(one for one in reversed(state.judged) if one.purpose is Purpose.LARGER_CLIENT)
    if point.passed or (not larger.held and larger.achieved <= point.achieved * (1 + LARGER_CLIENT_RISE)):
        return _found(state)
    return _ask(state, point.level, Purpose.LARGER_CLIENT)


def _found(state: State) -> State:
    times = sum(point.purpose is Purpose.CONFIRM for point in state.judged if point.level == state.low)
    reason = f"{state.low:g} was confirmed {times} times, {state.high:g} failed"
    return _top(state) or _ended(state, Outcome.FOUND, reason)


def _look_up(state: State) -> State:
    """Every level down to the floor failed; a server that fails only at low load is not below its minimum."""
    settings = state.settings
    level = settings.rounded(settings.first * settings.growth ** (2 * (state.looked + 1)))
    tried = max(point.level for point in state.judged)
    if state.looked >= LOOKS_UP or level <= tried:
        if any(point.held for point in state.judged):
            return _ended(state, Outcome.GENERATOR_BOUND, "the client was the limit at every level that passed")
        return _ended(state, Outcome.BELOW_MIN, f"the lowest level, {settings.rounded(settings.floor):g}, failed")
    return _ask(replace(state, looked=state.looked + 1), level, Purpose.LOOK_UP)


def _after_look_up(state: State, point: Point) -> State:
    if not point.passed:
        return _look_up(state)
    return _ended(state, Outcome.UNSTABLE, f"{point.level:g} passed, but every level tried below it failed")


def _ask(state: State, level: float, purpose: Purpose) -> State:
    return replace(state, next=Ask(state.settings.rounded(level), purpose))


def _ended(state: State, outcome: Outcome, reason: str) -> State:
    confirmed = outcome in (Outcome.FOUND, Outcome.LOWER_BOUND, Outcome.GENERATOR_BOUND)
    return replace(state, next=Ended(outcome, state.low if confirmed else None, _failing(state), reason))


def _failing(state: State) -> float | None:
    """The lowest level that failed with none at or above it that held: between, levels held now and then."""
    highest = _highest_passed(state)
    return min((point.level for point in state.judged if not point.passed and point.level > highest), default=None)


def _highest_passed(state: State) -> float:
    return max((point.level for point in state.judged if point.passed), default=0.0)


_AFTER: Mapping[Purpose, Callable[[State, Point], State]] = {
    Purpose.RAMP: _after_ramp,
    Purpose.BISECT: _after_bisect,
    Purpose.CONFIRM: _after_confirm,
    Purpose.BELOW: _after_below,
    Purpose.ABOVE: _after_above,
    Purpose.LOOK_UP: _after_look_up,
    Purpose.TOP: lambda state, _: _confirm_last(state),
    Purpose.LARGER_CLIENT: _after_larger_client,
    Purpose.USUAL_CLIENT: _after_usual_client,
}
