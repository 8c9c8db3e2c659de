"""How soon the dashboard can be used with a thousand runs in its list, and how soon that list shows what has happened.

In a real browser, over a service in this process. A page can be used once two frames of it were drawn and its script
has run. What happens is timed from before the service is told of it until the open page says so.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from serve.http.dashboard.addresses import DASHBOARD, run_address
from tests.benchmarks.conftest import TellRows
from tests.documentation.site import BROWSER
from tests.documentation.test_site import MUST_RUN
from tests.doors.browser import Tab, open_browser
from tests.doors.dashboard_browsing import address, asked
from tests.doors.http_site import Site, open_site, until
from tests.doors.test_dashboard_browser import CIRCLE, EVENTS, LISTED, ended

# Promised for a machine that does nothing else; under others' load the figures are told and held against nothing.
MOST_S = 1.0
ROUNDS = 5
TOPIC = "Dashboard"
ROWS = "document.querySelectorAll('#rows tr').length"

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not MUST_RUN and BROWSER is None, reason="there is no Chromium to open it: .ci/browser"),
]


def is_loaded() -> bool:
    """Whether more was to be done in the last minutes than this machine's processors can do."""
    return os.getloadavg()[1] > len(os.sched_getaffinity(0))


async def until_usable_s(tab: Tab, page: str) -> float:
    """How long it takes until a page can be used."""
    began_s = time.perf_counter()
    await tab.open(page)
    await tab.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.perf_counter() - began_s


async def until_listed_s(site: Site, tab: Tab, page: str) -> tuple[float, float]:
    """How long it takes until a run that begins is in the open list of a thousand, and its end in its row."""
    site.hold.clear()
    await opened_live(tab, page)
    await site.hosted.clock.advance(1)  # later than those of the list
    began_s = time.perf_counter()
    run_id = await asked(site, "hold this")
    await tab.until(f"document.getElementById('row-{run_id}')")
    begin_seen_s = time.perf_counter() - began_s
    assert await tab.value(ROWS) == LISTED
    return begin_seen_s, await until_end_seen_s(site, tab, f"document.querySelector('#row-{run_id} .badge')")


async def until_seen_on_its_page_s(site: Site, tab: Tab) -> float:
    """How long it takes until the end of a run is on its open page."""
    site.hold.clear()
    run_id = await asked(site, "hold this")
    await opened_live(tab, address(site, run_address(run_id)))
    await tab.until("document.querySelector('.stage.active')")
    return await until_end_seen_s(site, tab, "document.querySelector('#run-state .badge')")


async def opened_live(tab: Tab, page: str) -> None:
    await tab.open(page)
    await tab.until("document.getElementById('connection').textContent === 'Live'")


async def until_end_seen_s(site: Site, tab: Tab, badge: str) -> float:
    await tab.until(f"{badge}.textContent === 'running'")
    began_s = time.perf_counter()
    site.hold.set()
    await tab.until(f"{badge}.textContent === 'completed'")
    return time.perf_counter() - began_s


async def measured(folder: Path) -> dict[str, list[float]]:
    async with open_site(folder / "site") as site, open_browser(folder / "profile") as tab:
        await ended(site, LISTED)
        await tab.open(address(site))
        page = address(site, f"{DASHBOARD}?limit={LISTED}")
        usable_s = [await until_usable_s(tab, page) for _ in range(ROUNDS)]
        assert await tab.value(ROWS) == LISTED
        seen = [await until_listed_s(site, tab, page) for _ in range(ROUNDS)]
        on_page_s = [await until_seen_on_its_page_s(site, tab) for _ in range(ROUNDS)]
        assert tab.console == []
        await tab.open("about:blank")
    return {
        f"a list of {LISTED:,} runs can be used": usable_s,
        f"a run that begins is in an open list of {LISTED:,}": [begin_s for begin_s, _ in seen],
        "its end is in its row there": [end_s for _, end_s in seen],
        "its end is on its open page": on_page_s,
    }


async def of_a_long_run(folder: Path) -> dict[str, list[float]]:
    async with open_site(folder / "long", pipeline=CIRCLE) as site, open_browser(folder / "profile-long") as tab:
        run_id = await asked(site, "hold this")
        site.hold.set()
        await until(lambda: not site.log.unfinished(), 240)
        assert len(site.log.events(run_id)) >= EVENTS
        pages = {"its page can be used": run_address(run_id), "its decisions": run_address(run_id, "decisions")}
        found = {
            name: [await until_usable_s(tab, address(site, page)) for _ in range(ROUNDS)]
            for name, page in pages.items()
        }
        assert tab.console == []
        return found


def hold(found: dict[str, list[float]], case: str, tell_rows: TellRows) -> None:
    """Tell the figures, and hold the middle of each against what is promised."""
    middle = {name: statistics.median(each) for name, each in found.items()}
    tell_rows(TOPIC, case, {name: {"median, s": middle[name], "longest, s": max(each)} for name, each in found.items()})
    assert max(middle.values()) <= MOST_S or is_loaded(), found


@pytest.mark.benchmark(group="dashboard")
def test_a_thousand_runs_can_be_used_and_what_happens_is_seen_within_a_second(
    benchmark: Any, tell_rows: TellRows, tmp_path: Path
) -> None:
    found = benchmark.pedantic(lambda: asyncio.run(measured(tmp_path)), rounds=1)
    if found is not None:
        hold(found, f"{LISTED:,} runs listed", tell_rows)


@pytest.mark.benchmark(group="dashboard")
def test_a_run_of_ten_thousand_events_can_be_used_within_a_second(
    benchmark: Any, tell_rows: TellRows, tmp_path: Path
) -> None:
    found = benchmark.pedantic(lambda: asyncio.run(of_a_long_run(tmp_path)), rounds=1)
    if found is not None:
        hold(found, f"a run of {EVENTS:,} events", tell_rows)
