"""Outputs of tools with a given set of latencies, in seconds, as each tool prints them."""

import json

OPERATION = "new_order"


def cockroach(*, p50: float, p95: float, p99: float, maximum: float, mean: float) -> str:
    """The final tables of `cockroach workload`; times with one decimal of a millisecond."""
    times = " ".join(f"{1000 * value:.1f}" for value in (mean, p50, p95, p99, maximum))
    head = "_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__"
    return f"{head}total\n  600.0s 0 540 0.9 {times} {OPERATION}\n\n{head}result\n  600.0s 0 540 0.9 {times}\n"


def go_tpc(*, p50: float, p95: float, p99: float, maximum: float, mean: float) -> str:
    """The summary of `go-tpc tpcc run`."""
    named = {"Avg": mean, "50th": p50, "95th": p95, "99th": p99, "Max": maximum}
    times = ", ".join(f"{name}(ms): {1000 * value:.1f}" for name, value in named.items())
    return f"[Summary] NEW_ORDER - Takes(s): 600.0, Count: 540, TPM: 54.0, Sum(ms): 540.0, {times}\ntpmC: 54.0\n"


def ycsb(*, p50: float, p95: float, p99: float, maximum: float, mean: float) -> str:
    """What a YCSB client prints of one operation."""
    named = {"Average": mean, "Max": maximum, "50thPercentile": p50, "95thPercentile": p95, "99thPercentile": p99}
    of = OPERATION.upper().replace("_", "-")
    rows = "".join(f"[{of}], {name}Latency(us), {1e6 * value:.1f}\n" for name, value in named.items())
    return f"[OVERALL], Throughput(ops/sec), 100.0\n[{of}], Return=OK, 540\n{rows}"


def fio(*, p50: float, p95: float, p99: float, maximum: float, mean: float) -> str:
    """The JSON of one job that reads."""
    percentiles = {"50.000000": p50, "95.000000": p95, "99.000000": p99}
    latency = {
        "min": 1000,
        "max": round(1e9 * maximum),
        "mean": 1e9 * mean,
        "N": 1000,
        "percentile": {name: round(1e9 * value) for name, value in percentiles.items()},
    }
    read = {"io_bytes": 4096000, "bw_bytes": 4096000, "bw": 4000, "iops": 1000, "runtime": 1000, "total_ios": 1000}
    job = {"jobname": "read", "read": {**read, "lat_ns": latency}}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=1)


def netperf(*, p50: float, p95: float, p99: float, maximum: float, mean: float) -> str:
    """Its keywords, `-k`; it has no 95th percentile."""
    del p95
    named = {"MEAN_LATENCY": mean, "MAX_LATENCY": maximum, "P50_LATENCY": p50, "P99_LATENCY": p99}
    rows = "".join(f"{name}={1e6 * value:.2f}\n" for name, value in named.items())
    return f"THROUGHPUT=100.00\nTHROUGHPUT_UNITS=Trans/s\nELAPSED_TIME=10.00\n{rows}"


def sysbench(*, p50: float, p95: float, p99: float, maximum: float, mean: float) -> str:
    """Its OLTP test, which prints one percentile and the longest latency as it was."""
    del p50, p99
    return f"""sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Number of threads: 8

SQL statistics:
    queries performed:
        read:                            140000
        write:                           40000
        other:                           20000
        total:                           200000
    transactions:                        10000  (1000.00 per sec.)
    queries:                             200000 (20000.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0000s
    total number of events:              10000

Latency (ms):
         min:                                    0.01
         avg:                            {1000 * mean:8.2f}
         max:                            {1000 * max(maximum, mean):8.2f}
         95th percentile:                {1000 * p95:8.2f}
         sum:                               79900.00

Threads fairness:
    events (avg/stddev):           1250.0000/10.00
    execution time (avg/stddev):   9.9875/0.00
"""


def sockperf(*, full: bool) -> str:
    """A ping-pong test with a round trip of 40 µs, told whole (`--full-rtt`) or as half of it."""
    times = 1 if full else 0.5
    percentiles = "".join(
        f"sockperf: ---> percentile {percent:.3f} = {value * times:8.3f}\n" for percent, value in ((99, 60), (50, 38))
    )
    name, said = ("rtt", "Round trip") if full else ("latency", "Latency")
    return f"""sockperf: == version #3.8-0.git31ee322aa82a ==
sockperf: [Valid Duration] RunTime=1.000 sec; SentMessages=1000; ReceivedMessages=1000
sockperf: ====> avg-{name}={40 * times:.3f} (std-dev={8 * times:.3f})
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: {said} is {40 * times:.3f} usec
sockperf: Total 1000 observations; each percentile contains 10.00 observations
sockperf: ---> <MAX> observation = {80 * times:8.3f}
{percentiles}sockperf: ---> <MIN> observation = {30 * times:8.3f}
"""
