"""The programs that several network benchmarks run, by the name that their `tool` says."""

from collections.abc import Mapping
from types import MappingProxyType

from nephoscope.machines.tools import Tool

IPERF = Tool("iperf", "iperf", version_exit_code=1)
IPERF3 = Tool("iperf3", "iperf3")
NETPERF = Tool(
    "netperf",
    version_argv=("-V",),
    hint="nephoscope does not install netperf: install it (Debian: section non-free), or choose another `tool`",
)
SOCKPERF = Tool("sockperf", "sockperf")

BY_NAME: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in (IPERF, IPERF3, NETPERF, SOCKPERF)})
