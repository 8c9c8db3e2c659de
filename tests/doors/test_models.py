"""Models behind the doors: what is checked before anything starts, and runs against an endpoint that may be broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from runtime.errors import DocumentFaults, SettingsError, UnknownNameError
from runtime.settings import Settings, load_settings
from runtime.supervision.commands import TEXT_EVENTS, ClientEvent
from serve.answer_document import Ask, exit_status
from serve.cli.asking import print_document
from serve.cli.inputs import with_models
from serve.cli.output.display import Drafts, with_text
from serve.pipeline_files import load_named_pipeline
from serve.runtimes.answering import AskCallbacks, OnEvent, ignore_event
from serve.runtimes.local import LocalRuntime
from tests.capabilities.code_analysis.model_desk import OPENINGS, planned, written
from tests.capabilities.code_analysis.test_model_reasoners import GOOD
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.examples import long_but
from tests.runtime.llm.endpoint import (
    IMPATIENT_S,
    PATIENT_S,
    Endpoint,
    Handler,
    begins,
    event,
    hangs,
    refuses,
    says,
    sends,
)

OPENINGS_OF = {agent: opening for opening, agent in OPENINGS.items()}


def settings_with(tmp_path: Path, models: str | None = None, **env: str) -> Settings:
    """Settings of their own state folder, with a model file."""
    given = {"JEEVES_STATE_DIR": str(tmp_path / "state"), "JEEVES_RAY__MODE": "in_process", **env}
    if models is not None:
        (tmp_path / "models.yaml").write_text(models, encoding="utf-8")
        given["JEEVES_MODELS__FILE"] = str(tmp_path / "models.yaml")
    return load_settings(env=given)


def endpoint_file(url: str, **more: Any) -> str:
    deployment = {
        **{"backend": "openai", "base_url": url, "model": "m", "max_model_len": 16_384},
        "silence_timeout_s": PATIENT_S,
        **more,
    }
    return json.dumps({"deployments": {"main": deployment}, "roles": {"default": {"deployment": "main"}}})


def test_the_reasoner_llm_without_a_model_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--models"):
        with_models(settings_with(tmp_path), "llm", None)


def test_a_reasoner_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no reasoner is named 'magic'; known: rules, llm"):
        with_models(settings_with(tmp_path), "magic", None)


def test_a_model_file_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"openai\.yaml"):
        with_models(settings_with(tmp_path), None, "gpt")


def test_a_model_file_with_faults_is_refused_with_all_of_them(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, "deployments: {main: {backend: openai}}\nroles: {default: {}}\n")
    with pytest.raises(DocumentFaults, match="faults"):
        with_models(settings, "llm", None)


def test_a_missing_key_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    settings = settings_with(tmp_path, endpoint_file("http://x/v1", api_key_env="SOME_KEY"))
    with pytest.raises(SettingsError, match="SOME_KEY holds no usable key"):
        with_models(settings, "llm", None)
    monkeypatch.setenv("SOME_KEY", "k")
    assert with_models(settings, "llm", None).reasoner == "llm"


@pytest.mark.parametrize("certificates", [None, "no certificates"])
def test_certificates_that_cannot_be_read_are_told_before_anything_starts(
    tmp_path: Path, certificates: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if certificates is not None:
        file.write_text(certificates, encoding="utf-8")
    settings = settings_with(tmp_path, endpoint_file("https://x/v1", ca_file=str(file)))
    with pytest.raises((SettingsError, DocumentFaults), match=f"{file}"):
        with_models(settings, "llm", None)


def test_a_path_to_a_model_file_that_there_is_not_is_told_as_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"there is no model file no/such\.yaml; give the path"):
        with_models(settings_with(tmp_path), None, "no/such.yaml")


def test_naming_a_model_file_asks_for_the_model(tmp_path: Path) -> None:
    assert with_models(settings_with(tmp_path), None, "openai").reasoner == "llm"
    assert with_models(settings_with(tmp_path), "rules", "openai").reasoner == "rules"
    assert with_models(settings_with(tmp_path), None, None).reasoner == "rules"


Asked = Callable[..., Awaitable[tuple[dict[str, Any], Endpoint]]]


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncGenerator[Asked, None]:
    """Ask about the sample repository with an endpoint that plays these handlers."""
    repo = write_files(tmp_path / "repo", FILES)
    endpoints: list[Endpoint] = []

    async def ask(
        *handlers: Handler, is_up: bool = True, on_event: OnEvent = ignore_event, **more: Any
    ) -> tuple[dict[str, Any], Endpoint]:
        endpoint = Endpoint(*handlers)
        await endpoint.start()
        url = endpoint.url
        if is_up:
            endpoints.append(endpoint)
        else:
            await endpoint.stop()
        settings = with_models(settings_with(tmp_path, endpoint_file(url, **more)), "llm", None)
        runtime = LocalRuntime(settings, load_named_pipeline(settings, "code_analysis"))
        try:
            return await runtime.ask(Ask(QUESTION, str(repo), "code_analysis"), AskCallbacks(on_event)), endpoint
        finally:
            await runtime.close()

    yield ask
    for endpoint in endpoints:
        await endpoint.stop()


USAGE = {"prompt_tokens": 100, "completion_tokens": 10}


async def answers_well(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """What a good model says to each agent."""
    user = body["messages"][1]["content"]
    agent = next(agent for opening, agent in OPENINGS.items() if opening in user)
    told = dict(GOOD[agent])
    if agent == "intent":
        told["goals"] = [{"aspect": "definition", "text": "where it is", "after": []}]
        told["steps"] = [planned("locate", QUESTION, "definition")]
    if agent == "planner":
        told["steps"] = [planned("locate", QUESTION, "definition")]
    if agent == "synthesizer":
        told["claims"] = [written("definition", "This is the place that was asked for.", (1, 0, 0))]
    if agent == "critic":
        told["goals"] = [{"goal": "definition", "status": "satisfied"}]
    return await says(json.dumps(told), usage=USAGE)(request, body)


async def test_an_endpoint_reasons_for_all_four_agents_and_the_answer_tells_what_it_took(asked: Asked) -> None:
    document, endpoint = await asked(answers_well)
    assert document["terminal_reason"] == "completed"
    assert "This is the place that was asked for. [" in document["answer"]
    assert (document["reasoner"], document["rules_took_over"]) == ("llm", [])
    usage = document["usage"]
    assert (usage["llm_calls"], usage["tokens_in"], usage["tokens_out"]) == (3, 300, 30)
    assert all("json_schema" in body["response_format"]["type"] for body in endpoint.bodies)


# Keywords that hosted services refuse in the schemas of their strict mode.
REFUSED = frozenset({"maxLength", "minLength", "minimum", "maximum", "maxItems", "minItems", "pattern", "format"})


def faults_of(schema: Any) -> list[str]:
    """What a strict service refuses in a schema: bounds, keys that are not required, objects that take others."""
    if isinstance(schema, list):
        return [fault for part in schema for fault in faults_of(part)]
    if not isinstance(schema, dict):
        return []
    properties = schema.get("properties", {})
    open_object = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    own = [*(REFUSED & schema.keys()), *(set(properties) - set(schema.get("required", ())))]
    parts = [*properties.values(), schema.get("items"), schema.get("anyOf")]
    return [*own, *(["open object"] if open_object else []), *(fault for part in parts for fault in faults_of(part))]


def takes_only(*forms: str) -> Handler:
    """An endpoint that answers well in these forms, and refuses others, and schemas that a strict service refuses."""

    async def handle(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        form = body.get("response_format", {"type": "none"})
        faults = faults_of(form["json_schema"]["schema"]) if form["type"] == "json_schema" else []
        if form["type"] not in forms or faults:
            told = f"Invalid schema for response_format {form['type']}: {faults} is not permitted."
            return await refuses(400, told)(request, body)
        return await answers_well(request, body)

    return handle


@pytest.mark.long
@pytest.mark.parametrize(
    ("forms", "settings", "asked_with"),
    [
        (["json_schema"], {}, ["json_schema"] * 3),
        (["json_object", "none"], {}, ["json_schema"] + ["json_object"] * 3),
        (["none"], {}, ["json_schema", "json_object"] + ["none"] * 3),
        (["json_schema"], {"structured_output": "bounded_json_schema"}, ["json_schema"] * 4),
        (["none"], {"structured_output": "none"}, ["none"] * 3),
    ],
    ids=["strict schemas", "schemas refused", "JSON mode refused", "bounds refused", "no mode asked for"],
)
async def test_a_model_reasons_whatever_form_of_answer_its_endpoint_takes(
    asked: Asked, forms: list[str], settings: dict[str, Any], asked_with: list[str]
) -> None:
    document, endpoint = await asked(takes_only(*forms), **settings)
    assert (document["terminal_reason"], document["reasoner"], document["rules_took_over"]) == ("completed", "llm", [])
    assert "This is the place that was asked for. [" in document["answer"]
    assert [body.get("response_format", {"type": "none"})["type"] for body in endpoint.bodies] == asked_with
    assert document["usage"]["llm_calls"] == 3


async def test_what_the_model_writes_is_shown_before_it_is_whole_and_never_taken_for_the_answer(asked: Asked) -> None:
    is_seen = asyncio.Event()
    drafts: Drafts = {}

    def watch(event: ClientEvent) -> None:
        nonlocal drafts
        if event.type in TEXT_EVENTS:
            assert (event.stage, event.data["provisional"]) == ("synthesizer", True)
            drafts = with_text(drafts, event)
            is_seen.set()

    async def waits_until_seen(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if OPENINGS_OF["synthesizer"] not in body["messages"][1]["content"]:
            return await answers_well(request, body)
        made_up = written("definition", "It calls launch_rocket() [x.py:1].", (1, 0, 0))
        told = json.dumps({"claims": [made_up], "contradictions": [], "open_questions": []})
        begun, rest = told[: told.index(")") + 1], told[told.index(")") + 1 :]
        response = await begins(request, begun)
        await is_seen.wait()
        await response.write(event(rest, finish="stop"))
        await response.write(b"data: [DONE]\n\n")
        return response

    document, _ = await asked(waits_until_seen, on_event=watch, silence_timeout_s=60)
    assert [text[:24] for text in drafts.values()] == ["It calls launch_rocket()"]
    assert "launch_rocket" not in document["answer"]


@pytest.mark.parametrize(
    ("handler", "patience_s"),
    long_but(
        [
            (refuses(500), PATIENT_S),
            (refuses(400, "maximum context length is 5 tokens"), PATIENT_S),
            (refuses(401, "no key"), PATIENT_S),
            (hangs, IMPATIENT_S),
            (sends(event("{"), then_hangs=True), IMPATIENT_S),
            (sends(event('{"intent": "half')), PATIENT_S),
            (sends(b"data: {garbage\n\n"), PATIENT_S),
            (says("not what was asked for"), PATIENT_S),
            (says("{}"), PATIENT_S),
        ],
        0,
        3,
        6,
        7,
    ),
    ids=["500", "400", "401", "hangs", "falls silent", "truncated", "garbage", "prose", "empty object"],
)
async def test_a_broken_endpoint_loses_no_run_and_the_answer_says_so(
    asked: Asked, handler: Handler, patience_s: float
) -> None:
    document, _ = await asked(handler, silence_timeout_s=patience_s)
    assert exit_status(document) == 1, "the model that was wanted did nothing"
    assert document["model_unused"]
    assert "No model took part in this answer" in document["answer"]
    assert document["citations"]
    agents = [record["agent"] for record in document["rules_took_over"]]
    assert agents == ["intent", "planner", "synthesizer", "critic"]
    assert all(record["why"] for record in document["rules_took_over"])
    assert "rules took its place" in document["answer"]


async def test_counts_that_cannot_be_lose_no_run_and_are_not_booked(asked: Asked) -> None:
    document, _ = await asked(says("{}", usage={"prompt_tokens": 10**30, "completion_tokens": 10**30}))
    assert exit_status(document) == 1
    assert document["citations"]
    assert 0 < document["usage"]["tokens_in"] < 100_000


async def test_why_rules_reasoned_is_told_to_a_person_once_for_each_reason(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    document, _ = await asked(refuses(404))
    print_document(document, as_json=False)
    told = capsys.readouterr().err
    assert told.count("the model could not be used") == 1
    assert "answered 404: no; look at base_url and model" in told


@pytest.mark.long
async def test_an_endpoint_that_is_down_loses_no_run(asked: Asked) -> None:
    document, _ = await asked(says("x"), is_up=False)
    assert exit_status(document) == 1
    assert document["citations"]
    assert "rules took its place" in document["answer"]
    assert document["usage"]["tokens_in"] == 0


async def test_calling_off_a_run_drops_its_request_at_the_endpoint(asked: Asked) -> None:
    at_work, dropped = asyncio.Event(), asyncio.Event()

    async def never_ends(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        try:
            await begins(request, "{")
            at_work.set()
            await asyncio.Event().wait()
        finally:
            dropped.set()
        raise AssertionError("an event that nobody sets was set")

    asking = asyncio.ensure_future(asked(never_ends, silence_timeout_s=600))
    async with asyncio.timeout(30):
        await at_work.wait()
        asking.cancel()
        await dropped.wait()
    await asyncio.wait({asking})


async def test_a_busy_endpoint_is_waited_for(asked: Asked) -> None:
    document, endpoint = await asked(refuses(429, Retry_After="0"), refuses(503, Retry_After="0"), answers_well)
    assert document["rules_took_over"] == []
    assert len(endpoint.bodies) == 5
