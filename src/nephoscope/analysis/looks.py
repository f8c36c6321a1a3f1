"""Looks: after a block, which questions of a study are closed, and what the next block has to measure. Pure."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np

from nephoscope.analysis.boards import Board, boards_of, priced_boards
from nephoscope.analysis.cells import Metrics
from nephoscope.analysis.costs import costs_of, day_of
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.units import counted_cells
from nephoscope.model.looks import RULE, Look, QuestionAtLook
from nephoscope.model.rows import TrialRow
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.sequential import FIRST_LOOK, Stage, levels, look_at_contrast, look_for_best, references
from nephoscope.study.contrasts import Question, contrasts_of, scopes_of
from nephoscope.study.model import Configuration, Study

VIEWS = frozenset({"plain", "per dollar"})
"""Leaderboards whose questions keep a configuration measured; a ranking per CPU is only another view of the plain."""


def looks_after(inputs: StudyInputs, block: int, earlier: Sequence[Look]) -> list[Look]:
    """The looks that are due after a block and were not taken yet, in order.

    Equal trials and equal earlier looks give equal looks, whoever takes them.

    Args:
        inputs: the study with its stored trials; those of later blocks are ignored.
        block: the last block whose trials have all ended.
        earlier: looks that were taken, in order. What they excluded or closed stays so.
    """
    looks = list(earlier)
    done = looks[-1].block if looks else FIRST_LOOK - 1
    for at in range(done + 1, block + 1):
        if looks and not looks[-1].measured:
            break
        seen = [row for row in inputs.trials if row.block <= at and row.counts]
        looks.append(_look(inputs, seen, at, looks))
    return looks[len(earlier) :]


def not_repeatable(inputs: StudyInputs) -> list[int]:
    """Blocks of stored looks that stored trials do not give again, as a trial that they used was replaced since."""
    made = replayed(inputs, inputs.looks)
    return [old.block for old, new in zip(inputs.looks, made, strict=True) if old.findings != new.findings]


def replayed(inputs: StudyInputs, looks: Sequence[Look]) -> list[Look]:
    """Stored looks made again, each from the trials that it names and from the looks made again before it.

    A trial whose numbers are no longer used, as it was repeated since, is missing; the digest of the look differs then.
    A look of an earlier rule stands as it was stored.
    """
    made: list[Look] = []
    for look in looks:
        if look.rule != RULE:
            made.append(look)
            continue
        named = set(look.trials)
        seen = [row for row in inputs.trials if row.counts and _used(row) in named]
        made.append(_look(inputs, seen, look.block, made, last=look.last))
    return made


def _used(row: TrialRow) -> str:
    return f"{row.trial}/{row.attempt}"


def _look(
    inputs: StudyInputs, seen: Sequence[TrialRow], block: int, earlier: Sequence[Look], last: int | None = None
) -> Look:
    last = max((row.block for row in inputs.trials), default=block) if last is None else last
    level, last_level = levels([(look.block, look.level) for look in earlier], block, last, ALPHA)
    margin = inputs.study.equivalence_margin_percent / 100
    stage = Stage(block=block, last=last, level=level, last_level=last_level, margin=margin)
    before = {row.key: row for row in earlier[-1].questions} if earlier else {}
    values = inputs_at(inputs, seen)
    boards = _boards(values)
    answered = (_answered(asked, before.get(asked.row.key), stage) for asked in _questions(values, boards))
    questions = sorted((before | {row.key: row for row in answered}).values(), key=lambda row: row.key)
    measured = _needed(questions, _planned(inputs), _silent(values, boards)) if block < last else {}
    for row in inputs.trials:  # a question of the other benchmark is answered by this one's trials
        if any(row.configuration in measured.get(other, ()) for other in row.also):
            measured.setdefault(row.benchmark, set()).add(row.configuration)
    return Look(
        rule=RULE,
        block=block,
        last=last,
        level=level,
        last_level=last_level,
        questions=questions,
        measured={name: sorted(found) for name, found in sorted(measured.items())},
        planned=_configurations((row.benchmark, row) for row in inputs.trials),
        trials=sorted(_used(row) for row in seen),
        inputs_digest=_digest(values),
    )


def _needed(
    questions: Sequence[QuestionAtLook], planned: Mapping[str, Sequence[str]], silent: Mapping[str, set[str]]
) -> dict[str, set[str]]:
    """Benchmark -> what its open questions need: who may be the best and references for the spread, or both sides."""
    needed = defaultdict(set, silent)
    for row in questions:
        if row.state == "open":
            there = planned[row.benchmark]
            needed[row.benchmark].update(row.configurations)
            if row.kind == "best":
                needed[row.benchmark].update(there[place] for place in references(len(there)))
    return needed


def inputs_at(inputs: StudyInputs, seen: Collection[TrialRow]) -> StudyInputs:
    """The study with the numbers of these trials alone. Trials without numbers stay: they say what is measured."""
    used = {row.trial for row in seen}
    trials = [row if row.trial in used or not row.counts else _unseen(row) for row in inputs.trials]
    return replace(inputs, trials=trials, measurements=[row for row in inputs.measurements if row.trial in used])


def _unseen(row: TrialRow) -> TrialRow:
    return row.model_copy(update={"state": "planned", "verdict": None})


def _digest(values: StudyInputs) -> str:
    found = hashlib.sha256()
    rows = sorted((row.trial, row.metric, row.value) for row in values.measurements if row.at_s is None)
    for trial, metric, value in rows:
        found.update(f"{trial} {metric} {value!r}\n".encode())
    return found.hexdigest()


@dataclass(frozen=True)
class _Asked:
    """A question with the values that may answer it."""

    row: QuestionAtLook
    """As it is before any look."""
    board: Board
    pairs: tuple[tuple[str, str], ...] = ()


def _configurations(rows: Iterable[tuple[str, TrialRow]]) -> dict[str, list[str]]:
    """Benchmark -> configurations of its trials, both sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for benchmark, row in rows:
        found[benchmark].add(row.configuration)
    return {name: sorted(found[name]) for name in sorted(found)}


