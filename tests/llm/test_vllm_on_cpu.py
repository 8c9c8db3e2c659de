"""A real engine behind the model client: vLLM on Ray Serve on two CPU cores, with a tiny model of random weights.

Its answers mean nothing. What counts is that they have the right form, end, can be called off and make no false
citation.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.models.schemas import CriticAnswer, IntentAnswer, PlanAnswer, SynthesisAnswer
from actors.model_handle import HandleBackend, handle_backend
from runtime.errors import ClusterError, ModelBrokeOffError, ModelDownError, ModelFailedError, ModelRefusedError
from runtime.llm.client_opening import counter_of
from runtime.llm.messages import Completion, Message, ModelRequest, Sampling, TextDelta
from runtime.llm.model_file import ModelsFile, load_models
from runtime.llm.protocol import drained
from runtime.llm.structured import bounded_schema, read_object
from runtime.llm.tokens import count_messages
from runtime.settings import shipped_config_dir
from serve.contributions import providers
from serve.llm.resources import llm_config_of
from serve.llm.throughput_bench import Measured, requests_of
from serve.llm.vllm_provider import VllmDeployment, bundles
from tests.capabilities.code_analysis.model_desk import ModelDesk
from tests.capabilities.code_analysis.support import AnalysisHarness, Produced, write_files
from tests.capabilities.code_analysis.test_evidence_chain import REPOSITORY, document_faults, ending_faults

ENDLESS = Sampling(max_tokens=3_000, temperature=1.0, seed=1)
PATIENT_S = 400.0

# Machines may be busy: only a hang is to end a test, and bringing the engine up counts for the first one.
pytestmark = pytest.mark.timeout(1_200)


def asked(text: str = "hello", sampling: Sampling | None = None, **more: Any) -> ModelRequest:
    return ModelRequest("r-1", (Message("user", text),), sampling or Sampling(32, 1.0, 7), **more)


@pytest.fixture
def backend(served: Any, deployment: VllmDeployment) -> HandleBackend:
    return handle_backend("main", deployment, counter_of(deployment))


async def until(holds: Callable[[dict[str, int]], bool], served: Any) -> dict[str, int]:
    """The server's stats once a condition holds."""
    async with asyncio.timeout(PATIENT_S):
        while True:
            stats: dict[str, int] = await served.stats.remote()
            if holds(stats):
                return stats
            await asyncio.sleep(0.05)


async def keep_asking(backend: HandleBackend, number: int) -> int:
    """Ask for long answers one after the other until called off; how many came to their end is returned."""
    finished = 0
    try:
        while True:
            await drained(backend, asked(f"number {number}", msgspec.structs.replace(ENDLESS, seed=number)))
            finished += 1
    except asyncio.CancelledError:
        return finished


async def test_an_answer_comes_with_what_it_took(backend: HandleBackend) -> None:
    request = asked()
    done = await drained(backend, request)
    assert 0 < done.tokens_out <= 32
    assert 0 < done.tokens_in <= count_messages(backend.counter, request.messages)
    assert done.finish_reason in {"stop", "length"}


async def test_text_comes_in_pieces_before_the_end(backend: HandleBackend) -> None:
    async with aclosing(backend.stream(asked(sampling=Sampling(400, 1.0, 3)))) as stream:
        pieces = [piece async for piece in stream]
    *deltas, done = pieces
    assert isinstance(done, Completion)
    texts = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    assert len(texts) > 3
    assert "".join(texts) == done.text


def as_the_grammar_counts(text: str) -> str:
    """One character for each lone surrogate: xgrammar counts its three bytes as one, decoding makes three of them."""
    return text.replace("\ufffd" * 3, "\ufffd")


@pytest.mark.parametrize("shape", [IntentAnswer, PlanAnswer, SynthesisAnswer, CriticAnswer])
async def test_an_answer_of_random_weights_has_the_form_that_was_asked_for(backend: HandleBackend, shape: Any) -> None:
    schema = bounded_schema(shape, {"goals": ["definition", "usage"], "tools": ["locate"]})
    for seed in range(3):
        done = await drained(backend, asked(sampling=Sampling(2_500, 1.0, seed), schema=schema))
        assert done.finish_reason == "stop", "the schema itself ends an answer"
        jsonschema.validate(json.loads(as_the_grammar_counts(done.text), strict=False), schema)
        assert read_object(done.text, shape)


