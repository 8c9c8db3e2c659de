"""Faults on real processes, a few rounds of each: `make faults` strikes longer, and says how long recovery takes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.faults.fault_rounds import undisturbed
from tests.faults.fault_runs import Outcome
from tests.faults.fault_site import Site
from tests.faults.fault_table import FAULTS, one_round

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600), pytest.mark.long]

# Numbers of rounds: in even ones runs wait while the fault strikes, in odd ones they flow.
QUICK = {
    "kill-agent": (0, 1),
    "kill-store": (1,),
    "kill-index": (0,),
}
LONG = {
    "kill-supervisor": (0, 1),
    "kill-bus": (0, 1),
    "answers": (0, 1),
    "two-supervisors": (0,),
    "stop-supervisor": (1,),
}
SLOW = {"kill-supervisor-1000": (0,), "stop-agent": (0, 1, 2), "stop-supervisor": (0, 2), "stop-bus": (0, 1, 2)}


class Up(NamedTuple):
    """A system that is up, and what its runs come to undisturbed."""

    site: Site
    expected: dict[str, Outcome]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with Site(tmp_path_factory.mktemp("faults")) as site:
        yield Up(site, asyncio.run(_started(site)))


async def _started(site: Site) -> dict[str, Outcome]:
    await site.up()
    return await undisturbed(site)


async def _struck(site: Site, expected: dict[str, Outcome], name: str, numbers: tuple[int, ...]) -> None:
    for number in numbers:
        record = await one_round(site, FAULTS[name], number, expected)
        assert record.findings == []
        assert (record.ended, record.lost, record.doubled) == (record.accepted, 0, 0)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)])
async def test_no_run_is_lost_or_doubled_and_all_end_as_undisturbed(up: Up, name: str) -> None:
    await _struck(up.site, up.expected, name, (QUICK | LONG)[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
async def test_the_same_holds_for_long_stops_and_for_a_thousand_runs(up: Up, name: str) -> None:
    await _struck(up.site, up.expected, name, SLOW[name])
