"""Defines requests to models and their answers: plain data, the same for every backend."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "other"]


class Message(msgspec.Struct, frozen=True):
    """Holds one message of a conversation with a model."""

    role: Role
    content: str


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sets how an answer is sampled.

    `max_tokens` bounds the answer; `temperature` 0 takes the likeliest token, None leaves it to the endpoint.

    `seed` works only with backends that support it: vLLM on a CPU does not.
    """

    max_tokens: int
    temperature: float | None = None
    seed: int | None = None


class ModelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Describes one model call. `schema`: the JSON schema that the answer must fit; None for free text.

    `user_id`: the user whose share of the model the call counts against. `in_pieces`: the caller reads the deltas;
    otherwise a backend may return the answer in one piece.
    """

    request_id: str
    messages: tuple[Message, ...]
    sampling: Sampling
    schema: dict[str, Any] | None = None
    user_id: str = "local"
    in_pieces: bool = True


class TextDelta(msgspec.Struct, frozen=True, tag="delta"):
    """Carries the next piece of an answer that is being written."""

    text: str


class Completion(msgspec.Struct, frozen=True, tag="completion"):
    """Carries a finished answer and its token counts. `tokens_cached`: those of `tokens_in` in the server's cache.

    `cost_micro`: what the call cost in millionths of the currency, by the prices of its deployment.
    """

    text: str
    finish_reason: FinishReason
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    model: str = ""
    cost_micro: int = 0


Piece = TextDelta | Completion
