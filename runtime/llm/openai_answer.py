"""Parses an answer of an OpenAI-compatible endpoint as it arrives: deltas, completion, faults.

Nothing that a server sends is trusted: lines may be no JSON, answers may not end, counts may be impossible.
"""

from __future__ import annotations

import json
from typing import Any

from runtime.errors import ModelBrokeOffError
from runtime.llm.messages import Completion, FinishReason, ModelRequest, TextDelta
from runtime.llm.tokens import TokenCounter, count_messages

# No tokenizer makes tokens longer than this on average: an endpoint that sends more ignores max_tokens.
MAX_CHARS_PER_TOKEN = 64
MAX_TOLD_CHARS = 150
_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length"}


class OpenAIAnswer:
    """Parses one response from `url`. `most_tokens`: the context length of its model, the most a count may be."""

    def __init__(self, request: ModelRequest, counter: TokenCounter, model: str, url: str, most_tokens: int) -> None:
        self._request = request
        self._counter = counter
        self._model = model
        self._url = url
        self._most_tokens = most_tokens
        self._parts: list[str] = []
        self._room = MAX_CHARS_PER_TOKEN * request.sampling.max_tokens
        self._finish: FinishReason | None = None
        self._usage: dict[str, Any] = {}
        self.is_over = False

    def take(self, line: bytes) -> list[TextDelta]:
        """Return the deltas in one line of an event stream. Raises ModelBrokeOffError for a line of no valid event."""
        text = line.decode("utf-8", "replace").strip()
        if not text.startswith("data:"):
            return []
        data = text.removeprefix("data:").strip()
        if data == "[DONE]":
            self.is_over = True
            return []
        event = self._read(data)
        if isinstance(event.get("error"), dict):
            raise self.broke_off(f"gave up: {str(event['error'].get('message'))[:MAX_TOLD_CHARS]}")
        self._note_usage(event)
        deltas = []
        for choice in self._choices(event):
            content = _content(choice.get("delta"))
            if content:
                deltas.append(TextDelta(self._add(content)))
            self._note_finish(choice)
        return deltas

    def whole(self, data: bytes) -> Completion:
        """Return the completion in an answer that the server did not stream although the request asked for it."""
        event = self._read(data.decode("utf-8", "replace"))
        self._note_usage(event)
        for choice in self._choices(event):
            self._add(_content(choice.get("message")))
            self._note_finish(choice)
        return self.completion()

    def completion(self) -> Completion:
        """Return the answer as a completion. Raises ModelBrokeOffError if it has not come to its end."""
        if self._finish is None:
            raise self.broke_off("ended before the answer did")
        text = "".join(self._parts)
        details = self._usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return Completion(
            text=text,
            finish_reason=self._finish,
            tokens_in=self._plausible_count(self._usage.get("prompt_tokens"), self._tokens_in()),
            tokens_out=self._plausible_count(self._usage.get("completion_tokens"), self._counter.count(text)),
            tokens_cached=self._plausible_count(cached, 0),
            model=self._model,
        )

    def broke_off(self, why: str) -> ModelBrokeOffError:
        """Return the error for an incomplete answer; prompt and text received so far count as spent."""
        tokens_out = self._counter.count("".join(self._parts))
        return ModelBrokeOffError(f"{self._url} {why}", tokens_in=self._tokens_in(), tokens_out=tokens_out)

    def _plausible_count(self, count: Any, otherwise: int) -> int:
        """Return a count of the server's, or our own if it gives none or one outside what its model takes."""
        is_count = isinstance(count, int) and not isinstance(count, bool)
        return count if is_count and 0 <= count <= self._most_tokens else otherwise

    def _tokens_in(self) -> int:
        return count_messages(self._counter, self._request.messages)

    def _add(self, content: str) -> str:
        self._room -= len(content)
        if self._room < 0:
            raise self.broke_off(f"goes on beyond {self._request.sampling.max_tokens} tokens")
        self._parts.append(content)
        return content

    def _read(self, data: str) -> dict[str, Any]:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.broke_off(f"sent what is no JSON: {data[:80]!r}") from error
        if not isinstance(event, dict):
            raise self.broke_off(f"sent a {type(event).__name__}, not an object: {data[:80]!r}")
        return event

    def _choices(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        choices = event.get("choices")
        return [item for item in choices[:1] if isinstance(item, dict)] if isinstance(choices, list) else []

    def _note_usage(self, event: dict[str, Any]) -> None:
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]

    def _note_finish(self, choice: dict[str, Any]) -> None:
        if isinstance(reason := choice.get("finish_reason"), str):
            self._finish = _FINISH.get(reason, "other")


def _content(part: Any) -> str:
    content = part.get("content") if isinstance(part, dict) else None
    return content if isinstance(content, str) else ""
