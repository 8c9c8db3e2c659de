"""Several tabs of one browser at the dashboard: a session that ends, a login, and a logout reach all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_store
from serve.http.dashboard.addresses import LOGIN, SYSTEM, run_address
from tests.documentation.site import BROWSER
from tests.documentation.test_site import MUST_RUN
from tests.doors.browser import Tab, open_browser, open_tab
from tests.doors.dashboard_browsing import accepted, address, asked, log_in, seen
from tests.doors.http_site import open_site, until
from tests.doors.test_http_tokens import Door

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not MUST_RUN and BROWSER is None, reason="there is no Chromium to open it: .ci/browser"),
]
LIVE = "document.getElementById('connection').textContent === 'Live'"
AT_LOGIN = f"location.pathname === '{LOGIN}' && document.getElementById('token')"


@asynccontextmanager
async def two_tabs(folder: Path) -> AsyncIterator[tuple[Door, Tab, Tab]]:
    """A service that asks for tokens, and two tabs of a browser."""
    async with open_site(folder / "site", told={"tokens_required": True}) as site:
        stores = open_store(site.store, site.hosted.clock)
        async with open_browser(folder / "profile") as first, open_tab(first.browser) as second:
            yield Door(site, stores.part(TOKENS)), first, second
            for tab in (first, second):
                await tab.open("about:blank")
        stores.close()


async def test_a_revoked_token_leads_both_tabs_to_the_login_and_says_why(tmp_path: Path) -> None:
    async with two_tabs(tmp_path) as (door, first, second):
        site = door.site
        await first.open(address(site))
        await log_in(first, door.token("ann"))
        await second.open(address(site, SYSTEM))
        for tab in (first, second):
            await tab.until(LIVE)
        door.tokens.revoke("ann")
        for tab in (first, second):
            await tab.until(AT_LOGIN)
            assert "revoked" in await tab.value("document.getElementById('fault').innerText")
        token = await accepted(door, "ann")
        await log_in(first, token)
        await first.until(LIVE)
        await log_in(second, token)
        assert await second.value("location.pathname") == SYSTEM
        await second.until(LIVE)
        await first.until(LIVE)


async def test_what_is_written_in_two_tabs_comes_back_in_each(tmp_path: Path) -> None:
    async with two_tabs(tmp_path) as (door, first, second):
        site = door.site
        await first.open(address(site))
        await log_in(first, door.token("ann"))
        await second.open(address(site))
        for number, tab in enumerate((first, second)):
            await tab.until(LIVE)
            await tab.value(f"document.getElementById('question').value = 'Where is {number}?'; 0")
        door.tokens.revoke("ann")
        for tab in (first, second):
            await tab.until(AT_LOGIN)
        token = await accepted(door, "ann")
        for number, tab in enumerate((first, second)):
            await log_in(tab, token)
            await tab.until(f"document.getElementById('question')?.value === 'Where is {number}?'")


async def test_a_logout_in_one_tab_leads_the_other_to_the_login(tmp_path: Path) -> None:
    async with two_tabs(tmp_path) as (door, first, second):
        site = door.site
        await first.open(address(site))
        await log_in(first, door.token("ann"))
        await second.open(address(site, SYSTEM))
        await second.until(LIVE)
        await first.after_load("document.querySelector('.who button').click()")
        await second.until(AT_LOGIN)


async def test_a_form_of_a_tab_that_was_behind_goes_out_as_the_one_who_is_logged_in_or_not_at_all(
    tmp_path: Path,
) -> None:
    async with two_tabs(tmp_path) as (door, first, second):
        site = door.site
        await first.open(address(site))
        await log_in(first, door.token("ann"))
        await second.open(address(site))
        await second.until(LIVE)
        await seen(second, is_seen=False)
        await first.after_load("document.querySelector('.who button').click()")
        await log_in(first, door.token("bob"))
        await second.value("document.getElementById('question').value = 'Where is hers?'; 0")
        await second.after_load("document.querySelector('form[action$=\"/ask\"] button').click()")
        assert "earlier session" in await second.value("document.body.innerText")
        assert site.log.runs(5) == []
        await second.after_load("history.back()")
        await second.until("document.querySelector('.who').innerText.includes('bob')")
        await second.until(LIVE)
        await second.value("document.getElementById('question').value = 'Where is his?'; 0")
        await second.after_load("document.querySelector('form[action$=\"/ask\"] button').click()")
        await until(lambda: site.log.runs(5, finished=True))
        assert [run.user_id for run in site.log.runs(5)] == ["token:bob"]


async def test_a_run_that_one_tab_answers_takes_the_form_from_the_other(tmp_path: Path) -> None:
    async with two_tabs(tmp_path) as (door, first, second):
        site = door.site
        await first.open(address(site))
        await log_in(first, door.token("ann"))
        await first.value("document.getElementById('question').value = 'why that'; 0")
        await first.after_load("document.querySelector('form[action$=\"/ask\"] button').click()")
        run_id = site.log.runs(1)[0].run_id
        await first.until("document.querySelector('textarea#text')")
        await second.open(address(site, run_address(run_id)))
        await second.until("document.querySelector('textarea#text')")
        for tab in (first, second):
            await tab.until(LIVE)
        await first.value("document.querySelector('textarea#text').value = 'that one'; 0")
        await first.value("document.querySelectorAll('#run-question button').forEach(each => each.click()); 0")
        await second.until("document.querySelector('#run-state .badge')?.textContent === 'completed'")
        await second.until("document.getElementById('run-question').innerText === ''")
        await until(lambda: not site.log.unfinished())


class Muted:
    """Stands before a service: while it does not speak, streams send nothing and stay open."""

    def __init__(self) -> None:
        self.speaks = asyncio.Event()
        self.speaks.set()

    def around(self, app: ASGIApp) -> ASGIApp:
        async def muted(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_later(message: Message) -> None:
                await self.speaks.wait()
                await send(message)

            await app(scope, receive, send_later if str(scope.get("path")).endswith("/live") else send)

        return muted


async def test_a_page_whose_connection_was_cut_without_a_word_says_so_and_connects_anew(tmp_path: Path) -> None:
    line = Muted()
    async with (
        open_site(tmp_path / "site", around=line.around, stream_alive_s=0.2) as site,
        open_browser(tmp_path / "profile") as tab,
    ):
        await tab.open(address(site))
        await tab.until(LIVE)
        line.speaks.clear()
        await tab.until("document.getElementById('connection').textContent.includes('trying again')")
        run_id = await asked(site, "hold this")
        line.speaks.set()
        await tab.until(LIVE)
        await tab.until(f"document.getElementById('row-{run_id}')")
        await tab.open("about:blank")