def _planned(values: StudyInputs) -> dict[str, list[str]]:
    """Benchmark -> configurations with trials of it, also where these ran as another one's."""
    return _configurations((benchmark, row) for row in values.trials for benchmark in row.benchmarks)


def _silent(values: StudyInputs, boards: Sequence[Board]) -> dict[str, set[str]]:
    """Benchmarks with a headline metric and not one value of it: nothing can be said yet, so all are measured."""
    heard = {board.benchmark for board in boards}
    asked = {row.benchmark for row in values.benchmarks if any(metric.headline for metric in row.metrics)}
    return {name: set(names) for name, names in _planned(values).items() if name in asked - heard}


def _questions(values: StudyInputs, boards: Sequence[Board]) -> Iterator[_Asked]:
    """Every question that keeps configurations measured, of each leaderboard with a value."""
    asked = {one.name: one for one in values.study.configurations}
    planned = _planned(values)
    for board in boards:
        there = {name: asked[name] for name in planned[board.benchmark] if name in asked}
        yield from chain(_best(board, there), _contrasts(board, there, values.study))


def _boards(values: StudyInputs) -> list[Board]:
    metrics: Metrics = {row.benchmark: row.metrics for row in values.benchmarks}
    boards = boards_of(counted_cells(values.trials, values.measurements, metrics), blocked=True)
    started = [row.started_unix_ms for row in values.trials if row.started_unix_ms is not None]
    names = {row.configuration: row.configuration for row in values.trials}
    costs = costs_of(values.study, names, values.book, day_of(values.study, min(started, default=None)))
    extents = {row.benchmark: row.extent for row in values.benchmarks}
    every = [*boards, *priced_boards(boards, costs.rows, extents)]
    return [board for board in every if board.headline and board.view in VIEWS]


def _best(board: Board, there: Mapping[str, Configuration]) -> Iterator[_Asked]:
    """Configurations without a value yet compete; those that never can (no price, no logarithm) do not."""
    never = {one.configuration for one in board.left_out}
    competing = {name: one for name, one in there.items() if name not in never}
    for scope, members in scopes_of(competing).items() if len(competing) > 1 else ():
        yield _Asked(_unanswered(board, "best", str(scope), members), board)


def _contrasts(board: Board, there: Mapping[str, Configuration], study: Study) -> Iterator[_Asked]:
    if board.view != "plain":
        return
    for question in contrasts_of(there, study.contrasts):
        sides = {name for pair in question.pairs for name in pair}
        yield _Asked(_unanswered(board, "contrast", _about(question), sides), board, question.pairs)


def _about(question: Question) -> str:
    return f"{question.name}: {question.left} / {question.right}"


def _unanswered(board: Board, kind: Literal["best", "contrast"], about: str, names: Collection[str]) -> QuestionAtLook:
    return QuestionAtLook(
        kind=kind,
        benchmark=board.benchmark,
        metric=board.metric,
        view=board.view,
        basis=board.basis,
        about=about,
        state="open",
        closed_after=None,
        configurations=sorted(names),
        chance=1.0,
    )


def _answered(asked: _Asked, before: QuestionAtLook | None, stage: Stage) -> QuestionAtLook:
    """The question after this look. One that was closed stays as it was, and so does what was excluded."""
    row = before or asked.row
    if row.state != "open":
        return row
    names = set(row.configurations)
    if row.kind == "best":
        unknown = names - set(asked.board.names)
        found = look_for_best(asked.board.fit, asked.board.rows_of(sorted(names)), stage)
        kept = {asked.board.names[place] for place in found.kept} | unknown
        open_still = len(kept) > 1 and unknown and stage.block < stage.last
        state, chance = ("open", 1.0) if open_still else (found.state, found.chance)
        if state == "decided" and len(kept) > 1:
            state = "undecided"
    else:
        kept = names
        answer = look_at_contrast(asked.board.fit, _rows(asked), stage)
        state, chance = answer.state, answer.chance
    return row.model_copy(
        update={
            "state": state,
            "closed_after": None if state == "open" else stage.block,
            "configurations": sorted(kept),
            "chance": float(np.round(chance, 4)),
        }
    )


def _rows(asked: _Asked) -> list[tuple[int, int]]:
    places, members = asked.board.places, {*asked.board.members}
    return [(places[left], places[right]) for left, right in asked.pairs if left in members and right in members]
