"""Outputs in the documented formats of other people's tools. Constructed by hand: no number of them was measured."""

import json

COCKROACH = """\
_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)
    1.0s        0          120.0          120.0      4.5      9.4     13.1     16.8 newOrder
_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__total
 10m37s        0          63700          100.0     12.5     10.0     25.2     41.9    104.9  newOrder

_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__total
 10m37s        0          63063           99.0      6.5      5.0     12.6     21.0     52.4  payment

_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__result
 10m37s        1         126763          199.0      9.5      7.3     18.9     31.5    104.9
Audit check 9.2.1.7: PASS

_elapsed_______tpmC____efc__avg(ms)__p50(ms)__p90(ms)__p95(ms)__p99(ms)_pMax(ms)
 10m37s     6000.0  93.3%     12.5     10.0     22.0     25.2     41.9    104.9
"""


def _summary(name: str, count: int, *ms: float) -> str:
    """A line of go-tpc's summary: mean, then percentiles and maximum."""
    fields = zip(("Avg", "50th", "90th", "95th", "99th", "99.9th", "Max"), ms, strict=True)
    rest = ", ".join(f"{field}(ms): {value:.1f}" for field, value in fields)
    return f"[Summary] {name} - Takes(s): 60.0, Count: {count}, TPM: {count}.0, Sum(ms): {count * ms[0]:.1f}, {rest}\n"


GO_TPC = (
    "[Current] NEW_ORDER - Takes(s): 9.9, Count: 1000, TPM: 6060.6, Sum(ms): 9000.0, Avg(ms): 9.0, Max(ms): 30.0\n"
    "Finished\n"
    + _summary("DELIVERY", 90, 50, 48.2, 60.8, 65, 71.3, 79.7, 79.7)
    + _summary("NEW_ORDER", 1000, 9, 8.4, 12.1, 13.6, 17.8, 25.2, 30.4)
    + _summary("NEW_ORDER_ERR", 1, 5, 5, 5, 5, 5, 5, 5)
    + "tpmC: 1000.0, tpmTotal: 2222.2, efficiency: 77.8%\n"
)
HAMMERDB = """\
HammerDB CLI v4.3
Vuser 1:Beginning rampup time of 2 minutes
Vuser 1:TEST RESULT : System achieved 8000 NOPM from 24000 PostgreSQL TPM
Vuser 1:FINISHED SUCCESS
Vuser 2:FINISHED SUCCESS
TEST SEQUENCE COMPLETE
"""
YCSB = """\
[OVERALL], RunTime(ms), 10018
[OVERALL], Throughput(ops/sec), 1666.8995807546416
java.lang.RuntimeException: a trace in between
	at com.example.Client.read(Client.java:99)
[READ], Operations, 8000
[READ], AverageLatency(us), 512.25
[READ], MinLatency(us), 110
[READ], MaxLatency(us), 98111
[READ], 95thPercentileLatency(us), 1200
[READ], 99thPercentileLatency(ms), 0
[READ], Return=OK, 8000
[CLEANUP], AverageLatency(us), 7.0
"""
_SIDE = {
    "io_bytes": 4096000,
    "io_kbytes": 4000,
    "bw_bytes": 409600,
    "bw": 400,
    "iops": 100.0,
    "runtime": 10000,
    "total_ios": 1000,
    "clat_ns": {
        "min": 1000,
        "max": 90000,
        "mean": 20000.0,
        "stddev": 5.0,
        "N": 1000,
        "percentile": {"99.000000": 80000},
    },
    "lat_ns": {"min": 1100, "max": 91000, "mean": 21000.0, "stddev": 5.0, "N": 1000},
}
_JOB = {"jobname": "rd-iops", "error": 0, "read": _SIDE, "job options": {"rw": "read"}}
FIO = json.dumps({"fio version": "fio-3.33", "jobs": [_JOB]})
PERFKIT = "".join(
    json.dumps({"test": "coremark", "run_uri": "a1", "timestamp": 1700000000.5, "labels": labels, **sample}) + "\n"
    for labels in ["|cloud:GCP|,|machine_type:n2-standard-8|,|num_cpus:8|"]
    for sample in (
        {"metric": "Coremark Score", "value": 123456.7, "unit": "iterations/s"},
        {"metric": "lscpu", "value": 0, "unit": ""},
        {"metric": "Latency", "value": 3.5, "unit": "ms"},
        {"metric": "part", "value": 1, "unit": "x"},
        {"metric": "part", "value": 2, "unit": "x"},
    )
)
PHORONIX = """\
<?xml version="1.0"?>
<PhoronixTestSuite>
  <System><Identifier>box-a</Identifier></System>
  <Result>
    <Identifier>pts/compress-7zip-1.10.0</Identifier><Title>7-Zip Compression</Title><AppVersion>22.01</AppVersion>
    <Arguments/><Description>Test: Compression Rating</Description><Scale>MIPS</Scale><Proportion>HIB</Proportion>
    <Data>
      <Entry><Identifier>box-a</Identifier><Value>1000.5</Value><RawString>1000:1001:1000.5</RawString></Entry>
      <Entry><Identifier>box-b</Identifier><Value></Value><RawString></RawString></Entry>
    </Data>
  </Result>
</PhoronixTestSuite>
"""
COREMARK = """\
2K performance run parameters for coremark.
CoreMark Size    : 666
Total ticks      : 15000
Total time (secs): 15.000000
Iterations/Sec   : 20000.000000
Iterations       : 300000
Compiler version : GCC12.2.0
Compiler flags   : -O2 -lrt
Memory location  : Please put data memory location here
seedcrc          : 0xe9f5
[0]crclist       : 0xe714
[0]crcmatrix     : 0x1fd7
[0]crcstate      : 0x8e3a
[0]crcfinal      : 0xcc42
Correct operation validated. See README.md for run and reporting rules.
CoreMark 1.0 : 20000.000000 / GCC12.2.0 -O2 -lrt / Heap
"""
SAMPLES: dict[str, str] = {
    "cockroach-workload": COCKROACH,
    "go-tpc": GO_TPC,
    "hammerdb": HAMMERDB,
    "ycsb": YCSB,
    "fio": FIO,
    "perfkit": PERFKIT,
    "phoronix": PHORONIX,
    "cloud-report": COREMARK,
}
"""Importer -> one whole output."""
