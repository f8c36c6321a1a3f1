"""What ~/.ssh/config decides here. Importing this module imports asyncssh.

The user's configuration says how a host is reached. It does not say what a benchmark does there: a secret of the
controller's environment, a forwarded agent or a terminal would change what is run, and give a host what it has no use
for. asyncssh would honour each option that it knows; a test compares its list with this one.
"""

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from asyncssh.config import ConfigParseError, SSHClientConfig, SSHConfig

from nephoscope.machines.ssh.address import SshAddress, split_destination

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_INTERVAL_S = 4.0
KEEPALIVE_MISSED = 2
"""A silently broken link is noticed after three intervals; a keepalive costs a host some 0.1 ms of CPU."""


class Honoured(StrEnum):
    """Why an option of ~/.ssh/config holds."""

    STRUCTURE = "says for which hosts other options hold"
    ROUTE = "says where the host is, and by which way it is reached"
    LOGIN = "says who we are, and how that is proved"
    HOST_KEY = "says which host is trusted"
    CIPHERS = "a hardened host may accept no others"


@dataclass(frozen=True)
class Overruled:
    """An option that does not hold, and asyncssh's argument that overrules it."""

    argument: str
    why: str
    value: Any


OPTIONS: Mapping[str, Honoured | Overruled] = MappingProxyType(
    {
        "Host": Honoured.STRUCTURE,
        "Match": Honoured.STRUCTURE,
        "Include": Honoured.STRUCTURE,
        "Tag": Honoured.STRUCTURE,
        "AddressFamily": Honoured.ROUTE,
        "BindAddress": Honoured.ROUTE,
        "CanonicalDomains": Honoured.ROUTE,
        "CanonicalizeFallbackLocal": Honoured.ROUTE,
        "CanonicalizeHostname": Honoured.ROUTE,
        "CanonicalizeMaxDots": Honoured.ROUTE,
        "CanonicalizePermittedCNAMEs": Honoured.ROUTE,
        "Hostname": Honoured.ROUTE,
        "Port": Honoured.ROUTE,
        "ProxyCommand": Honoured.ROUTE,
        "ProxyJump": Honoured.ROUTE,  # by `route`: each hop is a connection like any other
        "User": Honoured.LOGIN,
        "CertificateFile": Honoured.LOGIN,
        "ChallengeResponseAuthentication": Honoured.LOGIN,
        "EnableSSHKeySign": Honoured.LOGIN,
        "GSSAPIAuthentication": Honoured.LOGIN,
        "GSSAPIKeyExchange": Honoured.LOGIN,
        "HostbasedAuthentication": Honoured.LOGIN,
        "IdentitiesOnly": Honoured.LOGIN,
        "IdentityAgent": Honoured.LOGIN,
        "IdentityFile": Honoured.LOGIN,
        "KbdInteractiveAuthentication": Honoured.LOGIN,
        "PasswordAuthentication": Honoured.LOGIN,
        "PKCS11Provider": Honoured.LOGIN,
        "PreferredAuthentications": Honoured.LOGIN,
        "PubkeyAuthentication": Honoured.LOGIN,
        "GlobalKnownHostsFile": Honoured.HOST_KEY,
        "HostKeyAlias": Honoured.HOST_KEY,
        "UserKnownHostsFile": Honoured.HOST_KEY,
        "CASignatureAlgorithms": Honoured.CIPHERS,
        "Ciphers": Honoured.CIPHERS,
        "HostKeyAlgorithms": Honoured.CIPHERS,
        "KexAlgorithms": Honoured.CIPHERS,
        "MACs": Honoured.CIPHERS,
        "RekeyLimit": Honoured.CIPHERS,
        "Compression": Overruled(
            "compression_algs", "it would cost CPU time of the host that is measured", value="none"
        ),
        "ConnectTimeout": Overruled(
            "connect_timeout", "a host must answer in a time that we know", value=CONNECT_TIMEOUT_S
        ),
        "ServerAliveInterval": Overruled("keepalive_interval", "a cut must be noticed", value=KEEPALIVE_INTERVAL_S),
        "ServerAliveCountMax": Overruled("keepalive_count_max", "a cut must be noticed", value=KEEPALIVE_MISSED),
        "TCPKeepAlive": Overruled("tcp_keepalive", "a cut must be noticed", value=True),
        "ForwardAgent": Overruled("agent_forwarding", "whoever is root there could use the user's keys", value=False),
        "ForwardX11Trusted": Overruled(
            "x11_forwarding", "whoever is root there could read the user's screen", value=False
        ),
        "GSSAPIDelegateCredentials": Overruled(
            "gss_delegate_creds", "they would act as the user elsewhere", value=False
        ),
        "RemoteCommand": Overruled("command", "it would run instead of SFTP", value=None),
        "RequestTTY": Overruled(
            "request_pty", "a terminal changes what programs print, and mixes both streams", value=False
        ),
        "SendEnv": Overruled("send_env", "PGPASSWORD and others of this machine are secrets", value=None),
        "SetEnv": Overruled("env", "a trial's environment is in its study", value=None),
    }
)

