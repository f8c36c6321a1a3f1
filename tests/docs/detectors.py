"""What the checks find of stops of known length, and what they take for one: on recorded series, and on made ones."""

import json
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nephoscope.checks.inside import EffectiveCpus, Throttled
from nephoscope.checks.interference import NotStopped
from nephoscope.checks.registry import run_checks
from nephoscope.checks.stalls import Stalls
from nephoscope.model.records import CpuPhase, Evidence, Series, VerdictKind
from tests.docs.pages import ROOT
from tests.support.evidence import evidence, sample

CHECKS = (NotStopped(), EffectiveCpus(), Throttled(), Stalls())
STOPS_S = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 6.0)
TRIALS_S = (3, 10, 60)
MOMENTS = 20
RECORDED = ROOT / "tests" / "data" / "undisturbed.json"
"""What was completed in each 100 ms of trials of a minute in which nobody stopped anything."""
STRESS_NG = "stress-ng"
USUAL_BUSY = 0.85
BUSY_SPREAD = 0.02

Floats = NDArray[np.float64]


def _stopped_s(begins_s: float, length_s: float, steps: int, step_s: float) -> list[float]:
    """Of each step, how much of it the stop took."""
    end_s = begins_s + length_s
    return [max(0.0, min(end_s, (at + 1) * step_s) - max(begins_s, at * step_s)) for at in range(steps)]


def _stopped(benchmark: str, counts: Sequence[float], trial_s: int, begins_s: float, length_s: float) -> Evidence:
    """Of a trial whose server or tool stood still for so long; the sampler looks at the end of each second."""
    noise = np.random.default_rng(int(1000 * begins_s)).normal(1, BUSY_SPREAD, trial_s)
    looks = [
        sample(
            at_s=second + 1,
            at_unix_ms=1000 * (second + 1),
            stopped_processes=int(begins_s <= second + 1 < begins_s + length_s),
            cpus_busy_share=dict.fromkeys(("cpu0", "cpu1"), min(1.0, USUAL_BUSY * noise[second]) * (1 - lost_s)),
        )
        for second, lost_s in enumerate(_stopped_s(begins_s, length_s, trial_s, 1.0))
    ]
    changes = {"telemetry": {"db": looks}, "cpu_phases": [], "series": []}
    if benchmark == STRESS_NG:
        return evidence(
            **changes | {"cpu_phases": [CpuPhase(workers=1, cpu_s=trial_s - 0.02 - length_s, real_s=trial_s)]}
        )
    step_s = trial_s / len(counts)
    lost = _stopped_s(begins_s, length_s, len(counts), step_s)
    rates = [round(count * (1 - one / step_s)) / step_s for count, one in zip(counts, lost, strict=True)]
    return evidence(**changes | {"work": [Series(metric="rate", unit="1/s", step_s=0.1, values=rates, at_unix_ms=0)]})


def _moments(counts: Sequence[float], stop_s: float, trial_s: int) -> Iterator[tuple[Sequence[float], float]]:
    """Parts of a recorded series, and when in each the stop begins: in each twentieth of a second once."""
    length = trial_s * len(counts) // 60
    for moment in range(MOMENTS):
        first = moment * (len(counts) - length) // MOMENTS
        phase = (7 * moment % MOMENTS + 0.5) / MOMENTS
        yield counts[first : first + length], moment * int(trial_s - stop_s) // MOMENTS + phase


def _share(benchmark: str, counts: Sequence[float], stop_s: float, trial_s: int) -> str:
    """Of the trials that are rejected, and of those that are rejected or say so."""
    rejected = found = 0
    for part, begins_s in _moments(counts, stop_s, trial_s):
        verdicts = run_checks(_stopped(benchmark, part, trial_s, begins_s, stop_s), CHECKS)
        is_rejected = any(one.verdict is VerdictKind.INVALID for one in verdicts)
        rejected += is_rejected
        found += is_rejected or any(one.events for one in verdicts)
    return f"{100 * rejected / MOMENTS:.0f} / {100 * found / MOMENTS:.0f} %"


def stops() -> str:
    """How many trials are rejected, and how many tell of it: by length of the stop and of the trial, and benchmark."""
    recorded: dict[str, list[float]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    recorded[STRESS_NG] = [0.0] * 60
    lines = [
        f"| stopped for | of a trial of | {' | '.join(recorded)} | the mean lacks |",
        f"|---|---|{'---|' * len(recorded)}---|",
    ]
    for stop_s in STOPS_S:
        for trial_s in TRIALS_S:
            if stop_s < trial_s:
                shares = " | ".join(_share(name, counts, stop_s, trial_s) for name, counts in recorded.items())
                lacks = f"{100 * stop_s / trial_s:.2g} %"
                lines.append(f"| {f'{stop_s:g} s' if stop_s else 'never'} | {trial_s} s | {shares} | {lacks} |")
    return "\n".join(lines) + "\n"


def _pink(length: int, spread: float, chance: np.random.Generator) -> Floats:
    """1/f noise around 1000."""
    frequencies = np.fft.rfftfreq(length)[1:]
    amplitudes = (chance.normal(size=frequencies.size) + 1j * chance.normal(size=frequencies.size)) / np.sqrt(
        frequencies
    )
    values = np.fft.irfft(np.concatenate([[0], amplitudes]), length)
    return np.asarray(1000 * (1 + spread * values / values.std()))


def _noisy(shape: Floats) -> list[float]:
    return [float(value) for value in shape * (1 + 0.02 * np.random.default_rng(5).normal(size=shape.size))]


def _rejects(values: Sequence[float], step_s: float = 1.0) -> bool:
    verdict = Throttled()(evidence(series=[Series(metric="rate", unit="1/s", step_s=step_s, values=list(values))]))
    return verdict is not None and verdict.verdict is VerdictKind.INVALID


def wandering() -> str:
    """What `throttled` makes of series that only wander, of saw teeth, and of slopes."""
    rows: list[tuple[str, list[list[float]]]] = []
    for length in (120, 240):
        for spread in (0.05, 0.1):
            chances = [np.random.default_rng([one, length, 7]) for one in range(60)]
            made = [[float(value) for value in _pink(length, spread, chance)] for chance in chances]
            rows.append((f"1/f noise with a spread of {spread:.0%}, {length} values".replace("%", " %"), made))
    at = np.arange(240.0)
    teeth = [_noisy(1000 * (1 - 0.3 * (at % period) / period)) for period in (20, 30, 40, 60, 80)]
    rows.append(("saw teeth of 30 %, 3 to 12 in 240 values", teeth))
    rows.append(("a straight decline by 24 % in 120 values", [_noisy(1000 * np.linspace(1, 0.76, 120))]))
    rows.append(("1 % an hour for 24 h, 1440 values", [_noisy(1000 * 0.99 ** (np.arange(1440) / 60))]))
    lines = ["| series | rejected | of |", "|---|---|---|"]
    lines += [f"| {name} | {sum(map(_rejects, made))} | {len(made)} |" for name, made in rows]
    return "\n".join(lines) + "\n"
