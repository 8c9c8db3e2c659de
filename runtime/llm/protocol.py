"""What a model backend is: counts tokens, and streams an answer that ends with its completion.

Calling a request off is closing its stream (cancelling who reads it): a backend passes that on to the engine.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from runtime.errors import ModelBrokeOffError
from runtime.llm.messages import Completion, ModelRequest, Piece
from runtime.llm.tokens import TokenCounter


class ModelBackend(Protocol):
    """One deployment of one model."""

    max_model_len: int
    counter: TokenCounter

    def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Text deltas, then one Completion.

        Raises ModelBusyError, ModelDownError and ModelRefusedError when nothing was served, and ModelBrokeOffError when
        something may have been.
        """

    async def check(self) -> None:
        """Return when the deployment answers, at the cost of no tokens. Raises ModelDownError when it does not."""

    async def close(self) -> None:
        """Give back connections."""


async def drained(backend: ModelBackend, request: ModelRequest) -> Completion:
    """The completion of a request whose pieces nobody watches. Raises what `stream` raises."""
    async with aclosing(backend.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Completion):
                return piece
    raise ModelBrokeOffError("the model's stream ended without a completion")
