"""What a hop over the bus costs, held against a bare exchange of Ray calls between two of the same processes.

A exchanges a body with B: by frames that the bus routes there and back, or by one Ray call and its result; beside
them, the same bytes go the same way over bare sockets between three other processes. All are measured in turn, so that
the load of the machine hits them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.primitives.ids import Address
from runtime.settings import RaySettings
from tests.benchmarks import bare_sockets
from tests.benchmarks.bare_sockets import Times
from tests.benchmarks.conftest import TellRows
from tests.benchmarks.exchanger import Exchanger

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

A, B = Address("bench-a"), Address("bench-b")
SMALL_BYTES, LARGE_BYTES = 4_096, 100_000
WARM_UP = 50
TURNS = 5
BUS, RAY, SOCKETS = "two hops over the bus", "a Ray call and its result", "two hops over bare sockets"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import ray

    from actors.cluster import start_local
    from actors.commbus_actor import CommBusActor

    cluster = start_local(RaySettings(), Path(tmp_path_factory.mktemp("bus")))
    try:
        options = {"num_cpus": 0, "max_concurrency": 1_000, "namespace": "jeeves"}
        bus: Any = ray.remote(CommBusActor).options(name="bus", **options).remote({A: (), B: ()})
        made: list[Any] = [ray.remote(Exchanger).options(name=name, **options).remote(name) for name in (A, B)]
        ray.get([actor.ping.remote() for actor in made])
        deadline_s = time.monotonic() + 30
        while ray.get(bus.stats.remote())["links"] != sorted([A, B]):
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        yield made[0]
    finally:
        cluster.shutdown()


@pytest.fixture(scope="module")
def sockets() -> Iterator[str]:
    """The path of a socket, from which bytes go to another process and back."""
    with bare_sockets.processes() as path:
        yield path


CASES = [
    pytest.param(SMALL_BYTES, 1, 400, id="4-kb-alone"),
    pytest.param(SMALL_BYTES, 16, 2_000, id="4-kb-16-in-flight"),
    pytest.param(SMALL_BYTES, 128, 4_000, id="4-kb-128-in-flight"),
    pytest.param(LARGE_BYTES, 16, 500, id="100-kb-16-in-flight"),
]


@pytest.mark.parametrize(("size", "in_flight", "count"), CASES)
def test_a_hop_over_the_bus(
    benchmark: Any, tell_rows: TellRows, pair: Any, sockets: str, size: int, in_flight: int, count: int
) -> None:
    import ray

    ways: dict[str, Callable[[int], Times]] = {
        BUS: lambda some: ray.get(pair.by_bus.remote(B, size, in_flight, some)),
        RAY: lambda some: ray.get(pair.by_ray.remote(B, size, in_flight, some)),
        SOCKETS: lambda some: bare_sockets.timed(sockets, size, in_flight, some),
    }
    found: dict[str, list[tuple[float, float]]] = {who: [] for who in ways}
    for _ in range(TURNS):
        for who, exchanged in ways.items():
            exchanged(WARM_UP)
            times, whole_s = exchanged(count)
            found[who].append((times[len(times) // 2], whole_s))
    benchmark.pedantic(lambda: ways[BUS](count), rounds=1)
    least = {who: (min(m for m, _ in each), min(w for _, w in each)) for who, each in found.items()}
    rows = {
        who: {"time of an exchange p50, us": p50 * 1e6, "exchanges/s": count / whole_s}
        for who, (p50, whole_s) in least.items()
    }
    bus, bare = least[BUS], least[RAY]
    rows["ratio, here to Ray"] = {"time of an exchange p50, us": bus[0] / bare[0], "exchanges/s": bare[1] / bus[1]}
    tell_rows("Hops over the bus", f"{size:,} bytes, {in_flight} at once", rows)
    assert bus[0] < bare[0] or in_flight > 1
    assert bus[1] < bare[1]
