"""sockperf 3: ping-pong and under-load (latency: half of a round trip, by its own definition), and throughput."""

import re

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.parsers.text import DECIMAL, INTEGER, build, exactly_one, one_or_none, require_close, whole_lines

_WHAT = "sockperf output"
_US = 1e-6
_OURS = re.compile(r"sockperf: ?(?P<said>.*)")
_VALID = re.compile(
    rf"\[Valid Duration\] RunTime=({DECIMAL}) sec; SentMessages=({INTEGER}); ReceivedMessages=({INTEGER})"
)
_AVERAGE = re.compile(rf"====> avg-(?:latency|lat|rtt)= *({DECIMAL}) \(std-dev=({DECIMAL}).*\)")
_LOST = re.compile(
    rf"# dropped messages = ({INTEGER}); # duplicated messages = ({INTEGER}); # out-of-order messages = ({INTEGER})"
)
_SUMMARY = re.compile(rf"Summary: (Latency|Round trip) is +({DECIMAL}) usec")
_RATE = re.compile(rf"Summary: Message Rate is ({DECIMAL}) \[msg/sec\]")
_BANDWIDTH = re.compile(rf"Summary: Band[Ww]idth is ({DECIMAL}) MBps \(({DECIMAL}) Mbps\)")
_TOTAL = re.compile(rf"Total ({INTEGER}) observations; each percentile contains {DECIMAL} observations")
_PERCENTILE = re.compile(rf"---> (?:percentile +({DECIMAL})|<(MAX|MIN)> observation) += +({DECIMAL})")
_MEBI = 1024.0 * 1024.0
_DIGIT_US = 0.0011


class SockperfLatency(Frozen):
    """One-way latency, as half of the round trip, also where the whole was printed; of `observations` messages."""

    duration_s: float = Field(gt=0)
    sent: int = Field(ge=1)
    received: int = Field(ge=1)
    dropped: int = Field(ge=0)
    duplicated: int = Field(ge=0)
    out_of_order: int = Field(ge=0)
    observations: int = Field(ge=1)
    mean_s: float = Field(gt=0)
    deviation_s: float = Field(ge=0)
    minimum_s: float = Field(gt=0)
    maximum_s: float = Field(gt=0)
    percentiles_s: dict[float, float] = Field(description="percent -> seconds")


class SockperfThroughput(Frozen):
    """What was sent."""

    messages_per_s: float = Field(gt=0)
    bits_per_s: float = Field(gt=0)


def parse_sockperf(text: str) -> SockperfLatency | SockperfThroughput:
    """Reads one test.

    Raises:
        OutputUnreadable: nothing, cut off, no server answered, or numbers that contradict each other.
    """
    lines = whole_lines(text, _WHAT, ends=_ENDS)
    said = [match["said"].strip() for line in lines if (match := _OURS.fullmatch(line))]
    for line in said:
        if line.startswith("ERROR") or "No messages were received" in line:
            raise OutputUnreadable(f"{_WHAT}: it says {line[:80]!r}")
    bandwidth = one_or_none((_BANDWIDTH.fullmatch(line) for line in said), f"{_WHAT} with bandwidth")
    return _throughput(said, bandwidth) if bandwidth else _latency(said)


def _throughput(said: list[str], bandwidth: re.Match[str]) -> SockperfThroughput:
    rate = exactly_one((_RATE.fullmatch(line) for line in said), f"{_WHAT} with a message rate")
    # It calls 2^20 bytes a MB, and eight of them a Mb.
    require_close(float(bandwidth[2]), float(bandwidth[1]) * 8, relative=0.001, absolute=0.01, what=_WHAT)
    return build(
        SockperfThroughput,
        _WHAT,
        messages_per_s=float(rate[1]),
        bits_per_s=float(bandwidth[1]) * _MEBI * 8,
    )


def _latency(said: list[str]) -> SockperfLatency:
    valid = exactly_one((_VALID.fullmatch(line) for line in said), f"{_WHAT} with the valid duration")
    average = exactly_one((_AVERAGE.fullmatch(line) for line in said), f"{_WHAT} with the mean")
    lost = exactly_one((_LOST.fullmatch(line) for line in said), f"{_WHAT} with what was lost")
    summary = exactly_one((_SUMMARY.fullmatch(line) for line in said), f"{_WHAT} with the summary")
    total = exactly_one((_TOTAL.fullmatch(line) for line in said), f"{_WHAT} with the number of observations")
    require_close(float(summary[2]), float(average[1]), relative=0.001, absolute=_DIGIT_US, what=f"{_WHAT}: the mean")
    unit_s = _US / 2 if summary[1] == "Round trip" else _US  # `--full-rtt` prints the whole of what it halves otherwise
    found = [match for line in said if (match := _PERCENTILE.fullmatch(line))]
    ends = {match[2]: float(match[3]) * unit_s for match in found if match[2]}
    percentiles = {float(match[1]): float(match[3]) * unit_s for match in found if match[1]}
    if set(ends) != {"MIN", "MAX"} or len(found) != len(percentiles) + 2:
        raise OutputUnreadable(f"{_WHAT}: minimum, maximum and each percentile must appear once")
    mean_s = float(average[1]) * unit_s
    values = [ends["MIN"], *(percentiles[percent] for percent in sorted(percentiles)), ends["MAX"]]
    if values != sorted(values) or not ends["MIN"] <= mean_s + _DIGIT_US * _US <= ends["MAX"] + _US:
        raise OutputUnreadable(f"{_WHAT}: percentiles that do not rise, or a mean outside their range")
    return build(
        SockperfLatency,
        _WHAT,
        duration_s=float(valid[1]),
        sent=int(valid[2]),
        received=int(valid[3]),
        dropped=int(lost[1]),
        duplicated=int(lost[2]),
        out_of_order=int(lost[3]),
        observations=int(total[1]),
        mean_s=mean_s,
        deviation_s=float(average[2]) * unit_s,
        minimum_s=ends["MIN"],
        maximum_s=ends["MAX"],
        percentiles_s=percentiles,
    )


_ENDS = re.compile(rf"sockperf: (?:---> <MIN> observation = +[0-9]{{1,12}}\.[0-9]{{3}}|{_BANDWIDTH.pattern})")
