"""What a question over HTTP names: its session, which is its caller's own, its mode, and its run mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.memory.sessions import SessionStore, Turn, check_session_id
from runtime.primitives.ids import RunId
from runtime.testing import PipelineBuilder
from serve.capability_sections import Mode
from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site

ANN, BOB = "192.0.2.1", "192.0.2.2"
MODES = {
    "sample": {
        "quick": Mode("sample", {"max_agent_hops": 1}, None, "rules"),
        "deep": Mode("sample_deep", {}, None),
        "thoughtful": Mode("sample", {}, None, "llm"),
    }
}
# The test is the proxy in front of the service: it says whose request each is.
TOLD = {"trusted_proxies": ("127.0.0.1",), "modes": MODES}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, told=TOLD) as opened:
        yield opened


async def asked(site: Site, client: str = ANN, **fields: Any) -> Reply:
    """The answer to a client's question."""
    return await site.call("POST", MESSAGES, {"message": "Where?", **fields}, X_Forwarded_For=client)


async def session_of(site: Site, client: str, session_id: str) -> str:
    """The session under which a client's turn of this session is kept."""
    reply = await asked(site, client, session_id=session_id)
    run = site.log.summary(RunId(str(reply.run_id)))
    assert run is not None
    return run.session_id


async def test_a_caller_sees_no_turn_of_another_one_in_a_session_of_the_same_name(site: Site, tmp_path: Path) -> None:
    sessions = SessionStore(tmp_path / "sessions.sqlite")
    ann, bob = await session_of(site, ANN, "s"), await session_of(site, BOB, "s")
    sessions.append(ann, Turn("Where is my key?", "In a/b.py", 1))
    assert [turn.question for turn in sessions.turns(bob)] == ["Where?"]
    assert sessions.turns("s") == []  # nor does one at the terminal
    assert [turn.question for turn in sessions.turns(await session_of(site, ANN, "s"))] == [
        "Where?",
        "Where is my key?",
        "Where?",
    ]
    assert [turn.question for turn in sessions.turns(await session_of(site, BOB, ann))] == ["Where?"]
    sessions.close()


async def test_sessions_of_one_caller_are_kept_apart_by_their_names(site: Site) -> None:
    names = ["s", "s ", "t", "x" * 128, f"http-{'0' * 64}"]
    kept = [await session_of(site, ANN, name) for name in names]
    assert len(set(kept)) == len(names)
    for session_id in kept:
        check_session_id(session_id)


@pytest.mark.parametrize("length", [128, 129])
async def test_a_session_of_a_name_that_is_too_long_is_refused(site: Site, length: int) -> None:
    reply = await asked(site, session_id="x" * length)
    if length > 128:
        reply.is_problem(422, "bad_input", "1 to 128")
    else:
        assert reply.status == 200


@pytest.mark.parametrize(
    ("fields", "status", "code", "words"),
    [
        ({"mode": "deep"}, 404, "unknown_name", ["'sample_deep'", "warm_pipelines"]),
        ({"mode": "deep", "pipeline": "sample"}, 404, "unknown_name", ["'sample_deep'", "warm_pipelines"]),
        ({"mode": "fast"}, 404, "unknown_name", ["no mode 'fast'", "there are: quick, thoughtful"]),
        ({"mode": "thoughtful"}, 422, "bad_input", ["reasons by llm", "by rules"]),
        ({"pipeline": "sample_deep"}, 404, "unknown_name", ["no pipeline is named 'sample_deep'", "known: sample"]),
    ],
)
async def test_a_mode_that_the_service_cannot_run_is_told_as_such(
    site: Site, fields: dict[str, str], status: int, code: str, words: list[str]
) -> None:
    (await asked(site, **fields)).is_problem(status, code, *words)
    assert site.log.runs(9) == []


async def test_a_question_is_asked_in_a_mode(site: Site) -> None:
    reply = await asked(site, mode="quick")
    assert (reply.status, reply.json["mode"]) == (200, "quick")
    assert reply.json["terminal_reason"] == "max_agent_hops_exceeded"


async def test_a_question_is_asked_in_a_run_mode_and_the_envelope_names_it(site: Site) -> None:
    for named in ({"run_mode": "parallel"}, {"run_mode": "sequential"}, {}):
        reply = await asked(site, **named)
        assert reply.status == 200, reply.body
        shown = await site.call("GET", f"{RUNS}/{reply.run_id}", X_Forwarded_For=ANN)
        assert shown.json["request"].get("run_mode") == named.get("run_mode")


async def test_a_run_mode_that_there_is_not_is_refused(site: Site) -> None:
    for named in ("sideways", "Parallel", "", 1, True, ["parallel"]):
        (await asked(site, run_mode=named)).is_problem(422, "bad_input", "run_mode")
    assert site.log.runs(9) == []


async def test_a_run_mode_that_the_pipeline_cannot_run_in_is_refused_with_one_that_it_can(tmp_path: Path) -> None:
    ordered = PipelineBuilder.parallel("sample").stage("look").stage("integration", after=["look"]).build()
    async with open_site(tmp_path, pipeline=ordered) as site:
        refused = await site.ask("Where?", run_mode="sequential")
        told = "'sample' cannot run sequential"
        assert (refused.status, refused.json["code"]) == (422, "bad_input")
        assert told in refused.json["detail"]
        assert "ask for parallel" in refused.json["detail"]
        assert site.log.runs(9) == []
        assert (await site.ask("Where?", run_mode="parallel")).status == 200


@pytest.mark.parametrize("length", ["", "0"])
async def test_what_needs_no_body_is_asked_without_one(site: Site, length: str) -> None:
    waiting = await asked(site, message="why?", wait=True)
    # Only a run that is at work can be paused.
    for action, status in (("pause", 409), ("resume", 422), ("cancel", 200)):
        path = f"{RUNS}/{waiting.run_id}/{action}"
        reply = await site.call("POST", path, X_Forwarded_For=ANN, Content_Length=length)
        assert reply.status == status, (action, reply.body)


@pytest.mark.parametrize("length", ["", "0"])
async def test_what_needs_a_body_tells_that_it_has_none(site: Site, length: str) -> None:
    (await site.call("POST", MESSAGES, Content_Length=length)).is_problem(422, "bad_input", "body: ")


async def test_a_body_that_cannot_be_used_is_told_in_its_own_words(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        wrong = await site.call("POST", MESSAGES, {"message": 1, "limits": {"max_agent_hops": "x"}})
        assert wrong.json["detail"] == (
            "body.message: Input should be a valid string; body.limits.max_agent_hops: Input should be a valid integer"
        )
        content = [{"type": "text", "text": 1}]
        for more, param, told in (
            ({}, "messages.0.content", "body.messages.0.content.0.text.text: Input should be a valid string"),
            ({"tools": [{"type": "function"}]}, None, "body: tools is not supported: the service calls its own tools"),
        ):
            body = {"model": "sample", "messages": [{"role": "user", "content": content}], **more}
            error = (await site.call("POST", "/v1/chat/completions", body)).json["error"]
            assert told in error["message"]
            assert error["param"] == param
