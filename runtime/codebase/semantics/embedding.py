"""Computes sentence embeddings on the CPU by all-MiniLM-L6-v2 with int8 weights.

Imported only where the packages of the model are installed. The model is loaded when it first embeds, which takes about
a third of a second, and only if its file has the expected SHA-256.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.semantics.model_file import checked_model

DIMENSIONS = 384
MAX_TOKENS = 128
MAX_CHARS = 3_000
# Of a text, 128 tokens each, with the first one.
MAX_WINDOWS = 4

Vectors = NDArray[np.float32]

_TOKENIZER = Path(__file__).parent / "minilm" / "tokenizer.json"


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, in order, of length 1."""
        ...


@functools.cache
def shared_embedder() -> MiniLM:
    """Return the embedder of this process; its model is not loaded yet."""
    return MiniLM()


class MiniLM:
    """Embeds by all-MiniLM-L6-v2; only the first 128 tokens of a text count. One object serves several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, in order, of length 1."""
        with self._guard:
            session, tokenizer = self._load()
            encoded = [found.ids for found in tokenizer.encode_batch([_valid(text) for text in texts])]
        # One at a time: on one thread a batch is no faster, and each text of it takes some ten megabytes more.
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, tokens in enumerate(encoded):
            vectors[row] = _run(session, tokens)
        return vectors

    def further_windows(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text a row for each window behind its first one, in order, at most three."""
        with self._guard:
            session, tokenizer = self._load()
            encoded = tokenizer.encode_batch([_valid(text) for text in texts])
        found = []
        for each in encoded:
            rows = [_run(session, window.ids) for window in each.overflowing[: MAX_WINDOWS - 1]]
            found.append(np.array(rows, np.float32).reshape(len(rows), DIMENSIONS))
        return found

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            # Read when it is imported: otherwise it reports to its maker what is run, and keeps the reports at home.
            os.environ["ORT_DISABLE_TELEMETRY"] = "1"
            import onnxruntime
            from tokenizers import Tokenizer

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
            # Loaded from the bytes that were checked: a file may change between a check and a second reading.
            session = onnxruntime.InferenceSession(checked_model(), options, providers=["CPUExecutionProvider"])
            tokenizer = Tokenizer.from_file(str(_TOKENIZER))
            tokenizer.enable_truncation(MAX_TOKENS)
            tokenizer.no_padding()
            self._loaded = (session, tokenizer)
        return self._loaded


def _valid(text: str) -> str:
    """Return the beginning of a text, without lone surrogates, which the tokenizer refuses."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")


def _run(session: Any, tokens: Sequence[int]) -> Vectors:
    """Return the mean of a text's token vectors, scaled to length 1."""
    ids = np.array([tokens], np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    (tokens_out,) = session.run(None, feed)
    mean = tokens_out[0].mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)
