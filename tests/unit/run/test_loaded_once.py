"""One cluster loads a data set that outlives it; those that need it wait, and load it only if that one fails."""

import asyncio

from nephoscope.run.conductor import LoadedOnce


def test_others_wait_until_it_is_loaded_and_then_all_go_on() -> None:
    async def course() -> list[str]:
        loads, seen = LoadedOnce(), []

        async def cluster(name: str, *, fails: bool = False) -> None:
            await loads.turn("tpcc", name)
            await loads.turn("tpcc", name)  # its next trial
            seen.append(f"{name} begins")
            await asyncio.sleep(0)
            seen.append(f"{name} ends")
            loads.end("tpcc", name, loaded=not fails)

        await asyncio.gather(cluster("a", fails=True), cluster("b"), cluster("c"), cluster("d"))
        return seen

    seen = asyncio.run(asyncio.wait_for(course(), 5))
    assert seen[:4] == ["a begins", "a ends", "b begins", "b ends"]
    assert sorted(seen[4:6]) == ["c begins", "d begins"], "together"


def test_data_sets_do_not_wait_for_each_other_and_an_end_of_another_cluster_changes_nothing() -> None:
    async def course() -> bool:
        loads = LoadedOnce()
        await loads.turn("one", "a")
        await loads.turn("two", "b")
        loads.end("one", "b", loaded=False)
        waits = asyncio.ensure_future(loads.turn("one", "c"))
        await asyncio.sleep(0)
        before = waits.done()
        loads.end("one", "a", loaded=False)
        await waits
        return before

    assert asyncio.run(course()) is False
