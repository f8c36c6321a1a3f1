"""A data set that outlives clusters is loaded by one cluster, while others that need it wait to be created."""

import asyncio


class LoadedOnce:
    """Whose turn it is to load each data set. A cluster that waits does not exist yet, and costs nothing."""

    def __init__(self) -> None:
        self._loaded: set[str] = set()
        self._turns: dict[str, asyncio.Lock] = {}
        self._loading: dict[str, str] = {}
        """Data set -> the cluster that loads it."""

    async def turn(self, data_set: str, cluster: str) -> None:
        """Returns once the data set is loaded, or it is up to this cluster to load it."""
        if data_set in self._loaded or self._loading.get(data_set) == cluster:
            return
        lock = self._turns.setdefault(data_set, asyncio.Lock())
        await lock.acquire()
        if data_set in self._loaded:
            lock.release()
        else:
            self._loading[data_set] = cluster

    def end(self, data_set: str, cluster: str, *, loaded: bool) -> None:
        """A cluster has the data set now, or will not load it: it failed, or has gone."""
        if loaded:
            self._loaded.add(data_set)
        if self._loading.get(data_set) == cluster:
            del self._loading[data_set]
            self._turns[data_set].release()
