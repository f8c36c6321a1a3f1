"""Network benchmarks as published methods ran them, and the parameters that all of them share.

Numbers and flags come from the public repositories and reports named in `source`; none of their code is used.
"""

from pydantic import Field

from nephoscope.benchmarks.network.ends import Between
from nephoscope.benchmarks.presets import Defect, EditionParameters, Preset, presets

FIRST_PORT = 20_100
_BELIEF = Defect(
    "it repeats up to ten times until its interval is narrow enough, but keeps the last figure in any case"
)
_NO_IPERF3 = Defect(
    "it measured with netperf, which is not free to install everywhere; iperf3 (a process for each stream, figures of "
    "the receiver) is an equivalent and not the edition's tool",
    {"tool": "netperf"},
)
_NO_SOCKPERF = Defect(
    "it measured with netperf and messages of one byte; sockperf (ping-pong over TCP, 14 bytes, its minimum) is an "
    "equivalent and not the edition's tool",
    {"tool": "netperf", "message_bytes": 1},
)


class NetworkParameters(EditionParameters):
    """Parameters of every network benchmark."""

    between: Between = Field(
        default="auto",
        description="which machines: database machines, or load machine and first database machine; auto: the former "
        "where there are several and the load machine is in the same region",
    )


class TcpParameters(NetworkParameters):
    """Further parameters of every TCP benchmark."""

    port: int = Field(default=FIRST_PORT, ge=1024, le=60_000, description="the first one used at the server")
    tcp_rmem: str | None = Field(
        default=None,
        pattern=r"^\d+ \d+ \d+$",
        description="net.ipv4.tcp_rmem of both ends during the measurement; default: unchanged",
    )
    tcp_wmem: str | None = Field(default=None, pattern=r"^\d+ \d+ \d+$", description="the same, for sending")
    congestion_control: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9_]{1,15}$",
        description="congestion control of both ends, such as 'cubic' or 'bbr'; default: unchanged",
    )

    @property
    def settings(self) -> dict[str, str | None]:
        """Name below net.ipv4 -> value."""
        return {
            "tcp_rmem": self.tcp_rmem,
            "tcp_wmem": self.tcp_wmem,
            "tcp_congestion_control": self.congestion_control,
        }


PING = presets(
    Preset(
        edition="cr2018",
        source="Cloud Report 2018: ping at its default rate of one per second; average and maximum, unknown duration",
        parameters={"interval_s": 1.0, "duration_s": 60},
    ),
    Preset(
        edition="cr2020",
        source="cloud-report of 2019-12: `ping -i 0.2` for 60 s",
        parameters={"interval_s": 0.2, "duration_s": 60},
    ),
)

THROUGHPUT = presets(
    Preset(
        edition="cr2018",
        source="Cloud Report 2018: iperf with blocks of 128 KiB, one client, 60 s in seconds, figures of the client, "
        "four times",
        parameters={"tool": "iperf", "clients": 1, "block_size_kib": 128, "duration_s": 60},
        defects=(Defect("the client counts what it handed to its kernel, not what arrived", {"figures": "client"}),),
    ),
    Preset(
        edition="cr2020",
        source="cloud-report since 2019-12-11: `iperf --client=S --len=128k --interval=1 --time=60` on three machines "
        "at once, figures of the server",
        parameters={"tool": "iperf", "clients": 3, "block_size_kib": 128, "duration_s": 60, "figures": "server"},
        defects=(
            Defect(
                "it adds the means of three streams that do not start and end together: the sum can be more than "
                "the network carries",
                {"overlap": False},
            ),
            Defect("before that day it used one client, and the client's figures"),
        ),
    ),
    Preset(
        edition="cr2021",
        source="cloud-report v2021.1.0: `netperf -l 60 -I 99,5 -t OMNI`, one stream between two machines",
        parameters={"tool": "iperf3", "clients": 1, "duration_s": 60},
        defects=(_NO_IPERF3, _BELIEF),
    ),
)

REQUEST_RESPONSE = presets(
    *(
        Preset(
            edition=edition,
            source=f"{origin}: `netperf -l 60 -I 99,5 -t TCP_RR`, one byte there and one back",
            parameters={"tool": "sockperf", "duration_s": 60},
            defects=(_NO_SOCKPERF, _BELIEF),
        )
        for edition, origin in (("cr2021", "cloud-report v2021.1.0"), ("cr2022", "cloud-report HEAD"))
    )
)

MULTI_STREAM = presets(
    Preset(
        edition="cr2022",
        source="cloud-report HEAD, netperf's runemomniaggdemo.sh: 1, 3, 5 ... streams up to 3 for each vCPU, 180 s of "
        "settling and 180 s of measuring a level, 720 s of the level that was chosen",
        parameters={
            "tcp_rmem": "4096 131072 32000000",
            "tcp_wmem": "4096 16384 32000000",
            "tool": "iperf3",
            "settle_s": 180,
            "window_s": 180,
            "final_s": 720,
            "start_gap_s": 1.0,
        },
        defects=(
            _NO_IPERF3,
            Defect(
                "the search stops at a spread of 0.35 Gbit/s: always met on slow links, hardly on links of 100 Gbit/s",
                {"plateau_gbit_per_s": 0.35, "plateau_share": None, "at_the_most": "first of the last"},
            ),
            Defect(
                "what the report calls the median of three runs is the second of them",
                {"around_s": 120},
            ),
            Defect("it added streams to the running ones; here each level starts all of its streams"),
        ),
    )
)
