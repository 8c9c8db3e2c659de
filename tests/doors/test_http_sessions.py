"""Sessions of a caller over HTTP: listed, shown, deleted; never those of another caller."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.memory.sessions import Turn
from serve.http.answering.service import ChatMessage
from serve.http.answering.session_views import kept_session_id
from serve.principals import of_http_client
from tests.doors.http_site import MESSAGES, REPO, RUNS, Reply, Site, open_site, until

SESSIONS = "/api/v1/chat/sessions"
CALLER = of_http_client("127.0.0.1", (), ()).user_id


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def asked(site: Site, name: str, *messages: str) -> None:
    for message in messages:
        assert (await site.ask(message, session_id=name)).status == 200


async def names(site: Site, path: str = SESSIONS) -> list[str]:
    return [each["session_id"] for each in (await site.call("GET", path)).json]


async def test_a_session_is_listed_once_and_shown_with_its_turns(site: Site) -> None:
    await asked(site, "s 1", "Where?", "Who?")
    assert await names(site) == ["s 1"]
    shown = (await site.call("GET", f"{SESSIONS}/s%201")).json
    assert [turn["question"] for turn in shown["turns"]] == ["Where?", "Who?"]
    assert (shown["session_id"], shown["has_more"]) == ("s 1", False)
    newest = (await site.call("GET", f"{SESSIONS}/s%201?limit=1")).json
    assert ([turn["question"] for turn in newest["turns"]], newest["has_more"]) == (["Who?"], True)


async def test_runs_are_told_by_the_name_of_the_session(site: Site) -> None:
    named = (await site.ask("Where?", session_id="../s 1")).run_id
    alone = (await site.ask("Where?")).run_id

    async def told(run_id: str | None) -> tuple[str, str | None]:
        runs = {run["run_id"]: run["session_id"] for run in (await site.call("GET", RUNS)).json}
        return runs[run_id], (await site.call("GET", f"{RUNS}/{run_id}")).json["request"].get("session_id")

    assert (await told(named), await told(alone)) == (("../s 1", "../s 1"), ("", None))
    kept_id = kept_session_id(CALLER, "../s 1")
    site.is_dead = True
    assert [run["session_id"] for run in (await site.call("GET", RUNS)).json] == ["", kept_id]
    site.is_dead = False
    await site.call("DELETE", f"{SESSIONS}/{quote('../s 1', safe='')}")
    assert await told(named) == (kept_id, kept_id)


async def test_runs_of_a_conversation_are_told_by_its_name(site: Site) -> None:
    said = [{"role": "user", "content": "Where?"}]
    for _ in range(2):
        reply = await site.call("POST", "/v1/chat/completions", {"model": "sample", "messages": said})
        assert reply.status == 200, reply.body
        said += [{"role": "assistant", "content": "there"}, {"role": "user", "content": "Who?"}]
    (name,) = await names(site)
    assert {run["session_id"] for run in (await site.call("GET", RUNS)).json} == {name}


async def test_a_question_without_a_session_makes_none(site: Site) -> None:
    await site.ask("Where?")
    assert await names(site) == []


async def test_pages_have_every_session_once(site: Site) -> None:
    for number in range(5):
        await asked(site, f"é{number}", "Where?")
    seen: list[str] = []
    path: str | None = f"{SESSIONS}?limit=2"
    while path is not None:
        reply = await site.call("GET", path)
        seen += [each["session_id"] for each in reply.json]
        link = re.fullmatch(r'<(.*)>; rel="next"', reply.headers.get("link", ""))
        path = link and link[1]
    assert sorted(seen) == [f"é{number}" for number in range(5)]
    assert seen == await names(site)


@pytest.mark.parametrize("query", ["before=x", "before=1~", "before=-1~a", "limit=0", "limit=501", "limit=+1"])
async def test_a_page_that_cannot_be_is_refused(site: Site, query: str) -> None:
    (await site.call("GET", f"{SESSIONS}?{query}")).is_problem(422, "bad_input")


async def test_a_conversation_of_a_chat_client_is_one_session(site: Site) -> None:
    def said(*texts: str) -> dict[str, object]:
        roles = ("user", "assistant")
        return {"model": "sample", "messages": [{"role": roles[n % 2], "content": t} for n, t in enumerate(texts)]}

    for texts in (("u1",), ("u1", "a1", "u2"), ("u1", "a1", "u2", "a2", "u3")):
        assert (await site.call("POST", "/v1/chat/completions", said(*texts))).status == 200
    (name,) = await names(site)
    turns = (await site.call("GET", f"{SESSIONS}/{name}")).json["turns"]
    assert [turn["question"] for turn in turns] == ["u1", "u2", "u3"]
    assert (await site.call("DELETE", f"{SESSIONS}/{name}")).status == 200
    assert await names(site) == []
    assert (await site.call("POST", "/v1/chat/completions", said("u1", "a1", "u2"))).status == 200


@pytest.mark.long
async def test_deleting_takes_turns_state_and_remembered_answers_and_tells_what_stays(tmp_path: Path) -> None:
    async with open_site(tmp_path, told={"retention_days": 30.0}) as site:
        await asked(site, "s", "Where?", "Who?")
        await asked(site, "other", "What?")
        kept_id = kept_session_id(CALLER, "s")
        site.sessions.keep_state(kept_id, {"n": 1})
        for session_id in (kept_id, "another"):
            answer = EarlierAnswer(f"Where is {session_id}?", (session_id,), "there", (), session_id=session_id)
            site.memory.keep_answer(REPO, answer)
        told = (await site.call("DELETE", f"{SESSIONS}/s")).json
        assert {name: told[name] for name in ("session_id", "turns", "states", "answers")} == {
            "session_id": "s",
            "turns": 2,
            "states": 1,
            "answers": 1,
        }
        assert "30 days" in told["run_logs"]
        assert (site.sessions.turns(kept_id), site.sessions.state(kept_id)) == ([], None)
        assert site.memory.recall(REPO, [kept_id]) == []
        assert len(site.memory.recall(REPO, ["another"])) == 1
        assert await names(site) == ["other"]
        assert len((await site.call("GET", RUNS)).json) == 3


async def test_a_session_that_is_gone_or_never_was_is_not_found(site: Site) -> None:
    await asked(site, "s", "Where?")
    assert (await site.call("DELETE", f"{SESSIONS}/s")).status == 200
    for name in ("s", "never", "x" * 200, "a%0Ab"):
        for method in ("GET", "DELETE"):
            reply = await site.call(method, f"{SESSIONS}/{name}")
            reply.is_problem(404, "unknown_name", "no session of yours")


async def test_a_session_with_a_run_under_way_is_not_deleted(site: Site) -> None:
    asking = asyncio.create_task(site.ask("hold this", session_id="s"))
    await until(site.log.unfinished)
    (running,) = site.log.unfinished()
    refused = await site.call("DELETE", f"{SESSIONS}/s")
    refused.is_problem(409, "run_state", running.run_id, "under way", run_id=running.run_id)
    site.hold.set()
    await asking
    assert (await site.call("DELETE", f"{SESSIONS}/s")).json["turns"] == 1


async def test_a_run_that_waits_for_a_person_is_under_way(site: Site) -> None:
    run_id = (await site.ask("why", session_id="s", wait=True)).run_id
    (await site.call("DELETE", f"{SESSIONS}/s")).is_problem(409, "run_state", run_id=run_id)
    assert (await site.call("POST", f"{RUNS}/{run_id}/cancel")).status == 200
    assert (await site.call("DELETE", f"{SESSIONS}/s")).status == 200


async def test_a_session_that_is_asked_in_again_after_its_deletion_is_new(site: Site) -> None:
    await asked(site, "s", "Where?")
    assert (await site.call("DELETE", f"{SESSIONS}/s")).status == 200
    await asked(site, "s", "Who?")
    assert [t["question"] for t in (await site.call("GET", f"{SESSIONS}/s")).json["turns"]] == ["Who?"]


async def test_a_session_of_another_caller_cannot_be_seen_or_deleted(tmp_path: Path) -> None:
    async with open_site(tmp_path, told={"trusted_proxies": ("127.0.0.1",)}) as site:

        async def by(host: str, method: str, path: str, body: object = None) -> Reply:
            return await site.call(method, path, body, X_Forwarded_For=host)

        mine, theirs = "192.0.2.1", "192.0.2.2"
        assert (await by(mine, "POST", MESSAGES, {"message": "Where?", "session_id": "s"})).status == 200
        assert (await by(theirs, "GET", SESSIONS)).json == []
        for method in ("GET", "DELETE"):
            (await by(theirs, method, f"{SESSIONS}/s")).is_problem(404, "unknown_name")
        assert (await by(theirs, "POST", MESSAGES, {"message": "Who?", "session_id": "s"})).status == 200
        assert (await by(theirs, "DELETE", f"{SESSIONS}/s")).status == 200
        assert [t["question"] for t in (await by(mine, "GET", f"{SESSIONS}/s")).json["turns"]] == ["Where?"]


async def test_a_session_from_before_there_was_a_register_is_shown_and_deleted(site: Site) -> None:
    site.sessions.append(kept_session_id(CALLER, "old"), Turn("Where?", "there", 1, REPO))
    assert [t["question"] for t in (await site.call("GET", f"{SESSIONS}/old")).json["turns"]] == ["Where?"]
    assert (await site.call("DELETE", f"{SESSIONS}/old")).json["turns"] == 1


@pytest.mark.parametrize("name", ["%00", "%ff", "a%00b", "%e2%80%ae", "%ed%a0%80"])
async def test_an_odd_name_is_not_found(site: Site, name: str) -> None:
    for method in ("GET", "DELETE"):
        (await site.call(method, f"{SESSIONS}/{name}")).is_problem(404, "unknown_name")


@pytest.mark.parametrize("odd", ["a%00b", "", "x" * 129, "%0a"])
async def test_a_place_whose_name_is_none_is_refused(site: Site, odd: str) -> None:
    (await site.call("GET", f"{SESSIONS}?before=1~{odd}")).is_problem(422, "bad_input", "before")


@pytest.mark.parametrize("name", ["a/b", "../x", "/", "//", "a/", "token:ann/tour", "a%2Fb", "a?b#c", "...", "./.."])
async def test_what_can_be_asked_in_can_be_shown_and_deleted(site: Site, name: str) -> None:
    await asked(site, name, "Where?")
    path = f"{SESSIONS}/{quote(name, safe='')}"
    shown = await site.call("GET", path)
    assert (shown.status, shown.json.get("session_id")) == (200, name)
    assert (await site.call("DELETE", path)).status == 200
    assert await names(site) == []


@pytest.mark.parametrize("name", [".", ".."])
async def test_a_name_that_clients_take_out_of_a_path_is_refused(site: Site, name: str) -> None:
    reply = await site.ask("Where?", session_id=name)
    reply.is_problem(422, "bad_input", "session id")
    assert await names(site) == []


def test_the_description_has_the_session_ids_that_are_taken() -> None:
    pattern = re.compile(ChatMessage.model_json_schema()["properties"]["session_id"]["pattern"])
    taken = ["a", "a/b", "...", ".a", "a.", "..a", " "]
    assert [name for name in (*taken, ".", "..", "", "\n") if pattern.search(name)] == taken