def test_the_grammar_counts_a_lone_surrogate_as_one_character() -> None:
    xgrammar: Any = importlib.import_module("xgrammar")

    end = 256
    vocabulary = [bytes([byte]) for byte in range(end)] + [b"<end>"]
    tokens = xgrammar.TokenizerInfo(vocabulary, xgrammar.VocabType.RAW, stop_token_ids=[end])
    compiled = xgrammar.GrammarCompiler(tokens).compile_json_schema(json.dumps({"type": "string", "maxLength": 3}))

    def taken(answer: bytes) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return all(matcher.accept_token(token) for token in (*answer, end))

    lone = b"\xed\xa0\x80"
    assert taken(b'"abc"') and not taken(b'"abcd"')
    assert taken(b'"ab' + lone + b'"') and not taken(b'"abc' + lone + b'"')
    assert as_the_grammar_counts("ab" + lone.decode("utf-8", "replace")) == "ab\ufffd"


async def test_eight_requests_are_served_side_by_side(backend: HandleBackend, served: Any) -> None:
    asking = [asyncio.create_task(keep_asking(backend, number)) for number in range(8)]
    await until(lambda stats: stats["running"] >= 4, served)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking)
    answers = [drained(backend, asked(f"number {number}", Sampling(60, 1.0, number))) for number in range(8)]
    assert all(done.tokens_out for done in await asyncio.gather(*answers))


async def test_calling_off_aborts_the_request_in_the_engine(backend: HandleBackend, served: Any) -> None:
    before = await until(lambda stats: stats["running"] == 0, served)
    asking = [asyncio.create_task(keep_asking(backend, number)) for number in range(3)]
    await until(lambda stats: stats["running"] == 3, served)
    for task in asking:
        task.cancel()
    finished = sum(await asyncio.gather(*asking))
    after = await until(lambda stats: stats["running"] == 0 and stats["waiting"] == 0, served)
    assert after["requests"] - before["requests"] < finished + len(asking), "none was aborted: all were written out"


async def test_an_answer_that_takes_too_long_is_given_up_and_leaves_the_engine(
    served: Any, deployment: VllmDeployment
) -> None:
    await until(lambda stats: stats["running"] == 0, served)
    hasty = deployment.model_copy(update={"total_timeout_s": 0.2})
    with pytest.raises(ModelBrokeOffError, match=r"no answer within 0\.2 s"):
        await drained(handle_backend("main", hasty, counter_of(hasty)), asked(sampling=ENDLESS))
    await until(lambda stats: stats["running"] == 0 and stats["waiting"] == 0, served)


async def test_both_ways_inside_the_replica_are_timed_to_the_first_text_of_each_answer(served: Any) -> None:
    data = msgspec.msgpack.encode(requests_of(2, 16, 0))
    for method in (served.bare, served.in_process):
        found = msgspec.msgpack.decode(await method.remote(data), type=Measured)
        assert 0 < found.tokens_out <= 32
        assert len(found.first_s) == 2


async def test_one_more_user_does_not_wait_behind_all_of_another(backend: HandleBackend, served: Any) -> None:
    await until(lambda stats: stats["running"] == 0, served)
    many = [asked("x", Sampling(600, 1.0, number), user_id="many") for number in range(32)]
    flood = [asyncio.create_task(drained(backend, request)) for request in many]
    await until(lambda stats: stats["waiting"] >= 16, served)
    await drained(backend, asked("y", Sampling(1, 1.0, 1), user_id="one"))
    assert sum(task.done() for task in flood) < 24
    await asyncio.gather(*flood)


async def test_what_is_too_long_for_the_engine_is_refused_in_words(backend: HandleBackend) -> None:
    with pytest.raises(ModelRefusedError):
        await drained(backend, asked("word " * 5_000))


async def test_seeds_and_prompts_that_are_worked_out_in_parts_do_not_kill_the_engine(backend: HandleBackend) -> None:
    long = [asked(f"{number} " + "word and " * 900, Sampling(4, 1.0, number)) for number in range(8)]
    assert all([(await task).tokens_out for task in [asyncio.create_task(drained(backend, each)) for each in long]])


async def test_a_schema_that_the_engine_cannot_hold_is_refused(backend: HandleBackend) -> None:
    with pytest.raises(ModelFailedError):
        await drained(backend, asked(schema={"type": "no such type"}))


