"""The conformance suite on actors whose frames all go by Ray calls, as where sockets are not allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import test_conformance
from tests.conformance.hosts import ClusterUp, Host, RayHost

pytestmark = [pytest.mark.ray, pytest.mark.long]

local = test_conformance.local
OF_LINKS = {"test_every_actor_of_one_machine_has_a_link_to_the_bus"}
SHARED = {name: test for name, test in vars(test_conformance).items() if name.startswith("test_")}
globals().update({name: test for name, test in SHARED.items() if name not in OF_LINKS})


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with ClusterUp(tmp_path_factory.mktemp("by-calls"), links=False) as running:
        yield running


@pytest.fixture
async def host(system: Any) -> Host:
    await system.ready()
    return RayHost(system)


async def test_no_endpoint_has_a_link(system: Any) -> None:
    assert (await system.bus_stats())["links"] == []
