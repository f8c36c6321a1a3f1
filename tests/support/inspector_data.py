"""A small folder in the shape of Spare Cores' inspector data. Constructed: no number of it was measured."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

META = {"start": "2024-06-08T11:00:00.5", "end": "2024-06-08T11:01:30.5", "exit_code": 0, "version": "0.17.08"}
REDIS_HEADER = '"operation","threads","pipeline","rps","latency","server_usr","server_sys","client_usr","client_sys"\n'


def lscpu(cpus: int, facts: Mapping[str, str] | None = None) -> str:
    """`lscpu -J` of one machine."""
    fields = {"Architecture": "x86_64", "CPU(s)": str(cpus), "On-line CPU(s) list": f"0-{cpus - 1}"}
    fields |= {"Vendor ID": "AuthenticAMD", "Model name": "AMD EPYC 7571", "NUMA node(s)": "1", **(facts or {})}
    return json.dumps({"lscpu": [{"field": f"{name}:", "data": value} for name, value in fields.items()]})


def cores(rates: Sequence[float]) -> str:
    """Rates with 1, 2, ... workers."""
    return "".join(f"{workers},{rate:.2f}\n" for workers, rate in enumerate(rates, start=1))


def redis(rates: Mapping[int, float]) -> str:
    """Rates by depth of the pipeline."""
    return REDIS_HEADER + "".join(f'"SET",1,{depth},{rate:.0f},2.17,8,25,15,30\n' for depth, rate in rates.items())


def write_task(root: Path, machine: str, task: str, stdout: str, **meta: Any) -> Path:
    """PROVIDER/TYPE/TASK/{stdout,meta.json}."""
    folder = root / machine / task
    folder.mkdir(parents=True)
    (folder / "stdout").write_text(stdout)
    (folder / "meta.json").write_text(json.dumps(META | meta))
    return folder


def write_machine(
    root: Path, machine: str, *, cpus: int = 2, rate: float = 100, facts: Mapping[str, str] | None = None
) -> None:
    """A whole machine whose rate grows with its workers."""
    write_task(root, machine, "lscpu", lscpu(cpus, facts), version="2.39.3")
    write_task(root, machine, "stressngfull", cores([rate * workers for workers in range(1, cpus + 1)]))
    write_task(root, machine, "redis", redis({1: rate * 10, 16: rate * 80}), version="Redis 7.4 build=0a1b")


SCHEMA = """
create table server (vendor_id, server_id, name, api_reference, vcpus, memory_amount, cpu_manufacturer, cpu_model,
                     cpu_architecture);
insert into server values ('aws', 'm5a.large', 'm5a.large', 'm5a.large', 2, 8192, 'AMD', 'EPYC 7571', 'x86_64');
insert into server values ('gcp', '123', 'n2-standard-2', 'n2-standard-2', 2, 8192, 'Intel', 'Xeon', 'x86_64');
create table benchmark_score (vendor_id, server_id, benchmark_id, config, score, status, observed_at);
insert into benchmark_score values
 ('aws', 'm5a.large', 'stress_ng:div16', '{"cores": 1.0}', 100, 'ACTIVE', '2024-09-25 07:21:53'),
 ('aws', 'm5a.large', 'stress_ng:div16', '{"cores": 2.0}', 150, 'ACTIVE', '2024-09-25 07:21:53'),
 ('aws', 'm5a.large', 'redis:rps', '{"operation": "SET", "pipeline": 1.0}', 1000, 'ACTIVE', '2024-09-03 03:59:38'),
 ('aws', 'm5a.large', 'redis:rps', '{"operation": "SET", "pipeline": 4.0}', 3000, 'INACTIVE', '2024-09-03 03:59:38'),
 ('aws', 'm5a.large', 'redis:rps', 'damaged', 3000, 'ACTIVE', '2024-09-03 03:59:38'),
 ('aws', 'm5a.large', 'geekbench:score', '{}', 1, 'ACTIVE', '2024-09-03 03:59:38'),
 ('gcp', '123', 'stress_ng:div16', '{"cores": 1}', 120, 'ACTIVE', '2024-09-25 07:21:53'),
 ('gcp', 'gone', 'redis:rps', '{"pipeline": 1}', 5, 'ACTIVE', '2024-09-25 07:21:53');
"""


def write_sqlite(path: Path) -> Path:
    """The older shape of the SQLite file, with `server_id`."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


def ladder(cpus: int, rates: dict[int, float], **changes: Any) -> str:
    """pgbench's JSON in the form of Spare Cores, as far as it is read: clients -> transactions a minute."""
    rungs = [
        {
            "concurrency": clients,
            "tpm": rate,
            "latency_avg_ms": 60_000 * clients / rate,
            "latency_ms": {"p50": 200.0, "p95": 400.0, "p99": 500.0, "samples": 30 * clients},
            "run_seconds": 300.0,
            "tx_processed": round(5 * rate),
            "tx_failed": 0,
        }
        for clients, rate in rates.items()
    ]
    file = {
        "workload": "pgbench_ro",
        "topology": "multi_vm",
        "durability": "durable",
        "score": max(rates.values()),
        "score_unit": "tpm",
        "run_seconds": 300,
        "warmup_seconds": 120,
        "settle_seconds": 60,
        "db_vcpus": cpus,
        "db_mem_gib": 3.8,
        "sizes": [{"dataset": {"dataset": "ro-v1.sql.zst"}, "profile": rungs}],
        "postgres": {"server_version": "18.4 (Debian)", "settings": {"jit": "off", "shared_buffers": "1GB"}},
    }
    return json.dumps({**file, **changes})


MEMBENCH = (
    "size_kb,operation,bandwidth_mb_s,latency_ns,latency_stddev_ns,latency_samples,threads,iterations,elapsed_s\n"
    "1024,read,4000.50,0,0,0,2,17,0.2\n1024,write,3000,0,0,0,2,17,0.2\n1024,copy,2000,0,0,0,2,17,0.2\n"
    "1024,latency,0,5.00,0.01,7,1,7,0.6\n131072,read,400,0,0,0,2,17,0.2\n131072,write,300,0,0,0,2,17,0.2\n"
    "131072,copy,200,0,0,0,2,17,0.2\n131072,latency,0,100.5,0.01,7,1,7,0.6\n"
)
BW_MEM = "rd 0.016384 900.5\nrd 64.00 90.5\nwr 64.00 80\nrdwr 64.00 70\n"
WEB = (
    '"size","threads","connections","rps","latency","failed","server_usr","server_sys","client_usr","client_sys"\n'
    '"1k",1,1,100,0.00002,0,1.8,2.9,0.8,4.4\n"1k",1,2,150,0.00004,0,1.9,3.0,0.9,4.1\n"16k",1,1,50,0.1,0,1,3,0.9,4.1\n'
)
