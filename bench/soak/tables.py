"""The stored counts as tables of docs/concepts/proofs.md."""

from bench.soak import inputs, kills
from bench.soak.stored import Cell, Stored

KILLS_AIM = 1_000
INPUTS_AIM = 2_000_000
_KILLS, _DAMAGED = "kills on ", "damaged "
_PLACES = {
    "local": "this machine",
    "emulated": "emulated hosts, over SSH",
    "aws": "AWS, played by moto",
    "gcp": "Google Cloud, played by gcplocal",
    "azure": "Azure, played by a small fake",
}


def kills_reached(stored: Stored) -> str:
    """'412 kills: 0 trials lost, ...'."""
    parts = {"lost": "trials lost", "twice": "measured twice", "left": "things left", "altered": "files altered"}
    said = ", ".join(f"{stored.total(_KILLS, what):,} {words}" for what, words in parts.items())
    return f"{stored.total(_KILLS, 'kills'):,}: {said}{_seeds(stored, _KILLS)}"


def inputs_reached(stored: Stored) -> str:
    """'310,000: 0 uncaught, ...'."""
    uncaught = stored.total(_DAMAGED, "uncaught") + stored.total(_DAMAGED, "crashed")
    return (
        f"{stored.total(_DAMAGED, 'inputs'):,}: {uncaught:,} uncaught, {stored.total(_DAMAGED, 'slow'):,} over "
        f"{inputs.LONGEST_S} s, {stored.total(_DAMAGED, 'large'):,} over 1 GiB{_seeds(stored, _DAMAGED)}"
    )


def tables(stored: Stored) -> str:
    """Kills by place and inputs by kind."""
    lines = [f"{stored.seconds / 3600:.1f} hours in all.", ""]
    lines += ["| where the controller was killed | studies | kills | " + " | ".join(kills.BAD) + " |"]
    lines.append("|---|--:|--:|" + "--:|" * len(kills.BAD))
    for name, words in _PLACES.items():
        cell = stored.cells.get(f"{_KILLS}{name}", Cell())
        bad = " | ".join(f"{cell.counts[what]:,}" for what in kills.BAD)
        lines.append(f"| {words} | {cell.rounds:,} | {cell.counts['kills']:,} | {bad} |")
    lines += ["", "| what was damaged | inputs | rejected with a reason | " + " | ".join(inputs.BAD) + " |"]
    lines.append("|---|--:|--:|" + "--:|" * len(inputs.BAD))
    for kind in inputs.SIZES:
        cell = stored.cells.get(f"{_DAMAGED}{kind}", Cell())
        bad = " | ".join(f"{cell.counts[what]:,}" for what in inputs.BAD)
        lines.append(f"| {kind} | {cell.counts['inputs']:,} | {cell.counts['refused']:,} | {bad} |")
    return "\n".join(lines) + "\n"


def _seeds(stored: Stored, kind: str) -> str:
    """Seeds of the rounds in which something happened that must not, so that they can be repeated."""
    bad = {name: cell.bad_seeds for name, cell in stored.cells.items() if name.startswith(kind) and cell.bad_seeds}
    return "".join(f"; {name}: seeds {', '.join(map(str, seeds))}" for name, seeds in bad.items())
