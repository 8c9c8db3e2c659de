"""The conformance suite on actors whose frames all go by TCP with TLS, as between machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import test_conformance
from tests.conformance.hosts import ClusterUp, Host, RayHost

pytestmark = [pytest.mark.ray, pytest.mark.long]

local = test_conformance.local
SHARED = {name: test for name, test in vars(test_conformance).items() if name.startswith("test_")}
globals().update(SHARED)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with ClusterUp(tmp_path_factory.mktemp("by-tcp"), links="tcp") as running:
        yield running


@pytest.fixture
async def host(system: Any) -> Host:
    await system.ready()
    return RayHost(system)
