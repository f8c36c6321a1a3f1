"""Other people's names for what a study names: 'pgbench' is the benchmark tpcb, 'gce' the provider gcp."""

from collections.abc import Collection, Mapping

from nephoscope.study.suggest import nearest, shown

_BENCHMARKS = {
    "pgbench": ("tpcb",),
    "benchbase": ("tpcc",),
    "hammerdb": ("tpcc",),
    "gotpc": ("tpcc",),
    "sysbench": ("oltp-read-write", "sysbench-fileio"),
    "oltp": ("oltp-read-write", "oltp-insert"),
    "redisbenchmark": ("kv",),
    "valkeybenchmark": ("kv",),
    "memtier": ("kv",),
    "iperf": ("throughput",),
    "iperf2": ("throughput",),
    "iperf3": ("throughput",),
    "netperf": ("throughput", "request-response"),
    "sockperf": ("request-response",),
    "latency": ("ping", "request-response"),
    "openssl": ("openssl-speed",),
    "disk": ("fio",),
}
_PROVIDERS = {
    "gce": ("gcp",),
    "google": ("gcp",),
    "googlecloud": ("gcp",),
    "amazon": ("aws",),
    "ec2": ("aws",),
    "microsoft": ("azure",),
    "localhost": ("local",),
    "hosts": ("ssh",),
}
_SYSTEMS = {
    "postgresql": ("postgres",),
    "pg": ("postgres",),
    "redis": ("valkey",),
    "cockroach": ("cockroachdb",),
    "crdb": ("cockroachdb",),
}
_BY_KEY: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "uses": _BENCHMARKS,
    "provider": _PROVIDERS,
    "system": _SYSTEMS,
}


def meant_by(key: str, word: str, allowed: Collection[str]) -> str:
    """'did you mean "tpcb"?'; empty if nothing comes close.

    Args:
        key: of the study, such as 'uses'.
        word: what it says.
        allowed: what it may say.
    """
    plain = _plain(word)
    spelt = [one for one in allowed if _plain(one) == plain]
    known = [one for one in _BY_KEY.get(key, {}).get(plain, ()) if one in allowed]
    near = nearest(word.lower(), allowed) if len(allowed) > 2 else None  # of two, both are listed
    found = spelt or known or ([near] if near else [])
    return f"did you mean {' or '.join(map(shown, found))}?" if found else ""


def _plain(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())
