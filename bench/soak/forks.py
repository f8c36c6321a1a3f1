"""Processes for controllers and readers: forks of one server that imported everything, which saves seconds for each."""

import multiprocessing
from multiprocessing.context import ForkServerContext

_PRELOADED = ["bench.soak.readers", "tests.support.fleet_controller", "nephoscope.app.commands.study"]
_PRELOADED += ["boto3", "google.cloud.compute_v1", "azure.mgmt.compute", "azure.mgmt.network", "procrastinate"]


def forks() -> ForkServerContext:
    """Where to start a process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context
