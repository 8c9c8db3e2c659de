"""Serves a model on Ray Serve: extends ray.serve.llm's server by a method that agents call by handle.

The method calls the engine in its process, without OpenAI objects or server-sent events. Requests are scheduled fairly
between users, text is sent in batches of some milliseconds, and a caller that disconnects aborts its request in the
engine. Needs vLLM (extra `gpu`, or the environment of `make llm-env`); imported by replicas and to deploy them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import ray
from ray import serve as ray_serve
from ray.serve.llm import LLMConfig, build_llm_deployment
from ray.serve.llm.deployment import LLMServer
from vllm import SamplingParams
from vllm.exceptions import VLLMClientError
from vllm.platforms import current_platform
from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

from actors.actor_logs import configure_actor_logs
from actors.model_handle import REFUSED, application_name
from actors.origin import check_origin
from runtime.errors import ClusterError
from runtime.llm.fair_share import FairShare
from runtime.llm.messages import Completion, FinishReason, ModelRequest, Piece, TextDelta
from runtime.llm.model_file import ModelsFile
from serve.llm.resources import lacking, llm_config_of
from serve.llm.start_failure import cause_in
from serve.llm.throughput_bench import all_at_once
from serve.llm.vllm_provider import VllmDeployment
from serve.replica_port import keep_to_the_node

# Pieces that come within this time of the last go out together, for each answer that is streamed right now: a message
# between processes costs about a millisecond on both sides, whatever is in it, and who watches reads a few times a
# second. The first piece of an answer goes at once.
TOGETHER_S = 0.05
TOGETHER_PER_STREAM_S = 0.01
MOST_TOGETHER_S = 0.5

_REQUEST = msgspec.msgpack.Decoder(ModelRequest)
_REQUESTS = msgspec.msgpack.Decoder(list[ModelRequest])
_PIECES = msgspec.msgpack.Decoder(list[Piece])
_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length"}


class ModelServer(LLMServer):
    """Runs one replica: an engine, and as many slots as it accepts concurrent requests."""

    async def __init__(self, llm_config: LLMConfig, **options: Any) -> None:  # type: ignore[misc]
        check_origin()
        configure_actor_logs("model")
        keep_to_the_node()
        await super().__init__(llm_config, **options)
        self._share = FairShare(int(llm_config.engine_kwargs["max_num_seqs"]))
        self._model = str(llm_config.model_id)
        self._streams = 0
        self._served = {"requests": 0, "tokens_in": 0, "tokens_cached": 0, "tokens_out": 0}

    async def answer(self, data: bytes) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of the answer to a request (both MessagePack), the last of which is the completion."""
        request = _REQUEST.decode(data)
        async with self._share.place(request.user_id):
            waiting: list[Piece] = []
            sent_s = 0.0
            self._streams += request.in_pieces
            try:
                async for piece in self._pieces(request):
                    waiting.append(piece)
                    is_due = time.perf_counter() - sent_s >= together_s(self._streams)
                    if isinstance(piece, Completion) or (request.in_pieces and is_due):
                        yield msgspec.msgpack.encode(_joined(waiting) if request.in_pieces else waiting[-1:])
                        waiting, sent_s = [], time.perf_counter()
            finally:
                self._streams -= request.in_pieces

    async def bare(self, data: bytes) -> bytes:
        """Run requests (MessagePack) concurrently on the bare engine: the baseline of `jeeves bench llm`."""

        async def stream(request: ModelRequest) -> AsyncGenerator[tuple[str, int], None]:
            prompt = {"prompt_token_ids": await self._prompt_tokens(request)}
            async for output in self._engine().generate(prompt, _sampling(request), f"bare-{request.request_id}"):
                yield output.outputs[0].text, len(output.outputs[0].token_ids)

        return msgspec.msgpack.encode(await all_at_once(_REQUESTS.decode(data), stream))

    async def in_process(self, data: bytes) -> bytes:
        """Run requests through this deployment's own path, in its process: the baseline of the handle's overhead."""

        async def stream(request: ModelRequest) -> AsyncGenerator[tuple[str, int], None]:
            async for pieces in self.answer(msgspec.msgpack.encode(request)):
                for piece in _PIECES.decode(pieces):
                    yield (piece.text, 0) if isinstance(piece, TextDelta) else ("", piece.tokens_out)

        return msgspec.msgpack.encode(await all_at_once(_REQUESTS.decode(data), stream))

    async def stats(self) -> dict[str, int]:
        """Return the process id, the numbers of running and waiting requests, and totals since the start.

        Totals: requests, prompt tokens, those found in the prefix cache, answer tokens.
        """
        return {
            "pid": os.getpid(),
            "running": int(self._engine().get_num_unfinished_requests()),
            "waiting": self._share.waiting,
            **self._served,
        }

    def _engine(self) -> Any:
        engine: Any = self.engine
        return engine._engine_client

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        tokens = await self._prompt_tokens(request)
        text: list[str] = []
        tokens_out, cached, reason = 0, 0, "other"
        try:
            outputs = self._engine().generate(
                {"prompt_token_ids": tokens}, _sampling(request), f"{request.request_id}-{time.monotonic_ns()}"
            )
            async for output in outputs:
                (written,) = output.outputs
                tokens_out += len(written.token_ids)
                cached = output.num_cached_tokens or cached
                reason = written.finish_reason or reason
                if written.text:
                    text.append(written.text)
                    yield TextDelta(written.text)
        except (ValueError, VLLMClientError) as error:
            raise RuntimeError(f"{REFUSED}{error}") from error
        for name, count in (("requests", 1), ("tokens_in", len(tokens)), ("tokens_cached", cached)):
            self._served[name] += count
        self._served["tokens_out"] += tokens_out
        finish = _FINISH.get(reason, "other")
        yield Completion("".join(text), finish, len(tokens), tokens_out, cached, self._model)

    async def _prompt_tokens(self, request: ModelRequest) -> list[int]:
        tokenizer = self._engine().get_tokenizer()
        if asyncio.iscoroutine(tokenizer):
            tokenizer = await tokenizer
        turns = [{"role": message.role, "content": message.content} for message in request.messages]
        made = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=True, return_dict=False)
        return list(made)


