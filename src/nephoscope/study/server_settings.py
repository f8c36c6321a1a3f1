"""Settings and flags of servers that would run a program, or load or write a file: a study names settings, not code."""

import re
from collections.abc import Mapping

from nephoscope.model.errors import InputError

MYSQL = ("mariadb", "mysql")
"""Systems of MySQL's protocol."""
_NAMES: Mapping[str, re.Pattern[str]] = {
    "postgres": re.compile(r"[A-Za-z_][A-Za-z0-9_.]*"),
    "valkey": re.compile(r"[a-z][a-z0-9-]*"),
    **dict.fromkeys(MYSQL, re.compile(r"[a-z][a-z0-9_]*")),
    "cockroachdb": re.compile(r"[a-z][a-z0-9_.]*"),
}
_OF_GALERA = "certify_nonpk|retry_autocommit|slave_threads|sync_wait|trx_fragment_(size|unit)"
"""Of its settings, those that tune it."""
_REFUSED: Mapping[str, re.Pattern[str]] = {
    "postgres": re.compile(
        r".*_command|archive_library|listen_addresses|jit_provider|(dynamic_library|extension_control)_path|.*_director(y|ies)"
        r"|.*_(file|filename|dir|keyfile)",
        re.IGNORECASE,
    ),
    "valkey": re.compile(
        r"include|loadmodule|.*file|.*filename|.*dirname|dir|unixsocket|enable-(module-command|protected-configs)"
        r"|rename-command|user|bind.*|requirepass|protected-mode|tls-.*|daemonize|supervised",
    ),
    **dict.fromkeys(
        MYSQL,
        re.compile(
            r".*(dir|dirs|director(y|ies)|path|file|filename|basename|command|script|home|socket|port)|bind_address|user|chroot"
            r"|(init|plugin|early_plugin|skip|loose|enable|disable|maximum|log_error|general_log|slow_query_log"
            r"|ssl|tls|admin|report|replicate|master|relay|debug|secure|server_audit|feedback|mysqlx|core|gdb)_?.*"
            rf"|wsrep(?!_({_OF_GALERA})$).*"
            r"|.*(keyring|key_management|notify).*|local_infile|bootstrap|daemonize|console|external_locking|des_key.*",
        ),
    ),
    "cockroachdb": re.compile(
        r".*(endpoint|agent|collector|custom_ca|license|organization)"
        r"|server\.(.*authentication|identity_map|user_login|remote_debugging|http|web_session).*",
    ),
}
_FLAGS = re.compile(
    "attrs|cache|disable-max-offset-check|external-io-(disable-.*|disabled)|locality|max-(go|sql|tsdb)-memory"
    "|max-disk-temp-storage|max-offset|vmodule|wal-failover"
)
"""Of `cockroach start`, those that tune it: others name files, addresses, certificates or libraries, or detach it."""
_ON_LOOPBACK = re.compile(r"127\.0\.0\.1:\d+")
_LIBRARIES = re.compile(r".*_libraries", re.IGNORECASE)
_INSTALLED = re.compile(r"[A-Za-z0-9_ ,]*")
"""Libraries by their names, which PostgreSQL looks for where its packages install them."""
_PATH = re.compile(r"[/\\\x00-\x1f]")
_NOT_SET = "nephoscope does not set what runs programs, or names files and addresses; remove it"
_BREAKS_OUT: Mapping[str, tuple[re.Pattern[str], str]] = {
    "valkey": (re.compile(r'["\\\x00-\x1f]'), "quotes"),
    **dict.fromkeys(MYSQL, (_PATH, "slashes")),
}
"""What leads out of a line of Valkey's configuration file, or out of the data folder, and a name for it."""


def against_server_setting(system: str, name: str, value: str) -> str:
    """Why a study cannot have a setting, in words; empty: it can."""
    if system not in _NAMES:
        return ""
    if not _NAMES[system].fullmatch(name):
        return "this is not the name of a setting"
    if _REFUSED[system].fullmatch(name):
        return _NOT_SET
    if system == "postgres" and _LIBRARIES.fullmatch(name) and not _INSTALLED.fullmatch(value):
        return "only names of installed libraries are allowed, without a path"
    breaks_out, what = _BREAKS_OUT.get(system, (None, ""))
    if breaks_out and breaks_out.search(value):
        return f"a value has no {what}, backslashes or control characters"
    return ""


def against_start_flag(name: str, value: str) -> str:
    """Why a study cannot start CockroachDB with a flag, in words; empty: it can."""
    if name == "http-addr" and _ON_LOOPBACK.fullmatch(value):
        return ""
    return "" if _FLAGS.fullmatch(name) and not _PATH.search(value) else _NOT_SET


def require_flags(flags: Mapping[str, str]) -> None:
    """Holds the start flags of a plan against the same rules, as it may come from anybody.

    Raises:
        InputError: one of them is refused.
    """
    for name, value in flags.items():
        if why := against_start_flag(name, value):
            raise InputError(f"the flag {name!r} of `cockroach start`: {why}", hint="take it out of the study")


def require_settings(system: str, settings: Mapping[str, str]) -> None:
    """Holds the settings of a plan against the same rules, as it may come from anybody.

    Raises:
        InputError: one of them is refused.
    """
    for name, value in settings.items():
        if why := against_server_setting(system, name, value):
            raise InputError(f"the setting {name!r} of {system}: {why}", hint="take it out of the study")