async def test_an_application_that_does_not_run_is_a_model_that_is_down(
    served: Any, deployment: VllmDeployment
) -> None:
    nobody = handle_backend("nobody", deployment, counter_of(deployment))
    with pytest.raises(ModelDownError, match="jeeves serve --models"):
        await drained(nobody, asked())


async def test_prompts_that_begin_alike_are_found_in_the_prefix_cache(backend: HandleBackend) -> None:
    opening = "The same long opening for all. " * 60
    first = await drained(backend, asked(f"{opening} one"))
    second = await drained(backend, asked(f"{opening} two"))
    block = 128
    shared = (first.tokens_in - 8) // block * block
    assert second.tokens_cached >= 0.95 * shared


@pytest.mark.parametrize("seed", range(3))
async def test_whole_runs_with_random_weights_end_within_their_bounds_without_a_false_citation(
    backend: HandleBackend, tiny: ModelsFile, tmp_path: Path, seed: int
) -> None:
    root = tmp_path / "repo"
    write_files(root, REPOSITORY)
    desk, produced = await AnalysisHarness.open(root, tmp_path / "state"), Produced(root)
    models = tiny.model_copy(
        update={"roles": {"default": tiny.role("default").model_copy(update={"temperature": 1.0})}}
    )
    questions = ("How does deliver_parcel work?", "Where is MAX_PARCELS defined?", "Who calls is_full?")
    patient = desk.config.model_copy(update={"default_timeout_s": PATIENT_S})
    model_desk = ModelDesk(desk, backend, produced.recording(CAPABILITY), patient, models)
    document = await model_desk.ask(questions[seed])
    assert document_faults(document, root, produced) == []
    assert ending_faults(document) == []
    assert document["usage"]["llm_calls"] <= 28
    assert document["usage"]["tokens_out"] > 0


def test_the_bundles_that_are_printed_are_those_that_ray_makes(served: Any) -> None:
    from ray.serve.llm import LLMConfig
    from ray.serve.llm.deployment import LLMServer

    for path in sorted((shipped_config_dir() / "models").glob("vllm*.yaml")):
        for name, each in load_models(path, contributed=providers()).deployments.items():
            assert isinstance(each, VllmDeployment)
            options = LLMServer.get_deployment_options(LLMConfig(**llm_config_of(name, each)))
            asked_for = options["placement_group_bundles"]
            made = [{key: amount for key, amount in bundle.items() if amount} for bundle in asked_for]
            assert made == bundles(each), path.stem


def test_a_model_for_gpus_is_not_waited_for_where_there_is_none(served: Any) -> None:
    from serve.llm.model_server import deploy

    with pytest.raises(ClusterError, match=r"'main' asks for more than the cluster has: GPU 1 \(has 0\)"):
        deploy(load_models(shipped_config_dir() / "models" / "vllm_h100.yaml", contributed=providers()))


def test_an_engine_setting_that_there_is_not_is_told_with_the_deployment_and_what_is_wrong(
    served: Any, tiny: ModelsFile, deployment: VllmDeployment
) -> None:
    from serve.llm.model_server import deploy

    wrong = deployment.model_copy(update={"engine": {**deployment.engine, "no_such_setting": 1}})
    with pytest.raises(ClusterError, match=r"'main' does not come up: .*no_such_setting.*correct the model file"):
        deploy(tiny.model_copy(update={"deployments": {"main": wrong}}))


async def test_a_deployment_that_serves_answers_and_one_that_is_not_there_does_not(
    backend: HandleBackend, deployment: VllmDeployment
) -> None:
    await backend.check()
    with pytest.raises(ModelDownError, match="nobody"):
        await handle_backend("nobody", deployment, counter_of(deployment)).check()


async def test_a_replica_that_is_killed_breaks_its_requests_off_and_the_next_one_serves(
    backend: HandleBackend, served: Any
) -> None:
    reading = asyncio.create_task(keep_asking(backend, 1))
    stats = await until(lambda stats: stats["running"] >= 1, served)
    os.kill(stats["pid"], signal.SIGKILL)
    with pytest.raises((ModelBrokeOffError, ModelDownError)):
        await asyncio.wait_for(reading, PATIENT_S)
    async with asyncio.timeout(PATIENT_S):
        while True:
            try:
                assert (await drained(backend, asked())).tokens_out
                return
            except ModelFailedError:
                await asyncio.sleep(1)
