"""Defines the protocol of model backends: token counting, and answers streamed up to their completion.

A request is cancelled by closing its stream or cancelling its reader; a backend passes that on to the engine.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from runtime.errors import ModelBrokeOffError
from runtime.llm.messages import Completion, ModelRequest, Piece
from runtime.llm.tokens import TokenCounter


class ModelBackend(Protocol):
    """Serves requests from one deployment of one model."""

    max_model_len: int
    counter: TokenCounter

    def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield text deltas, then one Completion.

        Raises ModelBusyError, ModelDownError and ModelRefusedError when nothing was served, and ModelBrokeOffError when
        something may have been.
        """

    async def check(self) -> None:
        """Check that the deployment answers, without spending tokens. Raises ModelDownError if it does not."""

    async def close(self) -> None:
        """Close connections."""


async def drained(backend: ModelBackend, request: ModelRequest) -> Completion:
    """Return the completion of a request and discard its deltas. Raises what `stream` raises."""
    async with aclosing(backend.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Completion):
                return piece
    raise ModelBrokeOffError("the model's stream ended without a completion")
