"""Faults of the machine under a system: its clock, its disk, its database, one of its nodes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.faults.fault_places import CannotStrike
from tests.faults.fault_rounds import undisturbed
from tests.faults.fault_site import Site
from tests.faults.fault_table import FAULTS, Record, one_round

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]


def struck(folder: Path, name: str, numbers: tuple[int, ...]) -> list[Record]:
    """Rounds of one fault on a site of its own."""

    async def rounds(site: Site) -> list[Record]:
        await site.up()
        expected = await undisturbed(site)
        return [await one_round(site, FAULTS[name], number, expected) for number in numbers]

    try:
        with FAULTS[name].site(folder) as site:
            return asyncio.run(rounds(site))
    except CannotStrike as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("clock-step", (0, 1, 2, 3)),
        pytest.param("disk-full", (0, 1), marks=pytest.mark.long),
        pytest.param("postgres-restart", (0, 1, 3), marks=pytest.mark.slow),
        pytest.param("postgres-away", (3,), marks=pytest.mark.slow),
        pytest.param("node-removed", (0, 1), marks=pytest.mark.slow),
    ],
)
def test_no_run_is_lost_or_doubled_and_all_end_as_undisturbed_there(
    tmp_path: Path, name: str, numbers: tuple[int, ...]
) -> None:
    for record in struck(tmp_path, name, numbers):
        assert record.findings == []
        assert (record.ended, record.lost, record.doubled) == (record.accepted, 0, 0)
