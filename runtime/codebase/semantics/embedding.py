"""Computes sentence embeddings on the CPU by all-MiniLM-L6-v2 with int8 weights.

Imported only where the packages of the model are installed. The model is loaded when it first embeds, which takes about
a third of a second, and only if its file has the expected SHA-256.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.semantics.sentence_model.model_file import checked_model

DIMENSIONS = 384
MAX_TOKENS = 128
MAX_CHARS = 3_000
# A window of a chunk: some tokens of its text behind those of its first line, its path and name.
WINDOW_TOKENS = 64
WINDOW_STEP = 48
WINDOW_HEAD_TOKENS = 32
MAX_FURTHER_WINDOWS = 12

Vectors = NDArray[np.float32]
# The tokens that the model takes in for a window.
Window = tuple[int, ...]

# A sum and its scaling in one step take five times as long as one after the other, which use wider instructions.
_SLOWER_THAN_THEIR_PARTS = ["SkipLayerNormFusion"]
TOKENIZER = Path(__file__).parent / "minilm" / "tokenizer.json"


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
            encoded = [found.ids for found in tokenizer.encode_batch([valid_text(text) for text in texts])]
        # One at a time: on one thread a batch is no faster, and each text of it takes some ten megabytes more.
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, tokens in enumerate(encoded):
            vectors[row] = _run(session, tokens)
        return vectors

    def further_windows(self, text: str) -> list[Window]:
        """Return the windows of a text behind its beginning, in order; none for a short one.

        Each overlaps the one before it. The first of all is left out: the vector of the text stands for it.
        """
        with self._guard:
            _, tokenizer = self._load()
            head, _, body = valid_text(text).partition("\n")
            ids = _tokens(tokenizer, body)[: WINDOW_TOKENS + MAX_FURTHER_WINDOWS * WINDOW_STEP]
            own = _tokens(tokenizer, head)[:WINDOW_HEAD_TOKENS]
            first, last = tokenizer.encode("").ids
        overlap = WINDOW_TOKENS - WINDOW_STEP
        starts = range(WINDOW_STEP, len(ids) - overlap, WINDOW_STEP)
        return [(first, *own, *ids[start : start + WINDOW_TOKENS], last) for start in starts]

    def embed_windows(self, windows: Sequence[Window]) -> Vectors:
        """Return one row for each window, in order, of length 1."""
        with self._guard:
            session, _ = self._load()
        vectors = np.zeros((len(windows), DIMENSIONS), np.float32)
        for row, window in enumerate(windows):
            vectors[row] = _run(session, window)
        return vectors

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            from tokenizers import Tokenizer

            session = onnx_session()
            tokenizer = Tokenizer.from_file(str(TOKENIZER))
            tokenizer.enable_truncation(MAX_TOKENS)
            tokenizer.no_padding()
            self._loaded = (session, tokenizer)
        return self._loaded


def onnx_session(rewrite: Callable[[Any], None] | None = None) -> Any:
    """Load the sentence model, its graph rewritten if wanted. MachineError if its file is not the expected one.

    It is loaded from the bytes that were checked: a file may change between a check and a second reading.
    """
    # Read when it is imported: otherwise it reports to its maker what is run, and keeps the reports at home.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    from runtime.codebase.semantics.sentence_model.fused_steps import fuse_steps
    from runtime.codebase.semantics.sentence_model.integer_products import has_instructions, use_integer_products
    from runtime.codebase.semantics.sentence_model.onnx_graph import rewritten
    from runtime.codebase.semantics.sentence_model.table_rows import widen_rows_late

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # It would keep the most that any text has taken.
    options.enable_cpu_mem_arena = False
    wanted = [rewrite, widen_rows_late, fuse_steps, use_integer_products if has_instructions() else None]
    model = rewritten(checked_model(), [one for one in wanted if one is not None])
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER_THAN_THEIR_PARTS
    )


def valid_text(text: str) -> str:
    """Return the first 3,000 characters of a text, without lone surrogates, which the tokenizer refuses."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")


def _tokens(tokenizer: Any, text: str) -> list[int]:
    """Return all tokens of a text, also those behind the first 128, without the marks of its beginning and end."""
    found = tokenizer.encode(text, add_special_tokens=False)
    return [token for part in (found, *found.overflowing) for token in part.ids]


def _run(session: Any, tokens: Sequence[int]) -> Vectors:
    """Return the mean of a text's token vectors, scaled to length 1."""
    ids = np.array([tokens], np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    (tokens_out,) = session.run(None, feed)
    mean = tokens_out[0].mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)
