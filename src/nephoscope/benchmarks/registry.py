"""Every benchmark by the name a study uses. To add one: one file here, one line below, one recorded output in tests."""

from collections.abc import Mapping
from types import MappingProxyType

from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.coremark import CoreMark
from nephoscope.benchmarks.cpu_kernel import CpuKernel
from nephoscope.benchmarks.fake import Fake
from nephoscope.benchmarks.fio import Fio
from nephoscope.benchmarks.highest_load import HighestLoad
from nephoscope.benchmarks.kv import Kv
from nephoscope.benchmarks.max_warehouses import MaxWarehouses
from nephoscope.benchmarks.multi_stream import MultiStream
from nephoscope.benchmarks.oltp import OltpInsert, OltpReadWrite
from nephoscope.benchmarks.ping import Ping
from nephoscope.benchmarks.point_select import PointSelect
from nephoscope.benchmarks.request_response import RequestResponse
from nephoscope.benchmarks.stress_ng import StressNg
from nephoscope.benchmarks.sysbench_fileio import SysbenchFileio
from nephoscope.benchmarks.throughput import Throughput
from nephoscope.benchmarks.tpcb import Tpcb
from nephoscope.benchmarks.tpcc import Tpcc
from nephoscope.benchmarks.ycsb import Ycsb

_ALL: tuple[Benchmark, ...] = (
    StressNg(),
    CoreMark(),
    CpuKernel(),
    Fio(),
    SysbenchFileio(),
    Ping(),
    RequestResponse(),
    Throughput(),
    MultiStream(),
    Tpcc(),
    MaxWarehouses(),
    PointSelect(),
    OltpInsert(),
    OltpReadWrite(),
    Tpcb(),
    HighestLoad(),
    Kv(),
    Ycsb(),
    Fake(),
)

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType({benchmark.name: benchmark for benchmark in _ALL})
