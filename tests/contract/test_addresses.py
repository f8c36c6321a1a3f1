"""The addresses that a study may hold are ones that the load generator takes: it says so before machines are paid."""

import os
import subprocess

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.load.spec import LoadSpec, MysqlTarget, PointSelectWorkload, PostgresTarget
from nephoscope.study.address import problem_of
from tests.support.real_parts import needs

pytestmark = needs("nephoscope-load")

REJECTED, NO_SERVER = 2, 3
HERE = "127.0.0.1:1"
"""Nothing listens there."""

TAKEN = (
    f"postgresql://u@{HERE}/d",
    f"postgres://{HERE}/d?user=u%40tenant",
    f"postgresql://{HERE}/d?user=u@tenant",
    f"postgresql://u%25@{HERE}/d%25e",
    f"postgresql://u@{HERE}",
    *(f"postgresql://u@{HERE}/d?target_session_attrs={one}" for one in ("any", "read-write", "read-only")),
    *(f"postgresql://u@{HERE}/d?target_session_attrs={one}" for one in ("primary", "standby")),
    *(f"postgresql://u@{HERE}/d?sslmode={one}" for one in ("disable", "allow", "prefer", "require")),
    *(f"postgresql://u@{HERE}/d?sslmode={one}&sslrootcert=/x" for one in ("verify-ca", "verify-full")),
    *(f"postgresql://u@{HERE}/d?channel_binding={one}" for one in ("disable", "prefer", "require")),
    f"postgresql://u@{HERE}/d?sslnegotiation=postgres",
    *(f"postgresql://u@{HERE}/d?sslnegotiation=direct&sslmode={one}" for one in ("require", "verify-ca")),
    *(f"postgresql://u@{HERE}/d?require_auth={one}" for one in ("scram-sha-256", "!none,!password", "md5,none")),
    f"postgresql://u@{HERE},{HERE}/d?target_session_attrs=primary",
    "postgresql://u@/d?host=/nowhere&port=5433",
    f"postgresql://u@{HERE}/d?connect_timeout=1",
    f"postgresql://u@{HERE}/d?sslcert=/x&sslkey=/y",
    f"postgresql://u@{HERE}/d?sslrootcert=system",
    f"postgresql://u@{HERE}/d?sslrootcert=system&sslmode=verify-full",
    f"mysql://u@{HERE}/d",
    f"mariadb://u%40x@{HERE}/d?connect-timeout=1",
    *(f"mysql://u@{HERE}/d?ssl-mode={one}" for one in ("DISABLED", "PREFERRED", "REQUIRED")),
    *(f"mysql://u@{HERE}/d?ssl-ca=/x&ssl-mode={one}" for one in ("VERIFY_CA", "VERIFY_IDENTITY")),
    f"mysql://u@{HERE}/d?ssl-cert=/x&ssl-key=/y",
    "mysql://u@/d?socket=/nowhere",
)
WRONG = (
    "redis://u@h/d",
    "mysql://h/d",
    "mysql://u@h",
    "mysql://u@h:0/d",
    "mysql://u@h/d%zz",
    "mysql://u@h/d?sslmode=require",
    "mysql://u@h/d?ssl-mode=on",
    "mysql://u@h/d?ssl-mode=VERIFY_CA",
    "mysql://u@h/d?ssl-cert=/x",
    "mysql://u@h/d?connect-timeout=0",
    "POSTGRESQL://u@h/d",
    "postgresql://u@h:0/d",
    "postgresql://u@h:70000/d",
    "postgresql://u@h:x/d",
    "postgresql://u@[::1/d",
    "postgresql://u@h/d%zz",
    "postgresql://u@h/d%ff",
    "postgresql://u@h/d?sslmode=on",
    "postgresql://u@h/d?sslcert=/x%zz&sslkey=/y",
    "postgresql://u@h/d?unknown=1",
    "postgresql://u@h/d?service=x",
    "postgresql://u@h/d?sslnegotiation=direct",
    "postgresql://u@h/d?sslnegotiation=direct&sslmode=prefer",
    "postgresql://u@h/d?sslnegotiation=soon&sslmode=require",
    "postgresql://u@h/d?require_auth=scram",
    "postgresql://u@h/d?require_auth=md5,!none",
    "postgresql://u@h/d?require_auth=md5,md5",
    "postgresql://u@h/d?require_auth=,",
    "postgresql://u@h/d?target_session_attrs=prefer-standby",
    "postgresql://u@h/d?connect_timeout=0",
    "postgresql://u@h/d?connect_timeout=soon",
    "postgresql://u@h/d?channel_binding=yes",
    "postgresql://u@h/d?sslcert=/x",
    "postgresql://u@h/d?sslkey=/x",
    "postgresql://u@h/d?sslrootcert=system&sslmode=require",
)


def generator(dsn: str) -> int:
    """How the load generator ends that is to measure at an address."""
    spec = LoadSpec(
        action="run",
        target=MysqlTarget(dsn=dsn) if dsn.startswith(("mysql://", "mariadb://")) else PostgresTarget(dsn=dsn),
        workload=PointSelectWorkload(rows=1),
        seed=1,
        connections=1,
        duration_s=1.0,
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    text = spec.model_dump_json(by_alias=True).encode()
    command = [load_program(), "exec"]
    return subprocess.run(command, input=text, capture_output=True, env=environment, timeout=60, check=False).returncode


@pytest.mark.parametrize("dsn", TAKEN)
def test_both_sides_take_it(dsn: str) -> None:
    assert problem_of(dsn) is None
    assert generator(dsn) == NO_SERVER


@pytest.mark.parametrize("dsn", WRONG)
def test_both_sides_reject_it(dsn: str) -> None:
    assert problem_of(dsn) is not None
    assert generator(dsn) == REJECTED
