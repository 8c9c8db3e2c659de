"""Two Ray nodes on this machine: the endpoint on the other one has a link by TCP, and gets it back after restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.primitives.ids import Address

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(300)]

NEAR, FAR = Address("bench-near"), Address("bench-far")
ELSEWHERE = "elsewhere"


class TwoNodes:
    """A bus and an endpoint on the first node, another endpoint on the second."""

    def __init__(self, bus: Any, near: Any, far: Any) -> None:
        self.bus, self.near, self.far = bus, near, far

    def until_linked(self) -> None:
        import ray

        until_s = time.monotonic() + 60
        while ray.get(self.bus.stats.remote())["links"] != sorted([NEAR, FAR]):
            assert time.monotonic() < until_s
            time.sleep(0.1)

    def exchange(self, size: int, count: int) -> None:
        import ray

        times, _ = ray.get(self.near.by_bus.remote(FAR, size, 8, count))
        assert len(times) == count


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    import ray
    from ray.cluster_utils import Cluster

    from actors.cluster import _connect, _disconnect, _local_environment, _ray_environment
    from actors.commbus_actor import CommBusActor
    from tests.benchmarks.exchanger import Exchanger

    private = Path(tmp_path_factory.mktemp("nodes"))
    with _ray_environment("127.0.0.1", _local_environment(private, "127.0.0.1")):
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1, resources={ELSEWHERE: 10})
        _connect(cluster.address, "jeeves")
    try:
        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": 1_000, "max_restarts": -1}
        bus: Any = ray.remote(CommBusActor).options(name="bus", **options).remote({NEAR: (), FAR: ()})
        near: Any = ray.remote(Exchanger).options(name=NEAR, **options).remote(NEAR)
        far: Any = ray.remote(Exchanger).options(name=FAR, resources={ELSEWHERE: 1}, **options).remote(FAR)
        ray.get([near.ping.remote(), far.ping.remote()])
        yield TwoNodes(bus, near, far)
    finally:
        _disconnect()
        cluster.shutdown()  # type: ignore[no-untyped-call]


def test_the_endpoint_on_the_other_node_has_a_link_that_carries_small_and_large_frames(nodes: TwoNodes) -> None:
    nodes.until_linked()
    nodes.exchange(100, 500)
    nodes.exchange(3_000_000, 5)


def test_after_a_restart_of_the_endpoint_or_of_the_bus_there_is_a_link_again(nodes: TwoNodes) -> None:
    import ray

    for actor in (nodes.far, nodes.bus, nodes.near):
        nodes.until_linked()
        ray.kill(actor, no_restart=False)
        until_s = time.monotonic() + 60
        while True:
            try:
                ray.get([each.ping.remote() for each in (nodes.near, nodes.far)])
                nodes.until_linked()
                nodes.exchange(100, 20)
                break
            except (ray.exceptions.RayActorError, AssertionError):
                assert time.monotonic() < until_s
                time.sleep(0.2)
