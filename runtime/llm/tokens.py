"""Counting the tokens of a prompt before it is sent, and cutting text to a number of tokens.

A count may be too high, never too low: what was reserved by it holds. Without the model's own tokenizer a byte counts
as a token, which no byte-level tokenizer exceeds; `bytes_per_token` says that a model is known to need fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from runtime.errors import SettingsError
from runtime.llm.messages import Message

# What a chat template writes around a message (role, separators) and before the answer: 3 to 8 in known models.
TOKENS_PER_MESSAGE = 16


class TokenCounter(Protocol):
    """Counts and cuts by the tokens of one model."""

    def count(self, text: str) -> int:
        """At least as many tokens as the model makes of `text`."""

    def cut(self, text: str, budget_tokens: int) -> str:
        """The longest beginning of `text` within `budget_tokens`, as far as the counter can tell."""


def count_messages(counter: TokenCounter, messages: Sequence[Message]) -> int:
    """At least as many tokens as a conversation takes, template included."""
    return TOKENS_PER_MESSAGE + sum(TOKENS_PER_MESSAGE + counter.count(message.content) for message in messages)


class ByteCounter:
    """Counts without a tokenizer."""

    def __init__(self, bytes_per_token: float = 1.0) -> None:
        self._bytes_per_token = bytes_per_token

    def count(self, text: str) -> int:
        return math.ceil(len(text.encode("utf-8", "replace")) / self._bytes_per_token)

    def cut(self, text: str, budget_tokens: int) -> str:
        room = max(0, math.floor(budget_tokens * self._bytes_per_token))
        return text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")


class TokenizerCounter:
    """Counts by a model's own `tokenizer.json`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def open(cls, path: Path) -> TokenizerCounter:
        """The tokenizer in a file or in a model's folder. Raises SettingsError."""
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise SettingsError("counting by a tokenizer needs the extra 'llm': pip install 'jeeves[llm]'") from error
        file = path / "tokenizer.json" if path.is_dir() else path
        try:
            return cls(Tokenizer.from_file(str(file)))
        except Exception as error:
            raise SettingsError(f"{file} cannot be read as a tokenizer: {error}", path=str(file)) from error

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def cut(self, text: str, budget_tokens: int) -> str:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        if len(encoded.ids) <= budget_tokens:
            return text
        # Cutting moves the border of the last token; a token less is tried until what is left counts as it should.
        for kept in range(max(0, budget_tokens), 0, -1):
            piece = text[: encoded.offsets[kept - 1][1]]
            if self.count(piece) <= budget_tokens:
                return piece
        return ""
