"""Which package contains which tool: for hints, for `doctor`, for the set-up."""

DEBIAN_PACKAGES = {
    "fio": "fio",
    "stress-ng": "stress-ng",
    "sysbench": "sysbench",
    "iperf": "iperf",
    "iperf3": "iperf3",
    "sockperf": "sockperf",
    "ping": "iputils-ping",
    "numactl": "numactl",
    "taskset": "util-linux",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "lscpu": "util-linux",
    "findmnt": "util-linux",
    "setsid": "util-linux",
    "flock": "util-linux",
    "pkill": "procps",
    "sshd": "openssh-server",
}

VERSION_OPTIONS = {"ping": "-V", "netperf": "-V"}
"""Of tools that do not know `--version`."""


def install_hint(tool: str) -> str:
    """What to try if `tool` is not installed."""
    if tool == "nephoscope-load":
        return "it is part of nephoscope's wheel: reinstall nephoscope, or put nephoscope-load on your PATH"
    if tool in {"netperf", "netserver"}:
        return (
            "netperf is not free software everywhere: install it yourself (Debian: non-free), or choose another `tool`"
        )
    package = DEBIAN_PACKAGES.get(tool)
    return f"apt-get install {package}" if package else f"install {tool} or put it on your PATH"
