"""What is asked of a model and what comes back: plain data, the same for every backend."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "other"]


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation with a model."""

    role: Role
    content: str


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an answer is drawn. `max_tokens` bounds the answer; `temperature` 0 takes the likeliest token.

    `seed` is heeded where the backend can: vLLM on a CPU cannot.
    """

    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None


class ModelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of a model. `schema`: the JSON schema that the answer must fit; None for free text.

    `user_id` is whom the call counts for where users share a model. `in_pieces`: somebody watches the answer grow; a
    backend may give one that nobody watches in one piece.
    """

    request_id: str
    messages: tuple[Message, ...]
    sampling: Sampling
    schema: dict[str, Any] | None = None
    user_id: str = "local"
    in_pieces: bool = True


class TextDelta(msgspec.Struct, frozen=True, tag="delta"):
    """The next piece of an answer that is being written."""

    text: str


class Completion(msgspec.Struct, frozen=True, tag="completion"):
    """A finished answer, and what it took. `tokens_cached`: of `tokens_in`, those that the server had at hand."""

    text: str
    finish_reason: FinishReason
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    model: str = ""


Piece = TextDelta | Completion
