"""Every benchmark by the name a study uses. To add one: one file here, one line below, one recorded output in tests."""

from collections.abc import Mapping
from types import MappingProxyType

from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.cpu.coremark import CoreMark
from nephoscope.benchmarks.cpu.kernel import CpuKernel
from nephoscope.benchmarks.cpu.stress_ng import StressNg
from nephoscope.benchmarks.database.highest_load import HighestLoad
from nephoscope.benchmarks.database.kv import Kv
from nephoscope.benchmarks.database.max_warehouses import MaxWarehouses
from nephoscope.benchmarks.database.oltp import OltpInsert, OltpReadWrite
from nephoscope.benchmarks.database.point_select import PointSelect
from nephoscope.benchmarks.database.tpcb import Tpcb
from nephoscope.benchmarks.database.tpcc import Tpcc
from nephoscope.benchmarks.database.ycsb import Ycsb
from nephoscope.benchmarks.fake import Fake
from nephoscope.benchmarks.network.multi_stream import MultiStream
from nephoscope.benchmarks.network.ping import Ping
from nephoscope.benchmarks.network.request_response import RequestResponse
from nephoscope.benchmarks.network.throughput import Throughput
from nephoscope.benchmarks.storage.fio import Fio
from nephoscope.benchmarks.storage.sysbench_fileio import SysbenchFileio

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
