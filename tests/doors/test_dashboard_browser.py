"""The dashboard in a real browser: live within a second, by keyboard, on a phone, without a script, for everybody."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_store
from runtime.testing import PipelineBuilder
from serve.http.dashboard.addresses import DASHBOARD, LOGIN, SYSTEM, run_address
from serve.run_page import RunRecord, run_page
from tests.documentation.site import BROWSER
from tests.documentation.test_site import MUST_RUN
from tests.doors.axe import axe, violations
from tests.doors.browser import DESKTOP, PHONE, TABLET, Tab, open_browser
from tests.doors.dashboard_browsing import accepted, address, asked, log_in, seen
from tests.doors.http_site import PIPELINE, Site, open_site, until
from tests.doors.test_http_tokens import Door
from tests.doors.test_run_page import DOCUMENT

__all__ = ["axe"]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not MUST_RUN and BROWSER is None, reason="there is no Chromium to open it: .ci/browser"),
]

LISTED = 1_000
EVENTS = 10_000
HOSTILE = "<img src=x onerror='window.ran = 1'><script>window.ran = 1</script></textarea>\u202eback\u2066 why cite"
QUESTIONS = ("Where? cite", "<b>markup</b>\u202e", "fail here", "\u05d0\u05d1\u05d2 of it? cite", "word " * 60)

CIRCLE = (
    PipelineBuilder("sample", max_agent_hops=EVENTS // 2, max_iterations=EVENTS)
    .stage("look", default_next="look")
    .rule("route", "on", "integration")
    .stage("integration")
    .edge_limit("look", "look", EVENTS)
    .build()
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path / "site") as opened:
        yield opened


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with open_browser(tmp_path / "profile") as opened:
        yield opened
        assert opened.console == []


async def ended(site: Site, count: int) -> None:
    for number in range(count):
        await asked(site, f"{number}: {QUESTIONS[number % len(QUESTIONS)]}")
    await until(lambda: not site.log.unfinished(), 240)


async def test_every_page_is_for_everybody_on_every_screen(site: Site, tab: Tab, axe: str) -> None:
    await ended(site, 6)
    held, waiting, reviewed = [await asked(site, question) for question in ("hold this", "why that", "review this")]
    await until(lambda: {site.hosted.runner.envelope(run).lifecycle for run in (waiting, reviewed)} == {"waiting"})
    done = next(run.run_id for run in site.log.runs(9, finished=True))
    pages = [DASHBOARD, SYSTEM, LOGIN, *(run_address(run) for run in (held, waiting, reviewed, done))]
    for path in (*pages, run_address(done, "decisions")):
        for size in (DESKTOP, TABLET, PHONE):
            for dark in (False, True):
                await tab.look(size, dark, still=True)
                await tab.open(address(site, path))
                assert await violations(tab, axe) == [], (path, size, dark)
                assert await tab.value("document.documentElement.scrollWidth <= innerWidth"), (path, size)


async def test_a_thousand_runs_are_listed_with_less_than_a_second_of_work(site: Site, tab: Tab) -> None:
    await ended(site, LISTED)
    before_s, served_s = await tab.worked_s(), time.process_time()
    await tab.open(address(site, f"{DASHBOARD}?limit={LISTED}"))
    assert await tab.value("document.querySelectorAll('#rows tr').length") == LISTED
    worked_s = await tab.worked_s() - before_s
    assert worked_s + time.process_time() - served_s < 1


async def test_what_happens_is_seen(site: Site, tab: Tab) -> None:
    await tab.open(address(site))
    await tab.until("document.getElementById('connection').textContent === 'Live'")
    run_id = await asked(site, "hold this")
    await tab.until(f"document.getElementById('row-{run_id}')")
    await tab.until("document.querySelector('#now .card')")
    await tab.open(address(site, run_address(run_id)))
    await tab.until("document.querySelector('.stage.active')")
    site.hold.set()
    await tab.until("document.querySelector('#run-state .badge').textContent === 'completed'")
    await tab.until("document.getElementById('run-answer').innerText.includes('Answer to hold this')")


async def is_only_text(tab: Tab) -> None:
    """The page shows what a run holds, its marks escaped, and has made neither an element nor an order of it."""
    shown = await tab.value(
        "document.body.innerText + [...document.querySelectorAll('textarea')].map(each => each.value)"
    )
    assert "<img src=x onerror='window.ran = 1'><script>" in shown
    assert not re.search("[\u202e\u2066]", shown)
    assert "\\u202eback" in shown
    assert await tab.value("document.querySelectorAll('img, script:not([src])').length + (window.ran ?? 0)") == 0


async def test_markup_and_marks_of_direction_in_what_a_run_holds_stay_text_in_the_browser(site: Site, tab: Tab) -> None:
    await tab.open(address(site))
    await tab.until("document.getElementById('connection').textContent === 'Live'")
    run_id = await asked(site, HOSTILE)
    await tab.until(f"document.getElementById('row-{run_id}')")
    await is_only_text(tab)
    await tab.open(address(site, run_address(run_id)))
    await tab.until("document.querySelector('textarea#text')")
    await is_only_text(tab)
    interrupt = site.hosted.runner.envelope(run_id).interrupt
    assert interrupt is not None
    await site.hosted.runner.answer(run_id, interrupt.id, "address:loopback", InterruptResponse(HOSTILE))
    await tab.until("document.getElementById('run-answer').innerText.includes('Answer to')")
    await is_only_text(tab)
    for path in (DASHBOARD, run_address(run_id), run_address(run_id, "decisions")):
        await tab.open(address(site, path))
        await is_only_text(tab)


async def test_a_run_of_ten_thousand_events_has_small_pages(tmp_path: Path, tab: Tab) -> None:
    async with open_site(tmp_path / "site", pipeline=CIRCLE) as site:
        run_id = await asked(site, "hold this")
        site.hold.set()
        await until(lambda: not site.log.unfinished(), 240)
        assert len(site.log.events(run_id)) >= EVENTS
        for path in (run_address(run_id), run_address(run_id, "decisions")):
            await tab.open(address(site, path))
            assert await tab.value("document.documentElement.innerHTML.length") < 200_000


async def test_a_person_asks_pauses_and_answers_by_keyboard_alone(site: Site, tab: Tab) -> None:
    await tab.open(address(site))
    await tab.press("Tab", 9)
    assert await tab.value("document.activeElement.className") == "skip"
    await tab.press("Enter", 13, "\r")
    assert await tab.value("document.activeElement.id") == "content"
    for _ in range(20):
        await tab.press("Tab", 9)
        if await tab.value("document.activeElement.id") == "question":
            break
    assert await tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    await tab.call("Input.insertText", text="why this")
    for _ in range(10):
        await tab.press("Tab", 9)
        if await tab.value("document.activeElement.tagName") == "BUTTON":
            break
    await tab.press("Enter", 13, "\r")
    await tab.until("document.querySelector('textarea#text')")
    await tab.value("document.querySelector('textarea#text').focus()")
    await tab.call("Input.insertText", text="that one")
    # The page is kept up to date meanwhile, and what somebody writes stays.
    await asyncio.sleep(0)
    assert await tab.value("document.querySelector('textarea#text').value") == "that one"
    await tab.press("Tab", 9)
    await tab.press("Enter", 13, "\r")
    await tab.until("document.querySelector('#run-state .badge')?.textContent === 'completed'")


async def test_what_stays_what_it_is_keeps_its_place_in_a_page_that_changes(site: Site, tab: Tab) -> None:
    await asked(site, "hold this")
    await tab.open(address(site))
    await tab.until("document.querySelector('#now .card a')")
    await tab.value("window.kept = document.querySelector('#now .card a'); kept.focus(); 0")
    waiting = await asked(site, "why that")
    await tab.until(
        "document.querySelectorAll('#now .card').length === 2 && document.querySelectorAll('#rows tr').length === 2"
    )
    assert await tab.value("kept.isConnected && document.activeElement === kept")
    await site.hosted.runner.cancel(waiting, "")
    await tab.until("document.querySelectorAll('#now .card').length === 1")
    assert await tab.value("kept.isConnected && document.activeElement === kept")
    assert await tab.value("document.querySelectorAll('#now .card').length") == 1


async def test_a_page_that_cannot_be_seen_has_no_stream_and_is_up_to_date_when_it_is_seen(site: Site, tab: Tab) -> None:
    run_id = await asked(site, "hold this")
    await tab.open(address(site, run_address(run_id)))
    await tab.until("document.getElementById('connection').textContent === 'Live'")
    streams = site.service.bounds
    assert streams["event_streams"]["used"] == 1
    await seen(tab, is_seen=False)
    await until(lambda: site.service.bounds["event_streams"]["used"] == 0)
    site.hold.set()
    await until(lambda: not site.log.unfinished())
    assert await tab.value("document.querySelector('#run-state .badge').textContent") == "running"
    await seen(tab, is_seen=True)
    await tab.until("document.querySelector('#run-state .badge').textContent === 'completed'")


async def test_what_somebody_writes_stays_where_another_has_answered_meanwhile(site: Site, tab: Tab) -> None:
    run_id = await _being_written(site, tab)
    interrupt = site.hosted.runner.envelope(run_id).interrupt
    assert interrupt is not None
    await site.hosted.runner.answer(run_id, interrupt.id, "address:loopback", InterruptResponse("that"))
    await tab.until("document.querySelector('#run-question .late')?.textContent.includes('not sent')")
    assert await tab.value("document.querySelector('textarea#text').value") == "a long thought"
    assert await tab.value("document.querySelector('#run-question button').disabled")
    await tab.value("document.querySelector('textarea#text').value = ''; document.activeElement.blur(); 0")
    await tab.until("document.getElementById('run-question').innerText === ''")


async def test_a_part_that_was_opened_stays_open_when_what_stands_before_it_goes(site: Site, tab: Tab) -> None:
    run_id = await asked(site, "hold this")
    await tab.open(address(site, run_address(run_id)))
    await tab.until("document.getElementById('connection').textContent === 'Live'")
    await tab.value(
        "document.getElementById('cancel-menu').open = true; document.getElementById('reason').value = ''; 0"
    )
    await site.hosted.runner.pause(run_id, "")
    site.hold.set()
    await tab.until("document.querySelector('#run-state .badge').textContent === 'paused'")
    await tab.until("!document.querySelector('form[action$=\"/pause\"]')")
    assert await tab.value("document.getElementById('cancel-menu').open")


async def test_a_page_of_somebody_else_is_loaded_anew(site: Site, tab: Tab) -> None:
    await asked(site, "hold this")
    await tab.open(address(site))
    await tab.until("document.getElementById('connection').textContent === 'Live'")
    await tab.value("window.isOld = true; document.body.dataset.viewer = 'token:somebody'; 0")
    await seen(tab, is_seen=False)
    await seen(tab, is_seen=True)
    await tab.until("window.isOld === undefined && document.body.dataset.viewer.length === 16")


async def test_a_text_whose_question_was_replaced_says_so(site: Site, tab: Tab) -> None:
    await _being_written(site, tab)
    html = 'document.getElementById(\'run-question\').innerHTML.replace(/value="[^"]*-q1"/, \'value="later"\')'
    await tab.value(f"put('run-question', {html}); 0")
    assert await tab.value("document.querySelector('#run-question .late') !== null")
    assert await tab.value("document.querySelector('textarea#text').value") == "a long thought"


async def test_a_reviewer_changes_the_text_and_lets_it_out(site: Site, tab: Tab) -> None:
    run_id = await asked(site, "review this")
    await until(lambda: site.hosted.runner.envelope(run_id).lifecycle == "waiting")
    await tab.open(address(site, run_address(run_id)))
    await tab.value("document.getElementById('asks-text-0-menu').open = true; 0")
    text = await tab.value("document.getElementById('asks-text-0').value")
    assert text.startswith("See [a b.py:3-4].\n\n```")
    await tab.value("document.getElementById('asks-text-0').value += '\\nAnd more.'; 0")
    await tab.after_load("document.querySelector('button[value=modify]').click()")
    await until(lambda: not site.log.unfinished())
    told = site.hosted.runner.envelope(run_id).outputs["look"]
    assert (told["decision"], told["data"]) == ("modify", {"final_response": f"{text}\nAnd more."})


@pytest.mark.parametrize("width", [320, 560, 740, 800, 960, 1087, 1089, 1280])
async def test_questions_can_be_read_in_a_list_of_any_width(site: Site, tab: Tab, width: int) -> None:
    await ended(site, 5)
    await tab.look((width, 900))
    await tab.open(address(site))
    cells = "[...document.querySelectorAll('#rows .question')].map(each => each.getBoundingClientRect().width)"
    assert await tab.value(f"Math.min(...{cells})") >= 200
    assert await tab.value("document.documentElement.scrollWidth <= innerWidth")


async def test_a_long_mark_does_not_widen_the_page_of_a_phone(site: Site, tab: Tab) -> None:
    run_id = await asked(site, "cite long")
    await until(lambda: not site.log.unfinished())
    for width in (320, 390):
        await tab.look((width, 800))
        await tab.open(address(site, run_address(run_id)))
        assert await tab.value("document.querySelector('.answer a').innerText.length") > 100
        assert await tab.value("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [320, 375])
async def test_how_much_of_its_bounds_a_run_has_used_is_seen_on_a_phone(
    site: Site, tab: Tab, tmp_path: Path, width: int
) -> None:
    run_id = await asked(site, "Where?")
    await until(lambda: not site.log.unfinished())
    await tab.look((width, 800))
    await tab.open(address(site, run_address(run_id)))
    hidden = "(box => box.scrollWidth - box.clientWidth)(document.querySelector('meter').closest('.scrolls'))"
    assert await tab.value(hidden) == 0
    alone = tmp_path / "run.html"
    alone.write_text(run_page(RunRecord(site.hosted.runner.envelope(run_id), DOCUMENT, (), PIPELINE)), encoding="utf-8")
    await tab.open(alone.as_uri())
    assert await tab.value(hidden) == 0


SIDEWAYS = "(box => box.scrollWidth - box.clientWidth)(document.querySelector('[aria-label=Stages]'))"
# What each cell of the first visit shows, in its place on the page: from the top, and from the left.
FIRST_VISIT = """[...document.querySelectorAll('[aria-label=Stages] tbody tr')[0].cells]
    .map(each => [getComputedStyle(each, '::before').content, each.getBoundingClientRect()])
    .map(([head, box]) => [(head.split('"')[1] || '').trim(), box.left >= 0 && box.right <= innerWidth])"""


@pytest.mark.parametrize("width", [320, 375])
async def test_the_stages_of_a_run_are_read_on_a_phone_without_scrolling_sideways(
    site: Site, tab: Tab, tmp_path: Path, axe: str, width: int
) -> None:
    run_id = await asked(site, "fail here")
    await until(lambda: not site.log.unfinished())
    alone = tmp_path / "run.html"
    alone.write_text(run_page(RunRecord(site.hosted.runner.envelope(run_id), DOCUMENT, (), PIPELINE)), encoding="utf-8")
    for page in (address(site, run_address(run_id)), alone.as_uri()):
        await tab.look((width, 800))
        await tab.open(page)
        assert await tab.value(SIDEWAYS) == 0
        heads = ["visit", "stage", "result", "ms", "tools", "model"]
        assert await tab.value(FIRST_VISIT) == [*([head, True] for head in heads), ["", True]]
        assert await violations(tab, axe) == []
        assert (await names_of_roles(tab, "columnheader"))[-7:] == [*heads, "when"]
        await tab.look()
        assert await tab.value(FIRST_VISIT) == [["", True]] * 7


async def names_of_roles(tab: Tab, role: str) -> list[str]:
    """What a screen reader is told of the parts with a role, in their order."""
    nodes = (await tab.call("Accessibility.getFullAXTree"))["nodes"]
    return [each["name"]["value"] for each in nodes if each.get("role", {}).get("value") == role and "name" in each]


async def test_a_filter_waits_until_it_is_sent(site: Site, tab: Tab) -> None:
    await tab.open(address(site))
    await tab.value("document.querySelector('select[name=state]').focus()")
    await tab.press("ArrowDown", 40)
    await tab.press("ArrowDown", 40)
    assert await tab.value("document.activeElement.value + location.search") == "ended"


async def test_a_question_that_was_sent_too_late_stands_in_its_field_after_the_login(tmp_path: Path, tab: Tab) -> None:
    async with open_site(tmp_path / "site", told={"tokens_required": True}) as site:
        stores = open_store(site.store, site.hosted.clock)
        door = Door(site, stores.part(TOKENS))
        token = door.token("ann")
        await tab.open(address(site))
        await log_in(tab, token)
        await seen(tab, is_seen=False)
        door.tokens.revoke("ann")
        await door.until_status(token, 401)
        await tab.value("document.getElementById('question').value = 'Where is it?'; 0")
        await tab.value("document.querySelector('[name=session]').value = 'tour'; 0")
        await tab.value("document.querySelector('[name=wait]').checked = false; 0")
        await tab.after_load("document.querySelector('form[action$=\"/ask\"] button').click()")
        await tab.until("document.getElementById('fault').innerText.includes('not carried out')")
        await log_in(tab, await accepted(door, "ann"))
        await tab.until("document.getElementById('question').value === 'Where is it?'")
        assert await tab.value("document.querySelector('[name=session]').value") == "tour"
        assert not await tab.value("document.querySelector('[name=wait]').checked")
        assert await tab.value("sessionStorage.length") == 0
        assert site.log.runs(5) == []
        await tab.open("about:blank")
        stores.close()


async def test_what_is_being_written_when_the_session_ends_comes_back_too(tmp_path: Path, tab: Tab) -> None:
    async with open_site(tmp_path / "site", told={"tokens_required": True}) as site:
        stores = open_store(site.store, site.hosted.clock)
        door = Door(site, stores.part(TOKENS))
        await tab.open(address(site))
        await log_in(tab, door.token("ann"))
        await tab.until("document.getElementById('connection').textContent === 'Live'")
        await tab.value("document.getElementById('question').value = 'Where is it?'; 0")
        door.tokens.revoke("ann")
        await tab.until(f"location.pathname === '{LOGIN}' && document.getElementById('token')")
        assert "revoked" in await tab.value("document.getElementById('fault').innerText")
        await log_in(tab, await accepted(door, "bob"))
        await tab.until("document.getElementById('question')")
        assert await tab.value("document.getElementById('question').value") == ""
        await tab.open("about:blank")
        stores.close()
    tab.console = [line for line in tab.console if "ERR_INCOMPLETE" not in line]


async def test_after_a_restart_of_the_service_the_forms_of_an_open_page_work(tmp_path: Path, tab: Tab) -> None:
    async with open_site(tmp_path / "site") as site:
        await tab.open(address(site))
        await tab.until("document.getElementById('connection').textContent === 'Live'")
        await tab.value("document.querySelector('input[name=form_token]').value = 'of an earlier service'; 0")
        await seen(tab, is_seen=False)
        await seen(tab, is_seen=True)
        await tab.until("document.querySelector('input[name=form_token]').value.length === 64")
        await tab.value("document.getElementById('question').value = 'Where?'; 0")
        await tab.after_load("document.querySelector('form[action$=\"/ask\"] button').click()")
        await until(lambda: site.log.runs(5, finished=True))
        await tab.open("about:blank")


async def _being_written(site: Site, tab: Tab) -> RunId:
    """A run that waits, on whose page somebody is writing the answer."""
    run_id = await asked(site, "why that")
    await until(lambda: site.hosted.runner.envelope(run_id).lifecycle == "waiting")
    await tab.open(address(site, run_address(run_id)))
    await tab.until("document.getElementById('connection').textContent === 'Live'")
    await tab.value("document.querySelector('textarea#text').focus()")
    await tab.call("Input.insertText", text="a long thought")
    return run_id


async def test_without_a_script_pages_are_read_and_forms_work(site: Site, tab: Tab) -> None:
    await tab.call("Emulation.setScriptExecutionDisabled", value=True)
    await tab.open(address(site))
    await tab.value("document.getElementById('question').value = 'Where? cite'")
    await tab.after_load("document.querySelector('form[action$=\"/ask\"] button').click()")
    await until(lambda: not site.log.unfinished())
    await tab.call("Page.reload")
    await tab.until("document.getElementById('run-answer').innerText.includes('Answer to Where? cite')")


async def test_a_session_that_ends_leads_to_the_login_and_back(tmp_path: Path, tab: Tab) -> None:
    async with open_site(tmp_path / "site", told={"tokens_required": True}) as site:
        stores = open_store(site.store, site.hosted.clock)
        door = Door(site, stores.part(TOKENS))
        tokens = door.token("ann"), door.token("bob")
        await tab.open(address(site, SYSTEM))
        await log_in(tab, tokens[0])
        assert await tab.value("location.pathname") == SYSTEM
        await tab.until("document.getElementById('connection').textContent === 'Live'")
        door.tokens.revoke("ann")
        await tab.until(f"location.pathname === '{LOGIN}' && document.readyState === 'complete'")
        await log_in(tab, tokens[1])
        # The login page may have told that it is loaded only after the form was sent.
        await tab.until(f"location.pathname === '{SYSTEM}' && document.readyState === 'complete'")
        assert await tab.value("document.cookie") == ""
        await tab.open("about:blank")
        stores.close()
    tab.console = [line for line in tab.console if "ERR_INCOMPLETE" not in line]
