"""Chat completions, asked for with the official client of OpenAI's API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from runtime.errors import ClusterError, OverloadedError
from tests.doors.http_site import RUNS, Site, open_site, until

pytestmark = pytest.mark.long

MODEL = "sample@sample-repo"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def client_of(site: Site, **options: Any) -> openai.AsyncOpenAI:
    told = {"api_key": "none", "max_retries": 0, "timeout": 60.0, **options}
    return openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{site.port}/v1", **told)


def said(*texts: str) -> list[ChatCompletionMessageParam]:
    """A conversation that ends with a question."""
    return [
        {"role": "assistant", "content": text} if number % 2 else {"role": "user", "content": text}
        for number, text in enumerate(texts)
    ]


async def test_a_question_is_answered(site: Site) -> None:
    async with client_of(site) as client:
        answered = await client.chat.completions.create(model=MODEL, messages=said("Where?"))
    (choice,) = answered.choices
    assert (choice.message.role, choice.message.content) == ("assistant", "Answer to Where?")
    assert (choice.finish_reason, answered.object, answered.model) == ("stop", "chat.completion", MODEL)
    assert answered.usage is not None
    assert answered.usage.total_tokens == 0
    run_id = answered.id.removeprefix("chatcmpl-")
    assert (await site.call("GET", f"{RUNS}/{run_id}/answer")).json["answer"] == "Answer to Where?"
    assert answered.model_extra is not None
    assert answered.model_extra["jeeves"]["run_id"] == run_id


def test_the_synchronous_client_is_answered_too(tmp_path: Path) -> None:
    def asked(port: int) -> list[str]:
        with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0) as client:
            whole = client.chat.completions.create(model=MODEL, messages=said("Where?"))
            with client.chat.completions.create(model=MODEL, messages=said("Where?"), stream=True) as stream:
                parts = [chunk.choices[0].delta.content or "" for chunk in stream]
            return [whole.choices[0].message.content or "", "".join(parts)]

    async def served() -> list[str]:
        async with open_site(tmp_path) as site:
            return await asyncio.to_thread(asked, site.port)

    assert asyncio.run(served()) == ["Answer to Where?"] * 2


async def test_a_streamed_answer_is_the_whole_one_in_pieces(site: Site) -> None:
    async with client_of(site) as client:
        whole = await client.chat.completions.create(model=MODEL, messages=said("cite\nthis"))
        options: Any = {"include_usage": True}
        stream = await client.chat.completions.create(
            model=MODEL, messages=said("cite\nthis"), stream=True, stream_options=options
        )
        chunks = [chunk async for chunk in stream]
    *told, ends, usage = chunks
    deltas = [chunk.choices[0].delta for chunk in told]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert deltas[0].role == "assistant"
    progress = [(delta.model_extra or {}).get("reasoning_content") for delta in deltas]
    assert [line for line in progress if line] == ["look …\n", "integration …\n"]
    annotations = [(delta.model_extra or {}).get("annotations") for delta in deltas]
    message = whole.choices[0].message
    assert [each for each in annotations if each] == [[part.model_dump() for part in message.annotations or ()]]
    assert (ends.choices[0].finish_reason, ends.choices[0].delta.content) == ("stop", None)
    assert (usage.choices, usage.usage and usage.usage.total_tokens) == ([], 0)
    assert len({chunk.id for chunk in chunks}) == 1


async def test_without_the_option_a_stream_has_no_usage(site: Site) -> None:
    async with client_of(site) as client:
        stream = await client.chat.completions.create(model=MODEL, messages=said("Where?"), stream=True)
        assert all(chunk.choices and chunk.usage is None for chunk in [chunk async for chunk in stream])


async def test_the_stream_ends_with_done(site: Site) -> None:
    reply = await site.call(
        "POST", "/v1/chat/completions", {"model": MODEL, "messages": said("Where?"), "stream": True}
    )
    assert reply.body.rstrip(b"\r\n0").endswith(b"data: [DONE]")


async def test_a_citation_stands_in_the_text_and_is_an_annotation(site: Site) -> None:
    async with client_of(site) as client:
        answered = await client.chat.completions.create(model=MODEL, messages=said("cite this"))
    message = answered.choices[0].message
    (annotation,) = message.annotations or []
    cited = annotation.url_citation
    assert (message.content or "")[cited.start_index : cited.end_index] == "[a b.py:3-4]"
    assert (cited.title, cited.url) == ("a b.py:3-4 f", "jeeves://sample-repo/a%20b.py#L3-L4")


async def test_a_conversation_has_the_turns_of_its_questions_and_of_no_other(site: Site) -> None:
    async def turns_of(*texts: str) -> list[str]:
        async with client_of(site) as client:
            answered = await client.chat.completions.create(model=MODEL, messages=said(*texts))
        run_id: Any = answered.id.removeprefix("chatcmpl-")
        session_id = (await site.envelope(run_id)).request.session_id
        return [turn.question for turn in site.sessions.turns(session_id or "", 100)]

    assert await turns_of("u1") == ["u1"]
    assert await turns_of("u1", "a1", "u2") == ["u1", "u2"]
    assert await turns_of("u1", "a1", "u2", "a2", "u3") == ["u1", "u2", "u3"]
    # Asked again, and another question in its place: what came after the first is not there.
    assert await turns_of("u1", "a1", "u2") == ["u1", "u2"]
    assert await turns_of("u1", "a1", "other") == ["u1", "other"]
    assert await turns_of("u1") == ["u1"]
    # A client that dropped the beginning, and one that was never here.
    assert await turns_of("u2", "a2", "u3") == ["u2", "u3"]
    assert await turns_of("x", "ax", "y", "ay", "z") == ["x", "y", "z"]


async def test_the_same_words_of_another_caller_are_another_conversation(tmp_path: Path) -> None:
    async with open_site(tmp_path, told={"trusted_proxies": ("127.0.0.1",)}) as site:
        for host in ("192.0.2.1", "192.0.2.2"):
            async with client_of(site, default_headers={"X-Forwarded-For": host}) as client:
                await client.chat.completions.create(model=MODEL, messages=said("u1", "a1", "u2"))
        assert len({run.session_id for run in site.log.runs(10)}) == 2


async def test_messages_of_the_system_and_parts_of_text_are_read(site: Site) -> None:
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Where"}, {"type": "text", "text": "is it?"}]},
    ]
    async with client_of(site) as client:
        answered = await client.chat.completions.create(model=MODEL, messages=messages)
    assert answered.choices[0].message.content == "Answer to Where\nis it?"


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0.2, "max_tokens": 5, "top_p": 1, "seed": 7, "user": "u", "stop": ["x"]},
        {"n": 1, "logprobs": False, "response_format": {"type": "text"}, "tools": [], "tool_choice": "none"},
        {"store": True, "metadata": {"a": "b"}, "reasoning_effort": "low", "parallel_tool_calls": False},
        {"max_completion_tokens": 9, "presence_penalty": 0.5, "frequency_penalty": 1, "logit_bias": {"1": 2}},
    ],
)
async def test_what_has_no_effect_is_accepted(site: Site, fields: dict[str, Any]) -> None:
    async with client_of(site) as client:
        answered = await client.chat.completions.create(model=MODEL, messages=said("Where?"), **fields)
    assert answered.choices[0].message.content == "Answer to Where?"


IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
TOOL = [*said("Where?"), {"role": "tool", "tool_call_id": "1", "content": "x"}]


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"n": 2}, "n is not supported"),
        ({"n": True}, "n is not supported"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"messages": IMAGE}, "image_url"),
        ({"messages": TOOL}, "role"),
        ({"messages": []}, "messages"),
        ({"messages": said("Where?", "there")}, "the last is the user's question"),
        ({"messages": said(" ")}, "empty"),
        ({"messages": said("x" * 1_001)}, "1000"),
        ({"extra_body": {"colour": "red"}}, "colour"),
    ],
)
async def test_what_cannot_be_done_is_refused(site: Site, fields: dict[str, Any], word: str) -> None:
    async with client_of(site) as client:
        with pytest.raises(openai.BadRequestError) as raised:
            await client.chat.completions.create(**{"model": MODEL, "messages": said("Where?"), **fields})
    assert word in raised.value.message
    code = "bad_question" if word == "1000" else "bad_input"
    assert (raised.value.type, raised.value.code) == ("invalid_request_error", code)
    assert site.log.runs(10) == []


async def test_the_field_that_is_wrong_is_named(site: Site) -> None:
    async with client_of(site) as client:
        with pytest.raises(openai.BadRequestError) as raised:
            await client.chat.completions.create(model=MODEL, messages=said("x"), extra_body={"stream": "yes"})
    assert raised.value.param == "stream"


async def test_an_unknown_model_is_not_found(site: Site) -> None:
    async with client_of(site) as client:
        for unknown in ("gpt-9", "sample@other", "sample@/folders/of/the/operator/sample-repo", ""):
            with pytest.raises(openai.NotFoundError) as raised:
                await client.chat.completions.create(model=unknown, messages=said("Where?"))
            assert MODEL in raised.value.message
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("gpt-9")
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="x", input="y")


async def test_the_models_are_the_registered_repositories(tmp_path: Path) -> None:
    async with open_site(tmp_path / "one") as site, client_of(site) as client:
        assert [model.id async for model in client.models.list()] == ["sample", MODEL]
        assert (await client.models.retrieve("sample")).owned_by == "jeeves"
    several = {"shop": "/a/shop", "shop-2": "/b/shop", "yard": "/c/yard"}
    async with open_site(tmp_path / "many", told={"repositories": several}) as site, client_of(site) as client:
        names = [model.id async for model in client.models.list()]
        assert names == ["sample@shop", "sample@shop-2", "sample@yard"]
        answered = await client.chat.completions.create(model="sample@shop-2", messages=said("Where?"))
        run_id: Any = answered.id.removeprefix("chatcmpl-")
        assert (await site.envelope(run_id)).request.metadata["repo"] == "/b/shop"


async def test_one_key_is_one_run_streamed_or_not(site: Site) -> None:
    async with client_of(site, default_headers={"Idempotency-Key": "k1"}) as client:
        first = await client.chat.completions.create(model=MODEL, messages=said("u1", "a1", "u2"))
        stream = await client.chat.completions.create(model=MODEL, messages=said("u1", "a1", "u2"), stream=True)
        assert {chunk.id async for chunk in stream} == {first.id}
        with pytest.raises(openai.BadRequestError, match="new key"):
            await client.chat.completions.create(model=MODEL, messages=said("other"))
    (run,) = site.log.runs(10)
    assert [turn.question for turn in site.sessions.turns(run.session_id, 9)] == ["u1", "u2"]


async def test_errors_have_the_form_and_the_classes_of_the_client(site: Site) -> None:
    async with client_of(site) as client:
        site.bug = OverloadedError("full", retry_after_s=7)
        with pytest.raises(openai.InternalServerError) as busy:
            await client.chat.completions.create(model=MODEL, messages=said("Where?"))
        assert (busy.value.status_code, busy.value.code, busy.value.response.headers["retry-after"]) == (
            503,
            "overloaded",
            "7",
        )
        site.bug = RuntimeError("a bug")
        with pytest.raises(openai.InternalServerError) as broken:
            await client.chat.completions.create(model=MODEL, messages=said("Where?"))
        assert (broken.value.type, broken.value.response.headers["x-should-retry"]) == ("server_error", "false")


async def test_a_run_that_fails_is_an_error_and_is_not_asked_for_again(site: Site) -> None:
    async with client_of(site, max_retries=3) as client:
        with pytest.raises(openai.InternalServerError, match="ended without an answer") as raised:
            await client.chat.completions.create(model=MODEL, messages=said("fail"))
        assert raised.value.code == "run_failed"
        stream = await client.chat.completions.create(model=MODEL, messages=said("fail"), stream=True)
        with pytest.raises(openai.APIError, match="ended without an answer"):
            [chunk async for chunk in stream]
    assert len(site.log.runs(10)) == 2


async def test_an_answer_that_takes_too_long_names_its_run_and_is_not_asked_for_again(tmp_path: Path) -> None:
    async with open_site(tmp_path, answer_timeout_s=0.1) as site, client_of(site, max_retries=3) as client:
        with pytest.raises(openai.InternalServerError) as raised:
            await client.chat.completions.create(model=MODEL, messages=said("hold this"))
        (running,) = site.log.unfinished()
        assert (raised.value.status_code, raised.value.code) == (504, "answer_timeout")
        body: Any = raised.value.body
        assert body["run_id"] == running.run_id


async def test_an_error_in_mid_stream_is_raised_by_the_client(site: Site) -> None:
    async with client_of(site) as client:
        stream = await client.chat.completions.create(model=MODEL, messages=said("hold this"), stream=True)
        await anext(aiter(stream))
        site.bug = ClusterError("the supervisor is gone")
        site.hold.set()
        with pytest.raises(openai.APIError, match="the supervisor is gone"):
            [chunk async for chunk in stream]


async def test_a_client_that_goes_in_mid_stream_leaves_a_run_that_ends(site: Site) -> None:
    async with client_of(site) as client:
        stream = await client.chat.completions.create(model=MODEL, messages=said("hold this"), stream=True)
        await anext(aiter(stream))
        await stream.close()
    site.hold.set()
    await until(lambda: not site.log.unfinished())


async def test_a_question_of_the_run_is_its_answer(site: Site) -> None:
    async with client_of(site) as client:
        answered = await client.chat.completions.create(model=MODEL, messages=said("why"))
    assert (answered.choices[0].message.content, answered.choices[0].finish_reason) == ("Which?", "stop")


ODD_BODIES: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": "\ud800"}]},
    {"messages": [{"role": "user", "content": None}]},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "user", "content": ["Where?"]}]},
    {"messages": [{"role": "user", "content": []}]},
    {"messages": [{"role": "boss", "content": "Where?"}]},
    {"messages": {"role": "user", "content": "Where?"}},
    {"messages": [{"role": "user", "content": "Where?"}] * 1_001},
    {"model": None},
    {"model": 7},
    {"stream_options": {"include_usage": "yes"}},
]


@pytest.mark.parametrize("fields", ODD_BODIES)
async def test_a_body_that_cannot_be_is_refused(site: Site, fields: dict[str, Any]) -> None:
    body = {"model": MODEL, "messages": said("Where?"), **fields}
    reply = await site.call("POST", "/v1/chat/completions", body)
    assert (reply.status, reply.json["error"]["type"]) == (400, "invalid_request_error"), reply.body
    assert site.log.runs(10) == []


@pytest.mark.parametrize("odd", [{"metadata": {"a": "\ud800"}}, {"logit_bias": {"\ud800": 1}}, {"temperature": 1e308}])
async def test_what_has_no_effect_may_hold_anything(site: Site, odd: dict[str, Any]) -> None:
    reply = await site.call("POST", "/v1/chat/completions", {"model": MODEL, "messages": said("Where?"), **odd})
    assert reply.status in (200, 400), reply.body


async def test_a_model_whose_name_is_no_text_is_not_found(site: Site) -> None:
    for name in ("\ud800", "x" * 501, "sample@\u202e"):
        reply = await site.call("POST", "/v1/chat/completions", {"model": name, "messages": said("Where?")})
        assert reply.status in (400, 404), reply.body
    for path in ("%00", "%ff", "..%2f..", "sample%40"):
        assert (await site.call("GET", f"/v1/models/{path}")).status == 404


async def test_refusals_of_the_gate_have_the_form_too(site: Site) -> None:
    for reply in (
        await site.call("POST", "/v1/chat/completions", b"{"),
        await site.call("POST", "/v1/chat/completions", {}, Host="evil.example"),
        await site.call("POST", "/v1/chat/completions", {}, Origin="http://evil.example"),
        await site.call("POST", "/v1/chat/completions", b" " * 1_000_001),
        await site.call("GET", "/v1/chat/completions"),
        await site.call("POST", "/v1/embeddings", {}),
    ):
        assert reply.headers["content-type"] == "application/json"
        assert set(reply.json["error"]) == {"message", "type", "param", "code"}, reply.body
        assert reply.headers["content-length"] == str(len(reply.body))


@pytest.mark.parametrize(
    "near",
    [
        'Bearer "{}"',
        "Bearer '{}'",
        "Bearer Bearer {}",
        "{}",
        "Basic {}",
        "Bearer\t{}",
        "Bearer key={}",
    ],
)
async def test_a_key_that_resembles_an_access_token_is_refused_and_not_taken_for_none(
    tmp_path: Path, near: str
) -> None:
    token = f"jeeves_{'0a' * 8}_{'1b' * 32}"
    async with open_site(tmp_path) as site:
        for written in (token, token.upper(), token.title(), token.removeprefix("jeeves_")):
            reply = await site.call("GET", "/v1/models", Authorization=near.format(written))
            assert (reply.status, reply.json["error"]["code"]) == (401, "invalid_token"), (near, written)
            assert written not in reply.body.decode()


async def test_a_key_that_is_no_access_token_is_taken_for_none_where_none_is_needed(tmp_path: Path) -> None:
    async with open_site(tmp_path / "open") as site:
        for key in ("Bearer sk-1234", "Bearer none", "Basic eDp5", "Bearer "):
            assert (await site.call("GET", "/v1/models", Authorization=key)).status == 200
        assert (await site.call("GET", "/v1/models", Authorization="Bearer jeeves_wrong")).status == 401
        assert (await site.call("GET", RUNS, Authorization="Bearer sk-1234")).status == 401
    async with open_site(tmp_path / "closed", told={"tokens_required": True}) as site, client_of(site) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()
