"""Provides a model that answers from a script, for tests, records its requests, and its client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from runtime.errors import ModelDownError
from runtime.llm.client import ModelClient
from runtime.llm.deployment import Deployment
from runtime.llm.messages import Completion, ModelRequest, Piece, TextDelta
from runtime.llm.model_file import DEFAULT_ROLE, ModelsFile, Role
from runtime.llm.tokens import ByteCounter, TokenCounter, count_messages
from runtime.primitives.clock import Clock

_NAME = "scripted"

Step = str | Exception | Callable[[ModelRequest], str]


class ScriptedModel:
    """Answers step by step; the last step repeats. A step is a text, an error to raise, or a function of the request.

    `requests` are those that it got, `called_off` counts those that were cancelled while held; `hold` keeps every
    answer back until it is set.
    """

    def __init__(
        self, script: Sequence[Step], max_model_len: int = 32_768, counter: TokenCounter | None = None
    ) -> None:
        self._script = list(script)
        self.max_model_len = max_model_len
        self.counter = counter or ByteCounter()
        self.requests: list[ModelRequest] = []
        self.called_off = 0
        self.closed = False
        self.hold = asyncio.Event()
        self.hold.set()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        step = self._script[min(len(self.requests), len(self._script) - 1)]
        self.requests.append(request)
        try:
            await self.hold.wait()
        except asyncio.CancelledError:
            self.called_off += 1
            raise
        if isinstance(step, Exception):
            raise step
        text = step if isinstance(step, str) else step(request)
        written = self.counter.cut(text, request.sampling.max_tokens)
        for start in range(0, len(written), 40):
            yield TextDelta(written[start : start + 40])
        yield Completion(
            text=written,
            finish_reason="stop" if written == text else "length",
            tokens_in=count_messages(self.counter, request.messages),
            tokens_out=self.counter.count(written),
            model=_NAME,
        )

    async def check(self) -> None:
        step = self._script[min(len(self.requests), len(self._script) - 1)]
        if isinstance(step, ModelDownError):
            raise step

    async def close(self) -> None:
        self.closed = True


def scripted_client(model: ScriptedModel, clock: Clock) -> ModelClient:
    """Return a client in which the model stands behind every role."""
    deployment = Deployment(backend=_NAME, model=_NAME, max_model_len=model.max_model_len)
    file = ModelsFile(deployments={_NAME: deployment}, roles={DEFAULT_ROLE: Role(deployment=_NAME)})
    return ModelClient(file, {_NAME: model}, clock)
