"""The parameters that all network benchmarks share."""

from pydantic import Field

from nephoscope.benchmarks.network.ends import Between
from nephoscope.benchmarks.presets import EditionParameters

FIRST_PORT = 20_100


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
