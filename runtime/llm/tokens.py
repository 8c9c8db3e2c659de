"""Counts the tokens of prompts before they are sent, and cuts text to a token budget.

A count may be too high, never too low, so that a reservation made by it suffices. Without the model's own tokenizer a
byte counts as a token, which no byte-level tokenizer exceeds; `bytes_per_token` is for models known to need fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from runtime.errors import SettingsError
from runtime.llm.messages import Message
from runtime.primitives.text_files import read_text_file

MAX_TOKENIZER_BYTES = 256 * 1024 * 1024
# Tokens that a chat template adds around a message (role, separators) and before the answer: 3 to 8 in known models.
TOKENS_PER_MESSAGE = 16


class TokenCounter(Protocol):
    """Counts and cuts by the tokens of one model."""

    def count(self, text: str) -> int:
        """Return at least as many tokens as the model makes of `text`."""

    def cut(self, text: str, budget_tokens: int) -> str:
        """Return the longest prefix of `text` within `budget_tokens`, as this counter counts."""


def count_messages(counter: TokenCounter, messages: Sequence[Message]) -> int:
    """Return at least as many tokens as a conversation takes, chat template included."""
    return TOKENS_PER_MESSAGE + sum(TOKENS_PER_MESSAGE + counter.count(message.content) for message in messages)


class ByteCounter:
    """Counts tokens by bytes, without a tokenizer."""

    def __init__(self, bytes_per_token: float = 1.0) -> None:
        self._bytes_per_token = bytes_per_token

    def count(self, text: str) -> int:
        return math.ceil(len(text.encode("utf-8", "replace")) / self._bytes_per_token)

    def cut(self, text: str, budget_tokens: int) -> str:
        room = max(0, math.floor(budget_tokens * self._bytes_per_token))
        return text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")


class TokenizerCounter:
    """Counts tokens by a model's own `tokenizer.json`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def open(cls, path: Path) -> TokenizerCounter:
        """Open the tokenizer in a file or in a model's folder. Raises SettingsError."""
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise SettingsError("counting by a tokenizer needs the extra 'llm': pip install 'jeeves[llm]'") from error
        file = path / "tokenizer.json" if path.is_dir() else path
        try:
            return cls(Tokenizer.from_str(read_text_file(file, MAX_TOKENIZER_BYTES)))
        except Exception as error:
            raise SettingsError(f"{file} cannot be read as a tokenizer: {error}", path=str(file)) from error

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def cut(self, text: str, budget_tokens: int) -> str:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        if len(encoded.ids) <= budget_tokens:
            return text
        # Cutting may move the border of the last token, so drop one more token until the rest is within the budget.
        for kept in range(max(0, budget_tokens), 0, -1):
            piece = text[: encoded.offsets[kept - 1][1]]
            if self.count(piece) <= budget_tokens:
                return piece
        return ""
