"""Who gets into the dashboard and how: login and logout, what a cookie opens, and forms of other sites' pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.primitives.clock import SystemClock
from runtime.run.bearer_tokens import TokenRecord
from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_store
from serve.http.access.admission import TokenAdmission
from serve.http.access.token_check import CHECKED_EVERY_S, token_check
from serve.http.dashboard.addresses import (
    ASK,
    DASHBOARD,
    LIVE,
    LOGIN,
    LOGOUT,
    SYSTEM,
    login_address,
    own_page,
    run_address,
    with_query,
)
from serve.http.dashboard.page_admission import PageAdmission
from serve.http.dashboard.page_sessions import SESSION_MS, SESSIONS_OF_TOKEN, PageSessions, cookie_name
from tests.doors.dashboard_forms import FORM, Visitor, text_of
from tests.doors.http_site import MESSAGES, RUNS, Site, open_site, routed, until
from tests.doors.test_http_tokens import Door

TOKEN = TokenRecord("0" * 16, "ann", b"", ("ask", "watch"), 0)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_site(tmp_path, told={"tokens_required": True}) as site:
        stores = open_store(site.store, SystemClock())
        yield Door(site, stores.part(TOKENS))
        stores.close()


async def test_on_loopback_without_tokens_the_pages_need_no_login(site: Site) -> None:
    for path in (DASHBOARD, SYSTEM, LOGIN):
        reply = await site.call("GET", path)
        assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "script-src 'self'" in reply.headers["content-security-policy"]
        assert "unsafe" not in reply.headers["content-security-policy"]
        assert reply.headers["cache-control"] == "no-store"
        assert "set-cookie" not in reply.headers


async def test_whoever_is_not_logged_in_is_led_to_the_login_and_back(guarded: Door) -> None:
    visitor = Visitor(guarded.site)
    reply = await visitor.read(f"{DASHBOARD}?state=open")
    assert reply.status == 303
    assert reply.headers["location"] == f"{LOGIN}?to=%2Fapi%2Fv1%2Fgovernance%2Fdashboard%3Fstate%3Dopen"
    assert f'value="{DASHBOARD}?state=open"' in (await visitor.read(reply.headers["location"])).body.decode()
    reply = await visitor.log_in(guarded.token("ann"), f"{DASHBOARD}?state=open")
    assert (reply.status, reply.headers["location"]) == (303, f"{DASHBOARD}?state=open")
    assert "ann" in text_of(await visitor.read())


async def test_the_cookie_is_for_pages_alone_and_out_of_reach_of_scripts(guarded: Door) -> None:
    visitor, token = Visitor(guarded.site), guarded.token("ann")
    cookie = (await visitor.log_in(token)).headers["set-cookie"]
    flags = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert flags == {"httponly", "samesite=strict", f"path={DASHBOARD}"}
    assert token not in cookie
    for method, path, body in (("GET", RUNS, None), ("POST", MESSAGES, {"message": "Where?"})):
        reply = await guarded.site.call(method, path, body, Cookie=visitor.cookie)
        reply.is_problem(401, "no_token")


async def test_behind_https_the_cookie_is_sent_over_https_alone(guarded: Door) -> None:
    reply = await Visitor(guarded.site).send(
        LOGIN, {"token": guarded.token("ann")}, Origin=f"https://localhost:{guarded.site.port}"
    )
    assert "Secure" in reply.headers["set-cookie"]


@pytest.mark.parametrize("given", ["", "none", "jeeves_x", f"jeeves_{'0' * 16}_{'0' * 64}", "\u202e<b>"])
async def test_a_token_that_is_not_accepted_gives_no_cookie(guarded: Door, given: str) -> None:
    reply = await Visitor(guarded.site).log_in(given)
    assert reply.status == 422
    assert "set-cookie" not in reply.headers
    assert "The token is not accepted" in text_of(reply)


async def test_a_revoked_token_ends_its_sessions(guarded: Door) -> None:
    visitor = Visitor(guarded.site)
    await visitor.log_in(guarded.token("ann"))
    assert (await visitor.read()).status == 200
    guarded.tokens.revoke("ann")
    async with asyncio.timeout(5):
        while (await visitor.read()).status == 200:
            pass
    assert (await visitor.read()).headers["location"] == LOGIN


async def test_logout_ends_the_session_and_its_streams(guarded: Door) -> None:
    visitor = Visitor(guarded.site)
    await visitor.log_in(guarded.token("ann"))
    head = f"GET {LIVE} HTTP/1.1\r\nHost: localhost:{guarded.site.port}\r\nCookie: {visitor.cookie}\r\n\r\n"
    streaming = asyncio.create_task(guarded.site.sends(head.encode()))
    await until(lambda: guarded.site.service.bounds["event_streams"]["used"])
    reply = await visitor.act(LOGOUT)
    assert (reply.status, reply.headers["location"]) == (303, LOGIN)
    assert "Max-Age=0" in reply.headers["set-cookie"]
    await until(lambda: not guarded.site.service.bounds["event_streams"]["used"])
    streaming.cancel()
    reply = await visitor.read()
    assert (reply.status, reply.headers["location"]) == (303, LOGIN)
    reply = await visitor.read(LOGIN)
    assert "The session has ended" in text_of(reply)
    # Other tabs of this browser are led here by the cookie as well.
    assert "set-cookie" not in reply.headers
    on = await visitor.read(with_query(LOGIN, to=SYSTEM, without="yes"))
    assert (on.status, on.headers["location"]) == (303, SYSTEM)
    assert "Max-Age=0" in on.headers["set-cookie"]


async def test_a_link_of_another_site_arrives_although_its_request_has_no_cookie(guarded: Door) -> None:
    reply = await Visitor(guarded.site).read(f"{DASHBOARD}?state=open", Sec_Fetch_Site="cross-site")
    assert reply.status == 200
    assert f'http-equiv="refresh" content="0;url={DASHBOARD}?state=open"' in reply.body.decode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": "https://elsewhere.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "", "Sec_Fetch_Site": ""}, 403),
        ({"Origin": "", "Sec_Fetch_Site": "", "Referer": "http://elsewhere.test/"}, 403),
        ({"Host": "elsewhere.test"}, 421),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content_Type": "application/json"}, 415),
    ],
)
async def test_a_form_of_another_site_does_nothing(site: Site, headers: dict[str, str], status: int) -> None:
    visitor = Visitor(site)
    fields = {"form_token": await visitor.form_token(), "question": "Where?", "key": "k"}
    reply = await visitor.send(ASK, fields, **headers)
    assert reply.status == status
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert await site.service.runs.running() == 0
    assert site.log.runs(9) == []
    assert (await visitor.send(LOGIN, {"token": "x"}, **headers)).status == status


async def test_a_form_without_the_value_of_its_page_does_nothing(site: Site) -> None:
    visitor = Visitor(site)
    token = await visitor.form_token()
    for given in ({}, {"form_token": ""}, {"form_token": token[:-1] + "g"}, {"form_token": "\u00e9"}):
        reply = await visitor.send(ASK, {"question": "Where?", **given})
        assert reply.status == 403
        assert "earlier session" in text_of(reply)
    assert site.log.runs(9) == []


async def test_the_value_of_a_form_is_of_one_session(guarded: Door) -> None:
    ann, bob = Visitor(guarded.site), Visitor(guarded.site)
    tokens = guarded.token("ann"), guarded.token("bob")
    await ann.log_in(tokens[0])
    await bob.log_in(tokens[1])
    assert (await bob.send(ASK, {"form_token": await ann.form_token(), "question": "Where?"})).status == 403


async def test_a_browser_that_sends_a_referer_alone_is_believed(site: Site) -> None:
    visitor = Visitor(site)
    fields = {"form_token": await visitor.form_token(), "question": "Where?"}
    reply = await visitor.send(ASK, fields, Origin="", Sec_Fetch_Site="", Referer=f"{visitor.origin}{DASHBOARD}")
    assert reply.status == 303


@pytest.mark.parametrize(
    "body", [b"%ff=1", b"a=1&a=2", b"a=%00", b"\xff", b"&".join([b"a%d=1" % n for n in range(51)])]
)
async def test_a_body_that_is_no_form_is_refused(site: Site, body: bytes) -> None:
    origin = Visitor(site).origin
    reply = await site.call("POST", ASK, body, Content_Type=FORM, Origin=origin)
    assert reply.status == 400
    assert "bad_request" in text_of(reply)


async def test_scopes_hold_on_pages(guarded: Door) -> None:
    seer, asker = Visitor(guarded.site), Visitor(guarded.site)
    tokens = guarded.token("seer", "watch"), guarded.token("asker", "ask")
    await seer.log_in(tokens[0])
    await asker.log_in(tokens[1])
    assert "<textarea" not in (await seer.read()).body.decode()
    assert (await seer.act(ASK, {"question": "Where?"})).status == 403
    page = (await asker.read()).body.decode()
    assert "<textarea" in page
    assert "data-live" not in page
    assert (await asker.read(SYSTEM)).status == 403
    reply = await asker.act(ASK, {"question": "Where?", "key": "k"})
    assert reply.headers["location"].startswith(f"{DASHBOARD}?started=")
    assert "has begun" in text_of(await asker.read(reply.headers["location"]))


async def test_the_run_of_another_looks_like_one_that_is_not_there_and_an_operator_steers_it(guarded: Door) -> None:
    ann, bob, op = (Visitor(guarded.site) for _ in range(3))
    tokens = guarded.token("ann"), guarded.token("bob"), guarded.token("op", "operate", "watch")
    for visitor, token in zip((ann, bob, op), tokens, strict=True):
        await visitor.log_in(token)
    run_id = await ann.ask("hold this")
    unknown = "x" * len(run_id)
    for part in ("", "decisions", "live"):
        found, missing = [await bob.read(run_address(name, part)) for name in (run_id, unknown)]
        assert (found.status, found.body) == (404, missing.body.replace(unknown.encode(), run_id.encode()))
    for action in ("cancel", "pause", "resume", "answer"):
        found, missing = [await bob.act(run_address(name, action)) for name in (run_id, unknown)]
        assert (found.status, found.body) == (404, missing.body.replace(unknown.encode(), run_id.encode()))
    assert (await bob.read(f"{DASHBOARD}?callers=all")).status == 403
    assert run_id not in text_of(await op.read())
    assert run_id in (await op.read(f"{DASHBOARD}?callers=all")).body.decode()
    assert (await op.act(run_address(run_id, "cancel"))).status == 303
    assert "user cancelled" in text_of(await ann.read(run_address(run_id)))


async def test_an_access_token_opens_pages_to_programs(guarded: Door) -> None:
    token = guarded.token("ann")
    assert (await guarded.asked(token, "GET", DASHBOARD)).status == 200
    reply = await guarded.asked(token[:-1] + "x", "GET", DASHBOARD)
    assert reply.status == 401


def test_login_leads_back_to_pages_of_the_dashboard_alone() -> None:
    for own in (DASHBOARD, f"{DASHBOARD}/runs/r-1", f"{DASHBOARD}?state=open&limit=200"):
        assert own_page(own) == own
    for other in (
        "",
        "//elsewhere.test",
        "https://elsewhere.test" + DASHBOARD,
        f"{DASHBOARD}@elsewhere.test",
        f"{DASHBOARD}.elsewhere.test",
        f"{DASHBOARD}/../../runs",
        f"{DASHBOARD}/%2e%2e/%2E%2E/health",
        f"{DASHBOARD}/%252e%252e/health",
        f"{DASHBOARD}//elsewhere.test",
        f"{DASHBOARD}\r\nset-cookie: a=b",
        f"{DASHBOARD}\\elsewhere",
        "/api/v1/runs",
        f"{DASHBOARD}/{'a' * 3_000}",
    ):
        assert own_page(other) == DASHBOARD


@pytest.mark.parametrize(("after_ms", "is_open"), [(-1, True), (0, False), (1, False)])
def test_a_session_ends_at_its_time(after_ms: int, is_open: bool) -> None:
    now = [1_000]
    sessions = PageSessions(lambda: now[0])
    value = sessions.open(TOKEN)
    session = sessions.find(value)
    assert session is not None
    now[0] += SESSION_MS + after_ms
    assert (sessions.find(value) is not None, session.ended.is_set()) == (is_open, not is_open)


async def test_what_is_open_of_a_session_ends_at_its_time(guarded: Door) -> None:
    now = [1_000]
    sessions = PageSessions(lambda: now[0])
    check = token_check(guarded.site.store, are_required=True)
    admission = PageAdmission(TokenAdmission(routed(guarded.site.app), check), check, sessions)
    guarded.token("ann")
    (token,) = guarded.tokens.all()
    cookie = f"{cookie_name('localhost')}={sessions.open(token)}".encode()
    admitted = await admission.admit(
        {"type": "http", "method": "GET", "path": LIVE, "headers": [(b"host", b"localhost"), (b"cookie", cookie)]}
    )
    assert admitted is not None
    now[0] += SESSION_MS - 1
    ending = asyncio.ensure_future(admission.until_ended(admitted))
    done, _ = await asyncio.wait({ending}, timeout=2 * CHECKED_EVERY_S)
    assert not done
    now[0] += 1
    refused = await asyncio.wait_for(ending, 10)
    assert (refused.status, refused.code) == (401, "no_session")


def test_a_session_ends_no_later_than_its_token_and_is_forgotten() -> None:
    now = [0]
    sessions = PageSessions(lambda: now[0])
    value = sessions.open(TokenRecord("1" * 16, "late", b"", ("watch",), 0, expires_ms=10))
    now[0] = 10
    assert sessions.find(value) is None
    assert len(sessions) == 0


def test_one_more_login_of_a_token_ends_its_oldest_session() -> None:
    sessions = PageSessions(lambda: 0)
    values = [sessions.open(TOKEN) for _ in range(SESSIONS_OF_TOKEN + 1)]
    assert [sessions.find(value) is not None for value in values] == [False] + [True] * SESSIONS_OF_TOKEN
    assert len(set(values)) == len(values)


def test_services_on_two_ports_of_a_host_have_two_cookies() -> None:
    assert cookie_name("localhost:8700") != cookie_name("localhost:8701")
    assert cookie_name("[::1]:8700") == cookie_name("localhost:8700")
    assert cookie_name("jeeves.test") == cookie_name("jeeves.test:x") == "jeeves_session"


async def test_a_form_of_a_session_that_has_ended_leads_to_the_login(guarded: Door) -> None:
    visitor = Visitor(guarded.site)
    await visitor.log_in(guarded.token("ann"))
    run_id = await visitor.ask("hold this")
    token, cookie = await visitor.form_token(), visitor.cookie
    await visitor.act(LOGOUT)
    visitor.cookie = cookie
    reply = await visitor.send(run_address(run_id, "cancel"), {"form_token": token})
    assert reply.status == 303
    login = reply.headers["location"]
    assert login == f"{login_address(run_address(run_id))}&unsent=yes"
    assert "What you sent was not carried out." in text_of(await visitor.read(login))
    assert len(guarded.site.log.unfinished()) == 1
    head = await guarded.site.call("HEAD", SYSTEM, Cookie=cookie)
    assert (head.status, head.body) == (303, b"")
    assert head.headers["location"].startswith(LOGIN)