def together_s(streams: int) -> float:
    """Return how long the pieces of an answer are batched before they are sent, for that many streamed answers."""
    return min(MOST_TOGETHER_S, max(TOGETHER_S, TOGETHER_PER_STREAM_S * streams))


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Join the text of all deltas into one."""
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    return [*([TextDelta(text)] if text else []), *(piece for piece in pieces if isinstance(piece, Completion))]


def _sampling(request: ModelRequest) -> SamplingParams:
    held = None
    if request.schema is not None:
        held = StructuredOutputsParams(json=request.schema, disable_any_whitespace=True)
    return SamplingParams(
        max_tokens=request.sampling.max_tokens,
        temperature=request.sampling.temperature or 0.0,
        # On a CPU a seed kills the engine as soon as a prompt is worked out in parts: vLLM 0.29 winds the generator
        # back, which torch cannot do there.
        seed=None if current_platform.is_cpu() else request.sampling.seed,
        structured_outputs=held,
        output_kind=RequestOutputKind.DELTA if request.in_pieces else RequestOutputKind.FINAL_ONLY,
    )


def deploy(models: ModelsFile) -> list[str]:
    """Deploy every vLLM deployment that a role uses, on the connected cluster, and return their applications' names.

    Returns once each has a replica that answers. Raises ClusterError if the cluster lacks resources that they request,
    or if one does not come up.
    """
    problems = lacking(models, ray.cluster_resources())  # type: ignore[no-untyped-call]
    if problems:
        told = "; ".join(problems)
        raise ClusterError(f"{told}; join a cluster that has it (`ray.address`), or let the model file ask for less")
    # It has a handler of its own, on standard error.
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    deployed = []
    for name, deployment in models.used_of(VllmDeployment).items():
        _bring_up(name, deployment)
        deployed.append(application_name(name))
    return deployed


def _bring_up(name: str, deployment: VllmDeployment) -> None:
    try:
        config = LLMConfig(**llm_config_of(name, deployment))
        application = build_llm_deployment(config, deployment_cls=ModelServer)
        ray_serve.run(application, name=application_name(name), route_prefix=None)
    except (RuntimeError, ValueError, TypeError, OSError) as error:
        found = ray_serve.status().applications.get(application_name(name))
        told = [each.message for each in found.deployments.values()] if found else []
        source = "" if Path(deployment.model).is_dir() else ", which is no folder here and was asked for by its name"
        raise ClusterError(
            f"deployment '{name}' does not come up: {cause_in([*told, _trace(error)])} (its model is "
            f"{deployment.model}{source}); "
            "correct the model file, or look into the logs of Ray's workers"
        ) from error


def _trace(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