OVERRULED: Mapping[str, Any] = MappingProxyType(
    {option.argument: option.value for option in OPTIONS.values() if isinstance(option, Overruled)}
    | {
        "x509_trusted_certs": None,  # asyncssh alone reads ~/.ssh/ca-bundle.crt and ~/.ssh/crt; ssh does not
        "login_timeout": CONNECT_TIMEOUT_S,
    }
)
"""Arguments of every connection, also of those to jump hosts."""


def _set_way(config: SSHConfig, option: str, args: list[str]) -> None:
    if "ProxyCommand" in config._options or config._options.get("ProxyJump") is not None:  # noqa: SLF001
        args.clear()
    else:
        config._set_string(option, args)  # noqa: SLF001


class _Config(SSHClientConfig):
    """~/.ssh/config with the one key about host keys that asyncssh skips, and with one way to a host.

    As for ssh, the first of `ProxyCommand` and `ProxyJump` counts: `ProxyCommand none` is the direct way whatever
    follows, but `ProxyJump none` only rules out other jump hosts.
    """

    _handlers = MappingProxyType(  # type: ignore[assignment]  # asyncssh declares a dict, and only reads it
        {
            **SSHClientConfig._handlers,  # noqa: SLF001  # asyncssh has no other way to add a key
            "stricthostkeychecking": ("StrictHostKeyChecking", SSHConfig._set_string),  # noqa: SLF001
            "proxycommand": ("ProxyCommand", _set_way),
            "proxyjump": ("ProxyJump", _set_way),
        }
    )


def config_of(address: SshAddress, *, system: Path | None = None) -> SSHClientConfig:
    """What ~/.ssh/config says of a host, then what the system's configuration says, if asyncssh can read it.

    Raises:
        asyncssh.ConfigParseError: ~/.ssh/config cannot be read.
    """
    user_file = Path("~/.ssh/config").expanduser()
    files = [user_file] if address.user_config and os.access(user_file, os.R_OK) else []
    if system is not None and os.access(system, os.R_OK):
        try:
            return _loaded(address, [*files, system])
        except ValueError:  # it often names what asyncssh does not know
            pass
    return _loaded(address, files)


def _loaded(address: SshAddress, files: list[Path]) -> SSHClientConfig:
    absent = ()  # asyncssh's word for a value that was not given
    host = (getpass.getuser(), address.user or absent, address.host, address.port or absent)
    try:
        config = _Config.load(None, files, False, False, False, *host)  # noqa: FBT003  # asyncssh takes no names
        if config.has_match_final():
            config = _Config.load(config, files, True, False, True, *host)  # noqa: FBT003
    except RecursionError:
        raise ConfigParseError(f"{files[0]} includes itself") from None
    return config  # type: ignore[return-value]  # it returns the class it is called on


def host_name_of(address: SshAddress) -> str:
    """The name or IP address behind an alias.

    Raises:
        asyncssh.ConfigParseError: ~/.ssh/config cannot be read.
    """
    return str(config_of(address).get("Hostname", address.host))


def place_of(address: SshAddress) -> str:
    """Where the server behind an alias listens, as `host:port`, and by way of which jump host.

    Raises:
        asyncssh.ConfigParseError: ~/.ssh/config cannot be read.
    """
    port = address.port or config_of(address).get("Port", 22)
    jump = "" if address.jump is None else f" by {place_of(address.jump)}"
    return f"{host_name_of(address)}:{port}{jump}"


def identity_files(address: SshAddress) -> list[str]:
    """Keys that ~/.ssh/config names for a host and that exist: ssh passes over the others, and asyncssh would stop.

    Raises:
        asyncssh.ConfigParseError: ~/.ssh/config cannot be read.
    """
    files: Any = config_of(address).get("IdentityFile", ())
    paths = (Path(file).expanduser() for file in files)
    return [str(path) for path in paths if path.is_file()]


def route(address: SshAddress) -> tuple[SshAddress, ...]:
    """Every host to which a connection is made, in order; the last one is the address.

    The study's jump host counts before `ProxyJump` of ~/.ssh/config, which holds for jump hosts, too.

    Raises:
        ValueError: ~/.ssh/config cannot be read, or its jump hosts lead in a circle.
    """
    return _route(address, ())


def _route(address: SshAddress, behind: tuple[SshAddress, ...]) -> tuple[SshAddress, ...]:
    if address in behind:
        raise ValueError(f"the jump hosts of {behind[0].host} lead in a circle through {address.host}")
    if address.jump is not None:
        return (*_route(address.jump, (*behind, address)), address)
    jumps = _proxy_jump(address)
    before = _route(jumps[0], (*behind, address)) if jumps else ()
    return (*before, *jumps[1:], address)


def _proxy_jump(address: SshAddress) -> tuple[SshAddress, ...]:
    """Jump hosts that ~/.ssh/config names for a host."""
    jump = config_of(address).get("ProxyJump") if address.user_config else None
    if not jump:
        return ()
    parts = (split_destination(text.strip()) for text in str(jump).split(","))
    return tuple(SshAddress(host, port, user) for user, host, port in parts)
