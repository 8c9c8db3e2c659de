"""Calls models on Ray Serve in the same cluster by their deployment handles, without HTTP.

Requests and the pieces of answers travel as MessagePack; the server's side is `serve.llm.model_server`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from runtime.errors import ModelBrokeOffError, ModelBusyError, ModelDownError, ModelRefusedError
from runtime.llm.deployment import Deployment
from runtime.llm.messages import Completion, ModelRequest, Piece
from runtime.llm.tokens import TokenCounter, count_messages
from runtime.primitives.clock import SystemClock, wait_at_most

_PIECES = msgspec.msgpack.Decoder(list[Piece])

# The prefix of the server's refusals: an error class of the server may not be importable here.
REFUSED = "model request refused: "


def application_name(deployment: str) -> str:
    """Return the name of the Ray Serve application of a deployment in a model file."""
    return f"model-{deployment}"


def handle_backend(name: str, deployment: Deployment, counter: TokenCounter) -> HandleBackend:
    """Create a backend for a deployment; a missing application is detected at the first request."""
    return HandleBackend(application_name(name), deployment, counter)


class HandleBackend:
    """Calls one application of Ray Serve."""

    def __init__(self, application: str, deployment: Deployment, counter: TokenCounter) -> None:
        self.max_model_len = deployment.max_model_len
        self.counter = counter
        self._application = application
        self._total_timeout_s = deployment.total_timeout_s
        self._handle: Any = None
        self._clock = SystemClock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        from ray.exceptions import RayError, RayTaskError
        from ray.serve.exceptions import BackPressureError, RayServeException

        until_s = self._clock.monotonic_s() + self._total_timeout_s
        response = self._opened().answer.remote(msgspec.msgpack.encode(request))
        is_over, has_begun = False, False
        try:
            while not is_over:
                left_s = max(0.0, until_s - self._clock.monotonic_s())
                try:
                    data = await wait_at_most(self._clock, left_s, response.__anext__())
                except StopAsyncIteration:
                    break
                has_begun = True
                for piece in _PIECES.decode(data):
                    is_over = is_over or isinstance(piece, Completion)
                    yield piece
        except BackPressureError as error:
            raise ModelBusyError(f"{self._application} has as many requests as it takes: {error}") from error
        except RayTaskError as error:
            told = str(error.cause or error).strip().splitlines()[-1]
            if REFUSED in told:
                raise ModelRefusedError(told.partition(REFUSED)[2]) from error
            raise self._broke_off(request, told) from error
        except RayServeException as error:
            raise ModelDownError(f"{self._application} does not answer: {error}") from error
        except RayError as error:
            if not has_begun and "died" not in str(error).lower():
                raise ModelDownError(f"{self._application} does not answer: {error}") from error
            raise self._broke_off(request, f"its replica died: {type(error).__name__}") from error
        except TimeoutError as error:
            raise self._broke_off(request, f"no answer within {self._total_timeout_s:g} s") from error
        finally:
            if not is_over:
                response.cancel()

    async def check(self) -> None:
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        try:
            await self._opened().options(stream=False).stats.remote()
        except (RayError, RayServeException) as error:
            raise ModelDownError(f"{self._application} does not answer: {error}") from error

    async def close(self) -> None:
        self._handle = None

    def _opened(self) -> Any:
        from ray import serve as ray_serve
        from ray.serve.exceptions import RayServeException

        if self._handle is None:
            try:
                self._handle = ray_serve.get_app_handle(self._application).options(stream=True)
            except RayServeException as error:
                raise ModelDownError(
                    f"no application {self._application} runs on this cluster; `jeeves serve --models FILE` starts it",
                    permanent=True,
                ) from error
        return self._handle

    def _broke_off(self, request: ModelRequest, why: str) -> ModelBrokeOffError:
        tokens_in = count_messages(self.counter, request.messages)
        return ModelBrokeOffError(f"{self._application} broke off: {why}", tokens_in=tokens_in)
