"""Two nodes with a supervisor and agents each: the work of runs spreads over both, and one node may die."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.store.options import StoreOptions
from tests.faults.fault_checks import findings
from tests.faults.fault_rounds import undisturbed
from tests.faults.fault_spread import CROWD, FAR_SUPERVISOR, SpreadSite, crowd, node_killed
from tests.postgres_server import MISSING, PostgresServer, binaries

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

LEAST_SHARE = 0.4
ALL_ENDED_WITHIN_S = 30.0


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    found = binaries()
    if found is None:
        pytest.skip(MISSING)
    server = PostgresServer(found)
    yield server
    server.close()


def test_runs_spread_over_two_nodes_and_none_is_lost_when_one_of_them_dies(
    tmp_path: Path, server: PostgresServer
) -> None:
    with SpreadSite(tmp_path, StoreOptions(str(tmp_path), "postgres", server.dsn)) as site:
        asyncio.run(_spread_then_struck(site))


async def _spread_then_struck(site: SpreadSite) -> None:
    await site.up()
    nodes = await site.nodes()
    assert nodes[FAR_SUPERVISOR] != nodes["supervisor"] == nodes["bus"] == nodes["store"] == nodes["index"]
    expected = await undisturbed(site)

    calm = await crowd(site, 0)
    await calm.end()
    hops = await site.hops_by_node(list(calm.runs))
    assert findings(calm, expected, is_calm=True) == []
    assert len(hops) == 2
    shares = [count / hops.total() for count in hops.values()]
    assert min(shares) >= LEAST_SHARE, shares

    struck = await crowd(site, 1)
    ended_after_s = await node_killed(struck)
    assert findings(struck, expected, is_calm=False) == []
    assert len(struck.runs) == CROWD
    assert ended_after_s <= ALL_ENDED_WITHIN_S
    assert set((await site.nodes()).values()) == {nodes["supervisor"]}
